"""The labels of units, each a relation with a nuclearity; the probability of a class is the sum of its members."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.chart.inference import log_softmax
from genrst.errors import ConfigError
from genrst.trees.constraints import NUCLEARITIES, Label

IntArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Labels:
    """The labels of a chart, with the fine relations of its corpus, and their classes.

    Only pairs of relation and nuclearity that occur in the corpus are labels. Labels with the same nuclearity and the
    same class of relations form a group, whose probability is the sum of theirs.
    """

    pairs: tuple[Label, ...]
    """The relation and the nuclearity of each label."""
    classes: tuple[tuple[str, str], ...] = ()
    """The class of each relation that belongs to one; any other relation is its own class."""

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def class_of(self) -> Mapping[str, str]:
        """The class of each relation; each class maps to itself."""
        return {relation: relation for relation, _ in self.groups} | dict(self.classes)

    @cached_property
    def groups(self) -> tuple[Label, ...]:
        """The class and the nuclearity of each group of labels."""
        classes = dict(self.classes)
        return tuple(sorted({(classes.get(relation, relation), nuclearity) for relation, nuclearity in self.pairs}))

    @cached_property
    def fine(self) -> tuple[str, ...]:
        """The relations that belong to a class with another name."""
        return tuple(sorted({relation for relation, of in self.classes if relation != of}))

    @cached_property
    def group_of_labels(self) -> IntArray:
        """The number of each label's group. Shape: (labels)"""
        numbers = {group: number for number, group in enumerate(self.groups)}
        found = [numbers[self.class_of[relation], nuclearity] for relation, nuclearity in self.pairs]
        return np.array(found, dtype=np.int64)

    @cached_property
    def fine_of_labels(self) -> IntArray:
        """The index of each label's fine relation; −1 if the label has none. Shape: (labels)"""
        numbers = {relation: number for number, relation in enumerate(self.fine)}
        return np.array([numbers.get(relation, -1) for relation, _ in self.pairs], dtype=np.int64)

    def coarse(self) -> "Labels":
        """Return the groups as labels."""
        return Labels(self.groups)

    def number(self, label: Label) -> int | None:
        """Return the number of a label or, after all labels, of a group; None if it is neither."""
        relation, nuclearity = label
        group = self.class_of.get(relation, relation), nuclearity
        if label in self.pairs:
            return self.pairs.index(label)
        return len(self) + self.groups.index(group) if group in self.groups else None

    def name(self, number: int) -> Label:
        """The inverse of `number`."""
        return (*self.pairs, *self.groups)[number]

    def as_dict(self) -> dict[str, Any]:
        """Return the labels as plain data for JSON."""
        classes = {"classes": dict(self.classes)} if self.classes else {}
        return {"labels": [list(pair) for pair in self.pairs], **classes}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Labels":
        """The inverse of `as_dict`."""
        try:
            pairs = tuple(_pair(label) for label in data["labels"])
            if not pairs or any(nuclearity not in NUCLEARITIES for _, nuclearity in pairs):
                raise ValueError(f"labels that are not relations with {', '.join(NUCLEARITIES)}")
            if len(set(pairs)) < len(pairs):
                raise ValueError("a label twice")
            classes = tuple(_pair(list(pair)) for pair in data.get("classes", {}).items())
            if not {relation for relation, _ in classes} <= {relation for relation, _ in pairs}:
                raise ValueError("classes of relations that no label has")
            return cls(pairs, classes)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"symbols must be labels and the classes of relations, got {error!r}") from error


def _pair(data: object) -> tuple[str, str]:
    if not isinstance(data, list) or [type(one) for one in data] != [str, str]:
        raise TypeError(f"{data!r}, which is not two strings")
    return data[0], data[1]


def label_logp(labels: Labels, logits: NDArray[np.float32], temperature: float = 1.0) -> NDArray[np.float32]:
    """Return the log-probabilities of labels: the group's, plus the relation's within the group.

    Shape: (units, groups + fine relations) → (units, labels)
    """
    n_groups = len(labels.groups)
    scaled = logits / np.float32(temperature)
    logp: NDArray[np.float32] = log_softmax(scaled[:, :n_groups])[:, labels.group_of_labels]
    if labels.fine:
        own = np.where(labels.fine_of_labels < 0, np.float32(0), scaled[:, n_groups + labels.fine_of_labels])
        order = np.argsort(labels.group_of_labels, kind="stable")
        starts = np.searchsorted(labels.group_of_labels[order], range(n_groups))
        own -= np.maximum.reduceat(own[:, order], starts, axis=1)[:, labels.group_of_labels]
        logp += own - np.log(np.add.reduceat(np.exp(own[:, order]), starts, axis=1))[:, labels.group_of_labels]
    return logp
