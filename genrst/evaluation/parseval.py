"""Positions in a text that gold and predicted documents share.

One text comes in many spacings: tokenised (`Art :`) or raw (`Art:`), with the line breaks of its file or without. So
where both sides have their text, a position is the number of characters before it that are not white space.

At which level of the text a constituent stands: inside a sentence, inside a paragraph, or above.

Which relation names a score is about: the coarse classes of an inventory, or the names as they stand.

The constituents of a tree, as the two families of metrics list them.

Parseval (Morey, Muller and Asher 2017) scores attachment decisions: a unit has the nuclearity and the relation that
hold between its children. RST-Parseval (Marcu 2000) scores nodes: each has its own role and its relation to its
sibling.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, NamedTuple, TypeAlias

from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.counts import Counts, count_matches
from genrst.trees.node import SPAN, Tree, units
from genrst.trees.relations import Inventory, detect_inventory

Position: TypeAlias = tuple[int, int]
"""Where a stretch of text starts and ends."""

Measure: TypeAlias = Callable[[Span], Position]
"""Gives the shared position of a span of one document, white space at its edges ignored."""


def shared_measures(gold: Document, predicted: Document) -> tuple[Measure, Measure]:
    """The measure of the gold and that of the predicted document.

    If either has no text, positions are plain offsets on both sides. Texts that differ in length are an error; texts
    of equal length may differ in characters (`“` for `"`).
    """
    if gold.text is None or predicted.text is None:
        return _plain_measure(gold.text), _plain_measure(predicted.text)
    _check_lengths(gold.id, gold.text, predicted.text)
    return _spaceless_measure(gold.text), _spaceless_measure(predicted.text)


def _spaceless_measure(text: str) -> Measure:
    spaces = [match.start() for match in re.finditer(r"\s", text)]

    def measure(span: Span) -> Position:
        return span.start - bisect_left(spaces, span.start), span.end - bisect_left(spaces, span.end)

    return measure


def _plain_measure(text: str | None) -> Measure:
    def measure(span: Span) -> Position:
        if text is None:
            return span.start, span.end
        characters = text[span.start : span.end]
        start = span.start + len(characters) - len(characters.lstrip())
        return start, start + len(characters.strip())

    return measure


def _check_lengths(id: str, gold: str, predicted: str) -> None:
    gold_characters, predicted_characters = "".join(gold.split()), "".join(predicted.split())
    if len(gold_characters) == len(predicted_characters):
        return
    pairs = zip(gold_characters, predicted_characters, strict=False)
    shorter = min(len(gold_characters), len(predicted_characters))
    place = next((number for number, (left, right) in enumerate(pairs) if left != right), shorter)
    raise GenrstError(
        f"{id}: gold and predicted text must be the same but for white space, "
        f"was: {_excerpt(gold, place)} in gold, {_excerpt(predicted, place)} in predicted"
    )


def _excerpt(text: str, place: int) -> str:
    """The text around its `place`-th character that is not white space."""
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    offset = offsets[place] if place < len(offsets) else len(text)
    return repr(text[max(offset - 10, 0) : offset + 20])


LEVELS = ("sentence", "paragraph", "document")
"""Inside one sentence; across sentences of one paragraph; across paragraphs."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the sentences and paragraphs of the gold document start."""

    sentences: Sequence[int]
    paragraphs: Sequence[int]

    def level(self, constituent: "Constituent") -> str:
        """The level of a constituent; where paragraphs are unknown, `document` is all that crosses sentences."""
        if _is_inside_one(self.sentences, constituent):
            return "sentence"
        return "paragraph" if self.paragraphs and _is_inside_one(self.paragraphs, constituent) else "document"


def read_layout(gold: Document, measure: Measure) -> Layout | None:
    """The layout of a gold document; None if its sentences are unknown."""
    if not gold.sentences:
        return None
    return Layout(_starts(gold.sentences, measure), _starts(gold.paragraphs, measure))


def _starts(spans: Sequence[Span], measure: Measure) -> list[int]:
    return sorted(measure(span)[0] for span in spans)


def _is_inside_one(starts: Sequence[int], constituent: "Constituent") -> bool:
    last = max(constituent.end - 1, constituent.start)
    return _containing(starts, constituent.start) == _containing(starts, last)


def _containing(starts: Sequence[int], position: int) -> int:
    # What stands before the first start, such as a headline, belongs to the first.
    return max(bisect_right(starts, position) - 1, 0)


Granularity: TypeAlias = Literal["coarse", "fine"]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A description for reports, and the label of each relation name."""

    description: str
    label: Callable[[str], str]


def choose_labels(
    granularity: Granularity, inventory: Inventory | None, gold: Iterable[Tree], predicted: Iterable[Tree]
) -> LabelSet:
    """The label set of a score; without an inventory, the one that fits the names of both sides."""
    if granularity not in ("coarse", "fine"):
        raise UsageError(f"labels must be coarse or fine, was: {granularity!r}")
    gold_names = relation_names(gold)
    if inventory is None:
        inventory = detect_inventory(gold_names | relation_names(predicted))
    if granularity == "fine":
        return LabelSet(f"{inventory.name}, fine relations: {len(gold_names)} in gold", str.lower)
    return LabelSet(_describe(inventory, gold_names), cache(inventory.coarse))


def relation_names(trees: Iterable[Tree]) -> set[str]:
    """The relation names in the trees, in lower case, without `span`."""
    return {name.lower() for tree in trees for unit in units(tree) for name in unit.relations} - {SPAN}


def _describe(inventory: Inventory, gold_names: set[str]) -> str:
    """Names the gold relations alone, so that all systems scored against them get the same description."""
    classes = inventory.coarse_relations
    unknown = {inventory.coarse(name) for name in gold_names} - set(classes)
    if not classes:
        return f"{inventory.name}, relations: {len(unknown)} in gold"
    others = f", unknown to it: {len(unknown)} in gold" if unknown else ""
    return f"{inventory.name}, {len(classes)} coarse relations{others}"


ASPECTS = ("S", "N", "R", "F")
"""What must match: the span alone, also its nuclearity, also its relation, or all three."""


class Constituent(NamedTuple):
    """A labelled span, in positions that gold and predicted documents share."""

    start: int
    end: int
    nuclearity: str
    relation: str

    @property
    def span(self) -> Position:
        """Where the constituent starts and ends."""
        return self.start, self.end


ConstituentLister: TypeAlias = Callable[[Tree, Sequence[Position], Callable[[str], str]], list[Constituent]]
"""Lists the constituents of a binary tree, given where its EDUs stand and the label of each relation name."""


def parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """All units of a binary tree, the root included, each with NS, SN or NN and the relation of its children.

    That is the satellite's relation, or the left nucleus's.
    """
    return [
        Constituent(
            edus[unit.start][0],
            edus[unit.stop - 1][1],
            unit.nuclearity,
            label(unit.relations[max(unit.nuclearity.find("S"), 0)]),
        )
        for unit in units(tree)
    ]


def rst_parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """All nodes of a binary tree but the root, leaves included, with N or S and their relation or `span`."""
    return [
        Constituent(edus[child.start][0], edus[child.stop - 1][1], role, label(relation))
        for unit in units(tree)
        for child, role, relation in zip(unit.children, unit.nuclearity, unit.relations, strict=True)
    ]


@dataclass(frozen=True)
class Comparison:
    """The gold and the predicted constituents of one document."""

    gold: Sequence[Constituent]
    predicted: Sequence[Constituent]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """How many constituents agree, for each of `ASPECTS`."""
        return {
            "S": count_matches([c[:2] for c in self.gold], [c[:2] for c in self.predicted]),
            "N": count_matches([c[:3] for c in self.gold], [c[:3] for c in self.predicted]),
            "R": count_matches([(*c[:2], c[3]) for c in self.gold], [(*c[:2], c[3]) for c in self.predicted]),
            "F": count_matches(self.gold, self.predicted),
        }

    def split(self, key: Callable[[Constituent], str]) -> "dict[str, Comparison]":
        """Divide the constituents into classes; those of a class are only compared with each other."""
        parts: dict[str, tuple[list[Constituent], list[Constituent]]] = {}
        for side, constituents in enumerate((self.gold, self.predicted)):
            for constituent in constituents:
                parts.setdefault(key(constituent), ([], []))[side].append(constituent)
        return {name: Comparison(*sides) for name, sides in parts.items()}
