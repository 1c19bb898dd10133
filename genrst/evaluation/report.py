"""Score predicted trees against gold ones.

Trees are mapped to a label set, binarised and compared by Parseval and RST-Parseval. Their EDUs may differ. `evaluate`
stores the results of each document in an `Evaluation`, which computes all scores. The metrics are in `parseval`;
`tables` and `plot` show the scores.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from genrst.characters import one_line
from genrst.document import Document, Span, require_tree, unplaced_edus
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.counts import Agreement, Counts, Scores, cohen_kappa, count_matches, macro, micro, percent
from genrst.evaluation.parseval import (
    ASPECTS,
    LEVELS,
    Comparison,
    Constituent,
    ConstituentLister,
    Granularity,
    LabelSet,
    Position,
    TextLevels,
    choose_labels,
    find_text_levels,
    parseval_constituents,
    rst_parseval_constituents,
    shared_measures,
)
from genrst.trees.binarise import binarise
from genrst.trees.node import Tree
from genrst.trees.relations import OPEN, Inventory

TreeMetric: TypeAlias = Literal["parseval", "rst_parseval"]
Metric: TypeAlias = TreeMetric | Literal["segmentation"]
TREE_METRICS: tuple[TreeMetric, ...] = ("parseval", "rst_parseval")

_N_SHOWN = 5  # ids in an error message


@dataclass(frozen=True)
class DocumentResult:
    """The comparisons of a document. `text_levels` is None if its sentences are unknown."""

    id: str
    parseval: Comparison
    rst_parseval: Comparison
    segmentation: Counts
    text_levels: TextLevels | None

    @cached_property
    def relations(self) -> dict[str, dict[str, Counts]]:
        """Return the Parseval counts of each relation, for R and F."""
        parts = self.parseval.split(lambda constituent: constituent.relation)
        return {relation: {aspect: part.counts[aspect] for aspect in "RF"} for relation, part in parts.items()}

    @cached_property
    def levels(self) -> dict[str, dict[str, Counts]] | None:
        """Return the Parseval counts of each level of the gold text."""
        if self.text_levels is None:
            return None
        return {level: part.counts for level, part in self.parseval.split(self.text_levels.level).items()}


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of gold relations (rows) and predicted relations (columns) of constituents with equal spans.

    The last column counts gold constituents whose span was missed, the last row predicted ones whose span is spurious.
    So a row sums to the gold constituents of a relation, a column to the predicted ones.
    """

    relations: tuple[str, ...]
    matrix: npt.NDArray[np.int64]

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""
        return (*self.relations, "spurious")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.relations, "missed")


@dataclass(frozen=True)
class Evaluation:
    """The results of all documents. `labels` describes the label set."""

    labels: str
    documents: Sequence[DocumentResult]

    def __repr__(self) -> str:
        n = len(self.documents)
        scores = ", ".join(f"{aspect} {percent(counts.f1)}" for aspect, counts in self.micro().items())
        return f"<Evaluation of {n} document{'s' * (n != 1)}, {self.labels}: {scores}>"

    def document_counts(self, metric: Metric = "parseval", aspect: str = "F") -> list[Counts]:
        """Return the counts of each document. For `segmentation`, the aspect is ignored."""
        if metric == "segmentation":
            return [document.segmentation for document in self.documents]
        if metric not in TREE_METRICS or aspect not in ASPECTS:
            raise UsageError(
                f"a score must be one of {', '.join(TREE_METRICS)} or segmentation, for one of {', '.join(ASPECTS)}, "
                f"got {metric} {aspect}"
            )
        comparisons: list[Comparison] = [getattr(document, metric) for document in self.documents]
        return [comparison.counts[aspect] for comparison in comparisons]

    def micro(self, metric: TreeMetric = "parseval") -> dict[str, Counts]:
        """Return the summed counts of all documents, for each of S, N, R, F."""
        return {aspect: micro(self.document_counts(metric, aspect)) for aspect in ASPECTS}

    def percentages(self) -> dict[str, float]:
        """Return S, N, R and F by Parseval: micro F1 in percent."""
        return {aspect: 100 * counts.f1 for aspect, counts in self.micro().items()}

    def macro(self, metric: TreeMetric = "parseval") -> dict[str, Scores]:
        """Return the mean scores of the documents, for each of S, N, R, F."""
        return {aspect: macro(self.document_counts(metric, aspect)) for aspect in ASPECTS}

    def segmentation(self) -> Counts:
        """Return the counts of EDU starts."""
        return micro(self.document_counts("segmentation"))

    def relations(self) -> dict[str, dict[str, Counts]]:
        """Return the Parseval counts (R and F) of each relation, the most frequent in gold first."""
        totals = _sum_tables([document.relations for document in self.documents])
        return dict(sorted(totals.items(), key=lambda item: (-item[1]["R"].n_gold, item[0])))

    def levels(self) -> dict[str, dict[str, Counts]] | None:
        """Return the Parseval counts of each level; None unless the sentences of all gold documents are known."""
        tables = [document.levels for document in self.documents]
        totals = _sum_tables([table for table in tables if table is not None])
        if None in tables:
            return None
        nothing = dict.fromkeys(ASPECTS, Counts())
        return {level: totals.get(level, nothing) for level in LEVELS}

    def confusion(self) -> Confusion:
        """Return the confusion matrix of all Parseval constituents, with relations in alphabetical order."""
        cells = Counter((gold and gold.relation, predicted and predicted.relation) for gold, predicted in self._pairs())
        relations = tuple(sorted({name for cell in cells for name in cell if name is not None}))
        places: dict[str | None, int] = {name: place for place, name in enumerate((*relations, None))}
        matrix = np.zeros((len(places), len(places)), dtype=np.int64)
        for (gold, predicted), number in cells.items():
            matrix[places[gold], places[predicted]] = number
        return Confusion(relations, matrix)

    def agreement(self) -> dict[str, Agreement]:
        """Return the agreement beyond chance on nuclearity and on relation, over the shared units of all documents."""
        shared = [(gold, predicted) for gold, predicted in self._pairs() if gold is not None and predicted is not None]
        return {
            "nuclearity": cohen_kappa([(gold.nuclearity, predicted.nuclearity) for gold, predicted in shared]),
            "relation": cohen_kappa([(gold.relation, predicted.relation) for gold, predicted in shared]),
        }

    def _pairs(self) -> Iterator[tuple[Constituent | None, Constituent | None]]:
        return (pair for document in self.documents for pair in document.parseval.pairs())

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and numbers for JSON, with scores as fractions."""
        result: dict[str, Any] = {"documents": len(self.documents), "labels": self.labels}
        for metric in TREE_METRICS:
            result[metric] = {"micro": _as_dicts(self.micro(metric)), "macro": _as_dicts(self.macro(metric))}
        levels = self.levels()
        return result | {
            "segmentation": self.segmentation().as_dict(),
            "per_relation": {relation: _as_dicts(counts) for relation, counts in self.relations().items()},
            "levels": None if levels is None else {level: _as_dicts(counts) for level, counts in levels.items()},
        }


def _sum_tables(tables: Sequence[dict[str, dict[str, Counts]]]) -> dict[str, dict[str, Counts]]:
    totals: dict[str, dict[str, Counts]] = {}
    for table in tables:
        for row, cells in table.items():
            total = totals.setdefault(row, {})
            for aspect, counts in cells.items():
                total[aspect] = total.get(aspect, Counts()) + counts
    return totals


def _as_dicts(cells: dict[str, Counts] | dict[str, Scores]) -> dict[str, dict[str, float]]:
    return {aspect: scores.as_dict() for aspect, scores in cells.items()}


def evaluate(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    labels: Granularity = "coarse",
    inventory: Inventory | None = None,
) -> Evaluation:
    """Compare gold and predicted documents, paired by id. Each document must have a tree.

    Both arguments may be streams, such as a corpus or `parser.pipe(corpus)`. Without an inventory, the coarse classes
    are those of the inventory that fits the relation names best.
    """
    pairs = pair_by_id(gold, predicted)
    gold_trees = [require_tree(document, "gold") for document, _ in pairs]
    predicted_trees = [require_tree(document, "predicted") for _, document in pairs]
    label_set = choose_labels(labels, inventory, gold_trees, predicted_trees)
    trees = zip(gold_trees, predicted_trees, strict=True)
    return Evaluation(label_set.description, [_compare(*both, label_set) for both in zip(pairs, trees, strict=True)])


def _compare(pair: tuple[Document, Document], trees: tuple[Tree, Tree], label_set: LabelSet) -> DocumentResult:
    gold, predicted = pair
    gold_measure, predicted_measure = shared_measures(gold, predicted)
    edus = [list(map(gold_measure, gold.edus)), list(map(predicted_measure, predicted.edus))]
    # Binarisation ignores relation names, so mapping the labels afterwards saves rebuilding the trees.
    binary_trees = [binarise(tree) for tree in trees]

    def compare(list_constituents: ConstituentLister) -> Comparison:
        sides = zip(binary_trees, edus, strict=True)
        return Comparison(*(list_constituents(tree, positions, label_set.label) for tree, positions in sides))

    return DocumentResult(
        id=gold.id,
        parseval=compare(parseval_constituents),
        rst_parseval=compare(rst_parseval_constituents),
        segmentation=_count_starts(*edus),
        text_levels=find_text_levels(gold, gold_measure),
    )


class Numbered(Protocol):
    """A document, encoded as numbers."""

    @property
    def id(self) -> str:
        """The name of the document."""

    @property
    def sentences(self) -> Sequence[int]:
        """The number of each EDU's sentence."""

    @property
    def paragraphs(self) -> Sequence[int]:
        """The number of each EDU's paragraph."""


def evaluate_trees(documents: Sequence[Numbered], gold: Sequence[Tree], predicted: Sequence[Tree]) -> Evaluation:
    """Score trees without text, with their relations as they are."""
    sides = ([_unplaced(*pair) for pair in zip(documents, trees, strict=True)] for trees in (gold, predicted))
    return evaluate(*sides, labels="fine", inventory=OPEN)


def _unplaced(document: Numbered, tree: Tree) -> Document:
    sentences, paragraphs = (_runs(numbers) for numbers in (document.sentences, document.paragraphs))
    return Document(document.id, None, unplaced_edus(tree.stop), tree, sentences=sentences, paragraphs=paragraphs)


def _runs(numbers: Sequence[int]) -> tuple[Span, ...]:
    """Return the spans of sentences or paragraphs, given the number of each EDU's sentence or paragraph."""
    starts = [edu for edu in range(len(numbers)) if edu == 0 or numbers[edu] != numbers[edu - 1]]
    return tuple(Span(2 * start, 2 * stop - 1) for start, stop in pairwise([*starts, len(numbers)]))


def score_segmentation(gold: Iterable[Document], predicted: Iterable[Document]) -> Counts:
    """Count the matching EDU starts of all documents, paired by id. The first start of a document is not counted."""
    counts = Counts()
    for pair in pair_by_id(gold, predicted):
        sides = zip(shared_measures(*pair), pair, strict=True)
        counts += _count_starts(*(list(map(measure, document.edus)) for measure, document in sides))
    return counts


def _count_starts(gold: Sequence[Position], predicted: Sequence[Position]) -> Counts:
    return count_matches([start for start, _ in gold[1:]], [start for start, _ in predicted[1:]])


def pair_by_id(gold: Iterable[Document], predicted: Iterable[Document]) -> list[tuple[Document, Document]]:
    """Return pairs (gold, predicted) in the order of the gold documents. Both sides must have the same unique ids.

    If each side has a single document, the ids may differ.
    """
    gold, predicted = _documents(gold, "gold"), _documents(predicted, "predicted")
    if len(gold) == len(predicted) == 1:
        return [(gold[0], predicted[0])]
    gold_ids = Counter(document.id for document in gold)
    predicted_ids = Counter(document.id for document in predicted)
    problems = {
        "twice in gold": [id for id, number in gold_ids.items() if number > 1],
        "twice in predicted": [id for id, number in predicted_ids.items() if number > 1],
        "only in gold": [id for id in gold_ids if id not in predicted_ids],
        "only in predicted": [id for id in predicted_ids if id not in gold_ids],
    }
    if any(problems.values()):
        found = "; ".join(f"{problem} {_some(ids)}" for problem, ids in problems.items() if ids)
        raise GenrstError(f"gold and predicted documents must have the same ids, each once: {found}")
    if not gold_ids:
        raise GenrstError("there are no documents to score")
    predicted_by_id = {document.id: document for document in predicted}
    return [(document, predicted_by_id[document.id]) for document in gold]


def _documents(given: object, side: str) -> list[Document]:
    """Return a list of documents. Raises an error for a single document, a text or a failure of `parser.pipe`."""
    found: list[Any] = list(given) if isinstance(given, Iterable) else []
    wrong = [one for one in found if not isinstance(one, Document)] if isinstance(given, Iterable) else [given]
    if wrong:
        raise UsageError(f"{side} must be a list or stream of documents, got {one_line(repr(wrong[0]))}")
    return found


def _some(ids: Collection[str]) -> str:
    shown = ", ".join(list(ids)[:_N_SHOWN])
    return shown if len(ids) <= _N_SHOWN else f"{shown} and {len(ids) - _N_SHOWN} more"
