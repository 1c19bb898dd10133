"""Score signals and secondary edges (eRST, Zeldes et al. 2024) against gold ones.

Signals are scored by type and words, then also by unit, then also by the relation that they mark. A secondary edge
is correct if both ends cover the same text as those of a gold edge. `docs/guides/signals.md` defines all scores.
Signals are defined in `genrst.document`; trees are scored by `parseval`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from genrst.document import Document, Signal, require_tree, signal_words
from genrst.errors import GenrstError
from genrst.evaluation.counts import Counts, count_matches, percent
from genrst.evaluation.parseval import Granularity, Measure, Position, choose_labels, shared_measures
from genrst.evaluation.report import pair_by_id
from genrst.evaluation.tables import Table
from genrst.trees.node import units
from genrst.trees.relations import Inventory

Place: TypeAlias = tuple[Position, Position | None]
"""The text of a signal's unit and, for a signal of a secondary edge, of the edge's target."""
Label: TypeAlias = Callable[[str], str]

CONDITIONS = ("alone", "unit", "relation")
"""What must match besides type and words: nothing, the unit, or the unit and its relation."""
MEASURES = tuple(f"{items} {condition}" for items in ("words", "signals") for condition in CONDITIONS)
"""The measures: single words, or whole signals with exactly the same words, under each condition."""
EDGE_ASPECTS = ("span", "N", "R", "F")
"""The parts that must match: the two ends, the ends and the direction, the ends and the relation, or all three."""

MARKERS = "dm + orphan"
"""The name of the row of all discourse markers, both of relations in the tree and of secondary edges."""
_MARKER_TYPES = ("dm", "orphan")


class PlacedSignal(NamedTuple):
    """A signal with positions that are comparable between gold and predicted documents."""

    type: str
    subtype: str
    words: tuple[int, ...]
    """The sorted numbers of its words."""
    place: Place
    relation: str | None
    """The label of the relation that it marks; None if there is no such relation."""

    def key(self, condition: str) -> Hashable:
        """Return what must match besides type and words. A signal without words is identified by its unit."""
        if condition == "relation":
            return self.place, self.relation
        return self.place if condition == "unit" or not self.words else None


@dataclass(frozen=True)
class SignalScores:
    """The counts by row (a type, a subtype, …) and measure."""

    types: Mapping[str, Mapping[str, Counts]]
    subtypes: Mapping[str, Mapping[str, Counts]]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            name: {row: {measure: one.as_dict() for measure, one in cells.items()} for row, cells in rows.items()}
            for name, rows in (("types", self.types), ("subtypes", self.subtypes))
        }

    def table(self) -> Table:
        """Return a table of the F1 of each type by each measure."""
        return Table(
            ["F1 of signals", *MEASURES, "gold", "predicted"],
            [
                [row, *(percent(cells[measure].f1) for measure in MEASURES), *_sizes(cells[MEASURES[-1]])]
                for row, cells in self.types.items()
            ],
        )


def score_signals(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    labels: Granularity = "coarse",
    inventory: Inventory | None = None,
) -> SignalScores:
    """Compare the signals of documents, paired by id. Each document must have a tree."""
    totals: dict[str, dict[str, Counts]] = {}
    of_subtypes: dict[str, dict[str, Counts]] = {}
    pairs, label = _labelled_pairs(gold, predicted, labels, inventory)
    for pair in pairs:
        sides = _place_signals(pair, label)
        _add(totals, *(_by_row(side, lambda one: one.type) for side in sides))
        markers = [[one._replace(type=MARKERS) for one in side if one.type in _MARKER_TYPES] for side in sides]
        _add(totals, *({MARKERS: side} for side in markers))
        _add(totals, *({"all": side} for side in sides))
        _add(of_subtypes, *(_by_row(side, lambda one: f"{one.type} {one.subtype}") for side in sides))
    return SignalScores(_most_frequent_first(totals), _most_frequent_first(of_subtypes))


def score_secondary_edges(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    labels: Granularity = "coarse",
    inventory: Inventory | None = None,
) -> dict[str, Counts]:
    """Compare the secondary edges of documents, paired by id. Return the counts for each of `EDGE_ASPECTS`."""
    totals = dict.fromkeys(EDGE_ASPECTS, Counts())
    pairs, label = _labelled_pairs(gold, predicted, labels, inventory)
    for pair in pairs:
        sides = [_place_edges(*side, label) for side in zip(pair, shared_measures(*pair), strict=True)]
        for aspect in EDGE_ASPECTS:
            totals[aspect] += count_matches(*([_edge_key(edge, aspect) for edge in side] for side in sides))
    return totals


def edge_table(counts: Mapping[str, Counts]) -> Table:
    """Return a table of the precision, recall and F1 of secondary edges."""
    rows = [
        [aspect, *map(percent, (one.precision, one.recall, one.f1)), *_sizes(one)] for aspect, one in counts.items()
    ]
    return Table(["secondary edges", "precision", "recall", "F1", "gold", "predicted"], rows)


def _sizes(counts: Counts) -> list[str]:
    return [str(counts.n_gold), str(counts.n_pred)]


def _labelled_pairs(
    gold: Iterable[Document], predicted: Iterable[Document], labels: Granularity, inventory: Inventory | None
) -> tuple[list[tuple[Document, Document]], Label]:
    """Return the pairs of documents, and the function that labels relations on both sides."""
    pairs = pair_by_id(gold, predicted)
    trees = ([require_tree(pair[side], ("gold", "predicted")[side]) for pair in pairs] for side in (0, 1))
    label = choose_labels(labels, inventory, *trees).label
    return pairs, lambda name: label(name.lower())


def _place_signals(pair: tuple[Document, Document], label: Label) -> list[list[PlacedSignal]]:
    """Return the signals of both documents."""
    measures = shared_measures(*pair)
    words = _common_words([_word_positions(*side) for side in zip(pair, measures, strict=True)])
    return [
        [_place_signal(one, numbers, document, measure, relations) for one in document.signals]
        for document, measure, numbers, relations in zip(
            pair, measures, words, (_relations(document, label) for document in pair), strict=True
        )
    ]


def _place_signal(
    signal: Signal,
    numbers: Sequence[int],
    document: Document,
    measure: Measure,
    relations: Mapping[Hashable, str],
) -> PlacedSignal:
    wrong = [token for token in signal.tokens if not 1 <= token <= len(numbers)]
    if wrong:
        rule = f"{document.id}: the words of a signal must be between 1 and {len(numbers)}"
        raise GenrstError(f"{rule}, got {wrong[0]}")
    words = tuple(sorted({numbers[token - 1] for token in signal.tokens}))
    place = (
        _position(document, measure, signal.unit),
        None if signal.target is None else _position(document, measure, signal.target),
    )
    relation = relations.get(signal.unit if signal.target is None else (signal.unit, signal.target))
    return PlacedSignal(signal.type, signal.subtype, words, place, relation)


def _relations(document: Document, label: Label) -> dict[Hashable, str]:
    """Return the label of each unit's relation to its parent, and of each secondary edge."""
    tree = require_tree(document)
    found: dict[Hashable, str] = {
        (child.start, child.stop): label(relation)
        for unit in units(tree)
        for child, relation in zip(unit.children, unit.relations, strict=True)
    }
    return found | {(edge.source, edge.target): label(edge.relation) for edge in document.secondary_edges}


def _word_positions(document: Document, measure: Measure) -> list[Position]:
    if document.text is None:
        raise GenrstError(f"{document.id}: the document must have a text for its signals to be scored")
    return [measure(word) for word in signal_words(document)]


def _common_words(sides: Sequence[Sequence[Position]]) -> list[list[int]]:
    """Number the words of both sides. Overlapping words, such as `However,` and `However`, get the same number."""
    both = sorted(
        (start, stop, side, place) for side, words in enumerate(sides) for place, (start, stop) in enumerate(words)
    )
    ends = [0, *accumulate((stop for _, stop, _, _ in both), max)]
    numbers = [[0] * len(words) for words in sides]
    number = 0
    for (start, _, side, place), end in zip(both, ends, strict=False):
        number += start >= end
        numbers[side][place] = number
    return numbers


def _place_edges(document: Document, measure: Measure, label: Label) -> list[tuple[Position, Position, str]]:
    return [
        (_position(document, measure, edge.source), _position(document, measure, edge.target), label(edge.relation))
        for edge in document.secondary_edges
    ]


def _edge_key(edge: tuple[Position, Position, str], aspect: str) -> Hashable:
    source, target, relation = edge
    ends = (source, target) if aspect in "NF" else tuple(sorted((source, target)))
    return (ends, relation) if aspect in "RF" else ends


def _position(document: Document, measure: Measure, unit: tuple[int, int]) -> Position:
    """Return the position of a unit, given by its EDUs (start, stop)."""
    start, stop = unit
    if not 0 <= start < stop <= len(document.edus):
        rule = f"{document.id}: the EDUs of a signal or secondary edge must be between 0 and {len(document.edus)}"
        raise GenrstError(f"{rule}, got {start}–{stop}")
    return measure(document.edus[start])[0], measure(document.edus[stop - 1])[1]


def _by_row(signals: Iterable[PlacedSignal], row: Callable[[PlacedSignal], str]) -> dict[str, list[PlacedSignal]]:
    found: dict[str, list[PlacedSignal]] = {}
    for one in signals:
        found.setdefault(row(one), []).append(one)
    return found


def _add(
    totals: dict[str, dict[str, Counts]],
    gold: Mapping[str, Sequence[PlacedSignal]],
    predicted: Mapping[str, Sequence[PlacedSignal]],
) -> None:
    """Add the counts of a document to each row."""
    for row in dict.fromkeys([*gold, *predicted]):
        cells = totals.setdefault(row, dict.fromkeys(MEASURES, Counts()))
        for measure in MEASURES:
            sides = (_items(side.get(row, ()), *measure.split()) for side in (gold, predicted))
            cells[measure] += count_matches(*sides)


def _items(signals: Sequence[PlacedSignal], items: str, condition: str) -> list[Hashable]:
    """Return the items to count: every signal, or every word once."""
    if items == "signals":
        return [(one.type, one.words, one.key(condition)) for one in signals]
    return list({(one.type, word, one.key(condition)) for one in signals for word in one.words or (None,)})


def _most_frequent_first(totals: Mapping[str, Mapping[str, Counts]]) -> dict[str, Mapping[str, Counts]]:
    def rank(row: tuple[str, Mapping[str, Counts]]) -> tuple[bool, int, str]:
        return row[0] in (MARKERS, "all"), -row[1][MEASURES[-1]].n_gold, row[0]

    return dict(sorted(totals.items(), key=rank))
