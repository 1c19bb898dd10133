"""Teacher charts: soft targets for EDUs and sentences, and the context for parsing given EDUs."""

from collections.abc import Sequence

import numpy as np

from genrst.chart.examples import ChartExample, FloatArray, boundaries
from genrst.chart.scorer import Scorer
from genrst.chart.scoring import Member, ScoringContext
from genrst.trees.constraints import UNCONSTRAINED, ResolvedConstraints


def make_context(
    scorers: Sequence[tuple[Scorer, float]],
    examples: Sequence[ChartExample],
    constraints: ResolvedConstraints = UNCONSTRAINED,
    temperature: float = 1.0,
) -> ScoringContext:
    """Return the context of a document with known EDUs, given as numbers once for each scorer."""
    kinds, total = boundaries(examples[0].kinds), sum(weight for _, weight in scorers)
    members = []
    for (scorer, weight), example in zip(scorers, examples, strict=True):
        (states,) = scorer.read([example.pieces])
        rows = np.arange(len(example.pieces))
        members.append(Member(scorer, weight / total, scorer.pool(states, rows, example.piece_lengths, kinds)))
    labels = scorers[0][0].labels
    return ScoringContext(examples[0].id, members, kinds, labels, constraints, temperature)


def make_soft_starts(scorers: Sequence[Scorer], examples: Sequence[ChartExample]) -> list[FloatArray]:
    """Return the probabilities that an EDU, and that a sentence, starts at each piece of documents.

    Shape: → (pieces, 2) of each
    """
    texts = [example.pieces for example in examples]
    found = [[scorer.start_p(states) for states in scorer.read(texts)] for scorer in scorers]
    return [np.mean(of_text, axis=0, dtype=np.float32) for of_text in zip(*found, strict=True)]
