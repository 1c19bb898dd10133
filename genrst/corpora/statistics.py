"""What a corpus holds: counts, relations, and the shapes of its trees."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from genrst.document import Document
from genrst.trees.binarise import binarise
from genrst.trees.measures import depth, left_branching, skew, stack_depth
from genrst.trees.node import units


@dataclass(slots=True)
class Statistics:
    """Counts over documents; shapes are those of the binarised trees."""

    n_documents: int = 0
    n_trees: int = 0
    n_edus: int = 0
    n_tokens: int = 0
    n_sentences: int = 0
    n_paragraphs: int = 0
    n_characters: int = 0
    n_signals: int = 0
    n_secondary_edges: int = 0
    edus: list[int] = field(default_factory=list)
    relations: Counter[tuple[str, str]] = field(default_factory=Counter)
    widths: Counter[int] = field(default_factory=Counter)
    depths: list[int] = field(default_factory=list)
    stack_depths: list[int] = field(default_factory=list)
    left_branching: list[float] = field(default_factory=list)
    skews: list[float] = field(default_factory=list)

    def add(self, document: Document) -> None:
        """Count one document."""
        self.n_documents += 1
        self.n_edus += len(document.edus)
        self.n_tokens += len(document.tokens)
        self.n_sentences += len(document.sentences)
        self.n_paragraphs += len(document.paragraphs)
        self.n_characters += len(document.text or "")
        self.n_signals += len(document.signals)
        self.n_secondary_edges += len(document.secondary_edges)
        self.edus.append(len(document.edus))
        if document.tree is None:
            return
        self.n_trees += 1
        for unit in units(document.tree):
            self.widths[len(unit.children)] += 1
        tree = binarise(document.tree)
        self.relations.update((unit.relation, unit.nuclearity) for unit in units(tree))
        self.depths.append(depth(tree))
        self.stack_depths.append(stack_depth(tree))
        self.left_branching.append(left_branching(tree))
        self.skews.append(skew(tree))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; names follow the rows of the text table."""
        relations: dict[str, dict[str, int]] = {}
        for (relation, nuclearity), count in sorted(self.relations.items()):
            relations.setdefault(relation, {})[nuclearity] = count
        relations = dict(sorted(relations.items(), key=lambda item: -sum(item[1].values())))
        return {
            "documents": self.n_documents,
            "trees": self.n_trees,
            "edus": self.n_edus,
            "edus_per_document": _summary(self.edus),
            "tokens": self.n_tokens,
            "sentences": self.n_sentences,
            "paragraphs": self.n_paragraphs,
            "characters": self.n_characters,
            "signals": self.n_signals,
            "secondary_edges": self.n_secondary_edges,
            "depth": _summary(self.depths),
            "stack_depth": _summary(self.stack_depths),
            "left_branching": _summary(self.left_branching),
            "skew": _summary(self.skews),
            "children_per_unit": {str(width): count for width, count in sorted(self.widths.items())},
            "relations": relations,
        }


def count(documents: Iterable[Document]) -> Statistics:
    """The statistics of some documents."""
    statistics = Statistics()
    for document in documents:
        statistics.add(document)
    return statistics


def _summary(values: list[int] | list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {
        "min": min(values),
        "median": round(median(values), 4),
        "mean": round(mean(values), 4),
        "max": max(values),
    }
