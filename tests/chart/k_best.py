"""The k best trees of one chart, with what ranks the splits and labels of its spans."""

import math
from itertools import islice

import numpy as np

from genrst.chart.inference import Array
from genrst.chart.k_best import Ranking, ScoredTree, cheapest_trees


def k_best(scores: Array, size: int, k: int, label_logp: Array | None = None) -> list[ScoredTree]:
    """The best trees, or the best labelled trees. Shape: (N, N, N), (N, N, N, L)"""
    # A tree without labels is one whose units all have the same sure label.
    labels = np.zeros((*scores.shape, 1), dtype=scores.dtype) if label_logp is None else label_logp
    ranking = Ranking(scores, size, labels.max(-1), lambda span: labels[span[0] + 1 : span[1], span[0], span[1]])
    found = cheapest_trees(size, lambda span: ranking(span, k)) if ranking.score > -math.inf else ()
    return [tree._replace(score=ranking.score + tree.score) for tree in islice(found, k)]
