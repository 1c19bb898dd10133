"""The constituents of two trees over one text, and how many agree: Parseval and RST-Parseval.

Parseval (Morey, Muller and Asher 2017) scores attachment decisions: a unit has the nuclearity and the relation that
hold between its children. RST-Parseval (Marcu 2000) scores nodes: each has its own role and its relation to its
sibling. Not here: scores of whole corpora (`report`).
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
"""Where a stretch of text starts and ends, in terms that gold and predicted documents share."""

Measure: TypeAlias = Callable[[Span], Position]
"""Gives the shared position of a span of one document, ignoring white space at its edges."""


_MAX_DIFFERENT = 0.01
"""The share of letters and digits in which two versions of a text may differ."""


def shared_measures(gold: Document, predicted: Document) -> tuple[Measure, Measure]:
    """The measure of the gold and that of the predicted document; what cannot be compared is an error.

    One text comes in many spacings: tokenised (`Art :`) or raw (`Art:`), with the line breaks of its file or without.
    So a position is the number of characters before it that are not white space. Texts must have equally many of these,
    and the same letters and digits, but for their case and one in a hundred: the layers of a corpus disagree in names
    (`Lavan` and `Levan` in GUM_court_property). Other characters may differ (`“` for `"`).

    Where one side has no text, its offsets are taken for those of the other's text; where neither has, positions are
    plain offsets. Then the EDUs must at least start and end at the same positions.
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
    """Whether two characters may stand for each other: equal but for case, or signs other than letters and digits."""
    if left.isalnum() or right.isalnum():
        return left.lower() == right.lower()
    return bool(left and right)


def _check_offsets(gold: Document, predicted: Document, measure: Measure) -> None:
    """Refuse offsets that cannot be those of one text."""
    if gold.edus == predicted.edus:
        return
    sides = {"gold": gold, "predicted": predicted}
    for side, document in sides.items():
        if not document.is_placed:
            rule = "EDUs must have a text or offsets to be compared with others"
            raise GenrstError(f"{document.id}: {rule}; those in {side} have neither")
    ends = [(measure(document.edus[0])[0], measure(document.edus[-1])[1]) for document in sides.values()]
    if ends[0] != ends[1]:
        found = [f"{document.edus[0].start}–{document.edus[-1].end} in {side}" for side, document in sides.items()]
        rule = "if a text is missing, both sides must start and end at the same offset"
        raise GenrstError(f"{gold.id}: {rule}, got {', '.join(found)}")


def _excerpt(text: str, place: int) -> str:
    """The text around its `place`-th character that is not white space."""
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    offset = offsets[place] if place < len(offsets) else len(text)
    return repr(text[max(offset - 10, 0) : offset + 20])


Granularity: TypeAlias = Literal["coarse", "fine"]
"""Whether relations are compared by the coarse classes of an inventory, or by their names."""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The label of each relation name, and a description for reports."""

    description: str
    label: Callable[[str], str]


def choose_labels(
    granularity: Granularity, inventory: Inventory | None, gold: Iterable[Tree], predicted: Iterable[Tree]
) -> LabelSet:
    """The label set of a score; without an inventory, the one that fits the names of both sides.

    The description counts the gold relations alone, so that all systems scored against them get the same one.
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
    """A labelled span, in shared positions; `edus` is its range of EDUs in its own document (start, stop)."""

    start: int
    end: int
    nuclearity: str
    relation: str
    edus: tuple[int, int]

    @property
    def span(self) -> Position:
        """Where the constituent starts and ends."""
        return self.start, self.end


ConstituentLister: TypeAlias = Callable[[Tree, Sequence[Position], Callable[[str], str]], list[Constituent]]
"""Lists the constituents of a binary tree, given the positions of its EDUs and the label of each relation name."""


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
            (unit.start, unit.stop),
        )
        for unit in units(tree)
    ]


def rst_parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """All nodes of a binary tree but the root, leaves included, with N or S and their relation or `span`."""
    return [
        Constituent(edus[child.start][0], edus[child.stop - 1][1], role, label(relation), (child.start, child.stop))
        for unit in units(tree)
        for child, role, relation in zip(unit.children, unit.nuclearity, unit.relations, strict=True)
    ]


ASPECTS = ("S", "N", "R", "F")
"""What must match: the span alone, also its nuclearity, also its relation, or all three."""

_FIELDS = {"S": (0, 1), "N": (0, 1, 2), "R": (0, 1, 3), "F": (0, 1, 2, 3)}  # of a constituent


@dataclass(frozen=True)
class Comparison:
    """The gold and the predicted constituents of one document."""

    gold: Sequence[Constituent]
    predicted: Sequence[Constituent]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """How many constituents agree, for each of `ASPECTS`."""
        keys = {aspect: itemgetter(*_FIELDS[aspect]) for aspect in ASPECTS}
        return {
            aspect: count_matches(list(map(key, self.gold)), list(map(key, self.predicted)))
            for aspect, key in keys.items()
        }

    def pairs(self) -> list[tuple[Constituent | None, Constituent | None]]:
        """Gold and predicted constituents with the same span, None where one side lacks it; spurious ones come last.

        Where empty EDUs give several constituents the same span, they are paired in order.
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
        """Divide the constituents into classes; those of a class are only compared with each other."""
        parts: dict[str, tuple[list[Constituent], list[Constituent]]] = {}
        for side, constituents in enumerate((self.gold, self.predicted)):
            for constituent in constituents:
                parts.setdefault(key(constituent), ([], []))[side].append(constituent)
        return {name: Comparison(*sides) for name, sides in parts.items()}


LEVELS = ("sentence", "paragraph", "document")
"""Inside one sentence; across sentences of one paragraph; across paragraphs."""


@dataclass(frozen=True, slots=True)
class TextLevels:
    """Where the sentences and paragraphs of the gold document start."""

    sentences: Sequence[int]
    paragraphs: Sequence[int]

    def level(self, constituent: Constituent) -> str:
        """The level of a constituent; where paragraphs are unknown, `document` is all that crosses sentences."""
        if _is_inside_one(self.sentences, constituent):
            return "sentence"
        return "paragraph" if self.paragraphs and _is_inside_one(self.paragraphs, constituent) else "document"


def find_text_levels(gold: Document, measure: Measure) -> TextLevels | None:
    """Where the sentences and paragraphs of a gold document start; None if its sentences are unknown."""
    if not gold.sentences:
        return None
    sentences, paragraphs = (sorted(measure(span)[0] for span in spans) for spans in (gold.sentences, gold.paragraphs))
    return TextLevels(sentences, paragraphs)


def _is_inside_one(starts: Sequence[int], constituent: Constituent) -> bool:
    last = max(constituent.end - 1, constituent.start)
    # What stands before the first start, such as a headline, belongs to the first.
    first_part, last_part = (max(bisect_right(starts, position) - 1, 0) for position in (constituent.start, last))
    return first_part == last_part
