"""Agreement on where EDUs start, as in the DISRPT shared tasks; trees are not needed."""

from collections.abc import Sequence

from genrst.evaluation.counts import Counts, count_matches, micro
from genrst.evaluation.pairing import pair_by_id
from genrst.trees.analysis import Analysis
from genrst.trees.positions import Position, shared_measures


def score_segmentation(gold: Sequence[Analysis], predicted: Sequence[Analysis]) -> Counts:
    """Count the EDU starts of all documents, paired by id; only those inside a document, not its first."""
    return micro(_count_pair(*pair) for pair in pair_by_id(gold, predicted))


def count_starts(gold: Sequence[Position], predicted: Sequence[Position]) -> Counts:
    """Count the EDU starts of one document, given the shared positions of its EDUs."""
    return count_matches([start for start, _ in gold[1:]], [start for start, _ in predicted[1:]])


def _count_pair(gold: Analysis, predicted: Analysis) -> Counts:
    gold_measure, predicted_measure = shared_measures(gold, predicted)
    return count_starts(list(map(gold_measure, gold.edus)), list(map(predicted_measure, predicted.edus)))
