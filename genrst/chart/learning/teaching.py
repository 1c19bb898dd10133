"""What charts teach others: the probabilities of units and labels, of which a student learns all instead of one tree.

Where teachers agree, a unit weighs 1; where they do not, its alternatives share that weight. EDUs and sentences are
taught in the same way.
"""

from collections.abc import Sequence

import numpy as np

from genrst.chart import inference
from genrst.chart.examples import Borders, ChartExample, FloatArray, SoftTree, boundaries
from genrst.chart.scorer import Scorer
from genrst.chart.scoring import Member, ScoringContext, group_charts
from genrst.trees.constraints import UNCONSTRAINED, ResolvedConstraints

LEAST = 0.02
"""Units less probable than this are left out."""
N_LABELS = 8
"""How many labels of each unit are kept."""


def make_context(
    scorers: Sequence[tuple[Scorer, float]],
    examples: Sequence[ChartExample],
    constraints: ResolvedConstraints = UNCONSTRAINED,
    temperature: float = 1.0,
) -> ScoringContext:
    """The context of a document whose EDUs are known, given as numbers once for each scorer."""
    kinds, total = boundaries(examples[0].kinds), sum(weight for _, weight in scorers)
    members = []
    for (scorer, weight), example in zip(scorers, examples, strict=True):
        (states,) = scorer.read([example.pieces])
        rows = np.arange(len(example.pieces))
        members.append(Member(scorer, weight / total, scorer.pool(states, rows, example.piece_lengths, kinds)))
    labels = scorers[0][0].labels
    return ScoringContext(examples[0].id, members, kinds, labels, constraints, temperature)


def make_soft_tree(context: ScoringContext) -> SoftTree:
    """The distribution over the trees of a document."""
    found = [_units(context, charts) for charts in group_charts(context.charts())]
    columns = np.concatenate(found) if found else np.zeros((0, 4 + 2 * N_LABELS))
    n_labels = (columns.shape[1] - 4) // 2
    return SoftTree(
        columns[:, :3].astype(np.int64),
        columns[:, 3].astype(np.float32),
        columns[:, 4 : 4 + n_labels].astype(np.int64),
        columns[:, 4 + n_labels :].astype(np.float32),
    )


def make_soft_starts(scorers: Sequence[Scorer], examples: Sequence[ChartExample]) -> list[FloatArray]:
    """The probabilities that an EDU, and that a sentence starts with each piece of documents.

    Shape: → (pieces, 2) of each
    """
    texts = [example.pieces for example in examples]
    found = [[scorer.start_p(states) for states in scorer.read(texts)] for scorer in scorers]
    return [np.mean(of_text, axis=0, dtype=np.float32) for of_text in zip(*found, strict=True)]


def _units(context: ScoringContext, charts: Sequence[Borders]) -> FloatArray:
    """The start, split, stop and probability of each unit, its likeliest labels and their probabilities, in columns.

    The units of a chart are side by side. Shape: (units, 4 + 2 · labels)
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
