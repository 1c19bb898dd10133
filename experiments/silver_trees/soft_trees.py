"""Soft trees: the probabilities of all units and labels, from which a student learns instead of one tree.

If teachers agree on a unit, it has weight 1; otherwise the alternatives share this weight.
"""

from collections.abc import Sequence

import numpy as np

from genrst.chart import inference
from genrst.chart.examples import Borders, FloatArray, SoftTree
from genrst.chart.scoring import ScoringContext, group_charts

LEAST = 0.02
"""Units with a lower probability are omitted."""
N_LABELS = 8
"""The number of labels kept per unit."""


def make_soft_tree(context: ScoringContext) -> SoftTree:
    """Compute the distribution over the trees of a document."""
    found = [_units(context, charts) for charts in group_charts(context.charts())]
    columns = np.concatenate(found) if found else np.zeros((0, 4 + 2 * N_LABELS))
    n_labels = (columns.shape[1] - 4) // 2
    return SoftTree(
        columns[:, :3].astype(np.int64),
        columns[:, 3].astype(np.float32),
        columns[:, 4 : 4 + n_labels].astype(np.int64),
        columns[:, 4 + n_labels :].astype(np.float32),
    )


def _units(context: ScoringContext, charts: Sequence[Borders]) -> FloatArray:
    """Return columns with the start, split, stop and probability of each unit, its best labels and their probabilities.

    The units of a chart are adjacent. Shape: (units, 4 + 2 · labels)
    """
    scored = [context.score(member, charts) for member in context.members]
    weighted = [
        member.weight * inference.marginals(one.scores, one.charts.layout.sizes)[0]
        for member, one in zip(context.members, scored, strict=True)
    ]
    total = np.sum(weighted, axis=0)
    units = np.argwhere(total > LEAST)
    row, split, first, last = place = tuple(units.T)
    label_p = sum(
        own[place][:, None] * np.exp(one.label_logp(units)) for own, one in zip(weighted, scored, strict=True)
    )
    shares = label_p / total[place][:, None]
    labels = np.argsort(-shares, axis=1, kind="stable")[:, :N_LABELS]
    borders = np.zeros((len(charts), max(map(len, charts))), dtype=np.int64)
    for number, chart in enumerate(charts):
        borders[number, : len(chart)] = chart
    places = [borders[row, one] for one in (first, split, last)]
    return np.column_stack([*places, total[place], labels, np.take_along_axis(shares, labels, axis=1)])
