"""Compare the constituents of two trees over the same text, by Parseval and RST-Parseval.

Parseval (Morey, Muller and Asher 2017) scores attachment decisions: a unit is labelled with the nuclearity and the
relation between its children. RST-Parseval (Marcu 2000) scores nodes: each is labelled with its role and its relation
to its sibling. `report` computes the scores of whole corpora.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.counts import Counts, count_matches
from genrst.trees.node import SPAN, Tree, units
from genrst.trees.relations import Inventory, detect_inventory

Position: TypeAlias = tuple[int, int]
"""The start and end of a stretch of text, comparable between gold and predicted documents."""

Measure: TypeAlias = Callable[[Span], Position]
"""Returns the shared position of a span of a document, ignoring white space at its edges."""


_MAX_DIFFERENT = 0.01
"""The largest fraction of letters and digits in which two versions of a text may differ."""


def shared_measures(gold: Document, predicted: Document) -> tuple[Measure, Measure]:
    """Return a measure for the gold and one for the predicted document. Raises an error if they cannot be compared.

    The white space of a text can vary: it may be tokenised (`Art :`) or raw (`Art:`), with or without the line breaks
    of its file. So a position is the number of visible characters before it. Both texts must have the same number of
    visible characters, and the same letters and digits, ignoring case. One in a hundred may differ, because the layers
    of a corpus disagree on names (`Lavan` and `Levan` in GUM_court_property). Other characters may differ (`“` for
    `"`).

    If one side has no text, its offsets are treated as offsets into the other text. If both have none, positions are
    plain offsets. In both cases, the EDUs must start and end at the same positions.
    """
    if gold.text is not None and predicted.text is not None:
        _check_texts(gold.id, gold.text, predicted.text)
        return _spaceless_measure(gold.text), _spaceless_measure(predicted.text)
    measure = _spaceless_measure(predicted.text if gold.text is None else gold.text)
    _check_offsets(gold, predicted, measure)
    return measure, measure


def _spaceless_measure(text: str | None) -> Measure:
    spaces = [match.start() for match in re.finditer(r"\s", text or "")]

    def measure(span: Span) -> Position:
        return span.start - bisect_left(spaces, span.start), span.end - bisect_left(spaces, span.end)

    return measure


def _check_texts(id: str, gold: str, predicted: str) -> None:
    gold_characters, predicted_characters = "".join(gold.split()), "".join(predicted.split())
    if gold_characters == predicted_characters:
        return
    pairs = enumerate(zip_longest(gold_characters, predicted_characters, fillvalue=""))
    places = [number for number, (left, right) in pairs if not _is_alike(left, right)]
    has_same_length = len(gold_characters) == len(predicted_characters)
    if not has_same_length or len(places) > _MAX_DIFFERENT * len(gold_characters):
        raise GenrstError(
            f"{id}: gold and predicted text must be the same except for white space, "
            f"got {_excerpt(gold, places[0])} in gold, {_excerpt(predicted, places[0])} in predicted"
        )


def _is_alike(left: str, right: str) -> bool:
    """Whether two characters count as equal: they differ only in case, or neither is a letter or digit."""
    if left.isalnum() or right.isalnum():
        return left.lower() == right.lower()
    return bool(left and right)


def _check_offsets(gold: Document, predicted: Document, measure: Measure) -> None:
    """Raise an error if the offsets of two documents cannot belong to the same text."""
    if gold.edus == predicted.edus:
        return
    sides = {"gold": gold, "predicted": predicted}
    for side, document in sides.items():
        if not document.is_placed:
            rule = "EDUs can only be compared if they have a text or offsets"
            raise GenrstError(f"{document.id}: {rule}; those in {side} have neither")
    ends = [(measure(document.edus[0])[0], measure(document.edus[-1])[1]) for document in sides.values()]
    if ends[0] != ends[1]:
        found = [f"{document.edus[0].start}–{document.edus[-1].end} in {side}" for side, document in sides.items()]
        rule = "if a text is missing, both sides must start and end at the same offset"
        raise GenrstError(f"{gold.id}: {rule}, got {', '.join(found)}")


def _excerpt(text: str, place: int) -> str:
    """Return the text around its visible character number `place`."""
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    offset = offsets[place] if place < len(offsets) else len(text)
    return repr(text[max(offset - 10, 0) : offset + 20])


Granularity: TypeAlias = Literal["coarse", "fine"]
"""Whether relations are compared by the coarse classes of an inventory or by their names."""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The label of each relation name, and a description for reports."""

    description: str
    label: Callable[[str], str]


def choose_labels(
    granularity: Granularity, inventory: Inventory | None, gold: Iterable[Tree], predicted: Iterable[Tree]
) -> LabelSet:
    """Return the label set of a score. Without an inventory, choose the one that fits the names of both sides.

    The description counts only gold relations, so that it is the same for all systems scored against them.
    """
    if granularity not in ("coarse", "fine"):
        raise UsageError(f"labels must be coarse or fine, got {granularity!r}")
    gold_names = _relation_names(gold)
    if inventory is None:
        inventory = detect_inventory(gold_names | _relation_names(predicted))
    if granularity == "fine":
        return LabelSet(f"{inventory.name}, fine relations: {len(gold_names)} in gold", str.lower)
    label, classes = cache(inventory.coarse), inventory.coarse_relations
    unknown = len(set(map(label, gold_names)) - set(classes))
    if not classes:
        return LabelSet(f"{inventory.name}, relations: {unknown} in gold", label)
    others = f", {unknown} unknown in gold" if unknown else ""
    return LabelSet(f"{inventory.name}, {len(classes)} coarse relations{others}", label)


def _relation_names(trees: Iterable[Tree]) -> set[str]:
    return {name.lower() for tree in trees for unit in units(tree) for name in unit.relations} - {SPAN}


class Constituent(NamedTuple):
    """A labelled span, as a shared position. `edus` is its range of EDUs in its own document (start, stop)."""

    start: int
    end: int
    nuclearity: str
    relation: str
    edus: tuple[int, int]

    @property
    def span(self) -> Position:
        """The start and end of the constituent."""
        return self.start, self.end


ConstituentLister: TypeAlias = Callable[[Tree, Sequence[Position], Callable[[str], str]], list[Constituent]]
"""Lists the constituents of a binary tree, given the positions of its EDUs and the label of each relation name."""


def parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """List all units of a binary tree, including the root, each with NS, SN or NN and the relation of its children.

    This is the relation of the satellite, or of the left nucleus.
    """
    return [
        Constituent(
            edus[unit.start][0],
            edus[unit.stop - 1][1],
            unit.nuclearity,
            label(unit.relations[max(unit.nuclearity.find("S"), 0)]),
            (unit.start, unit.stop),
        )
        for unit in units(tree)
    ]


def rst_parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """List all nodes of a binary tree except the root, including leaves, with N or S and their relation or `span`."""
    return [
        Constituent(edus[child.start][0], edus[child.stop - 1][1], role, label(relation), (child.start, child.stop))
        for unit in units(tree)
        for child, role, relation in zip(unit.children, unit.nuclearity, unit.relations, strict=True)
    ]


ASPECTS = ("S", "N", "R", "F")
"""The parts that must match: the span (S), the span and its nuclearity (N), its relation (R), or all three (F)."""

_FIELDS = {"S": (0, 1), "N": (0, 1, 2), "R": (0, 1, 3), "F": (0, 1, 2, 3)}  # fields of `Constituent` to compare


@dataclass(frozen=True)
class Comparison:
    """The gold and the predicted constituents of a document."""

    gold: Sequence[Constituent]
    predicted: Sequence[Constituent]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Count the matching constituents, for each of `ASPECTS`."""
        keys = {aspect: itemgetter(*_FIELDS[aspect]) for aspect in ASPECTS}
        return {
            aspect: count_matches(list(map(key, self.gold)), list(map(key, self.predicted)))
            for aspect, key in keys.items()
        }

    def pairs(self) -> list[tuple[Constituent | None, Constituent | None]]:
        """Pair gold and predicted constituents with the same span. A missing one is None; spurious ones come last.

        If several constituents have the same span because of empty EDUs, they are paired in order.
        """
        unpaired: dict[Position, list[Constituent]] = defaultdict(list)
        for constituent in self.predicted:
            unpaired[constituent.span].append(constituent)
        pairs: list[tuple[Constituent | None, Constituent | None]] = []
        for constituent in self.gold:
            candidates = unpaired[constituent.span]
            pairs.append((constituent, candidates.pop(0) if candidates else None))
        return pairs + [(None, spurious) for candidates in unpaired.values() for spurious in candidates]

    def split(self, key: Callable[[Constituent], str]) -> "dict[str, Comparison]":
        """Divide the constituents into classes that are compared separately."""
        parts: dict[str, tuple[list[Constituent], list[Constituent]]] = {}
        for side, constituents in enumerate((self.gold, self.predicted)):
            for constituent in constituents:
                parts.setdefault(key(constituent), ([], []))[side].append(constituent)
        return {name: Comparison(*sides) for name, sides in parts.items()}


LEVELS = ("sentence", "paragraph", "document")
"""Levels of constituents: inside a sentence, across sentences of a paragraph, across paragraphs."""


@dataclass(frozen=True, slots=True)
class TextLevels:
    """The start positions of the sentences and paragraphs of the gold document."""

    sentences: Sequence[int]
    paragraphs: Sequence[int]

    def level(self, constituent: Constituent) -> str:
        """Return the level of a constituent: `document` if it crosses sentences and paragraphs are unknown."""
        if _is_inside_one(self.sentences, constituent):
            return "sentence"
        return "paragraph" if self.paragraphs and _is_inside_one(self.paragraphs, constituent) else "document"


def find_text_levels(gold: Document, measure: Measure) -> TextLevels | None:
    """Return where the sentences and paragraphs of a gold document start; None if its sentences are unknown."""
    if not gold.sentences:
        return None
    sentences, paragraphs = (sorted(measure(span)[0] for span in spans) for spans in (gold.sentences, gold.paragraphs))
    return TextLevels(sentences, paragraphs)


def _is_inside_one(starts: Sequence[int], constituent: Constituent) -> bool:
    last = max(constituent.end - 1, constituent.start)
    # Text before the first start, such as a headline, belongs to the first part.
    first_part, last_part = (max(bisect_right(starts, position) - 1, 0) for position in (constituent.start, last))
    return first_part == last_part
