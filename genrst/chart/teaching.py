"""What charts teach others: the probabilities of units and labels, of which a student learns all instead of one tree.

Where teachers agree, a unit weighs 1; where they do not, its alternatives share that weight. EDUs and sentences are
taught in the same way.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genrst.chart import inference
from genrst.chart.examples import ChartExample, FloatArray, SoftTree
from genrst.chart.network import ChartNetwork
from genrst.chart.scoring import DocumentChart, ScoringContext, encode_examples, group_charts, make_context
from genrst.trees.constraints import ResolvedConstraints

LEAST = 0.02
"""Units less probable than this are left out."""
N_LABELS = 5
"""How many labels of each unit are kept."""


@torch.inference_mode()
def make_soft_trees(
    networks: Sequence[tuple[ChartNetwork, float]],
    examples: Sequence[Sequence[ChartExample]],
    constraints: Sequence[ResolvedConstraints] | None = None,
    temperature: float = 1.0,
) -> list[SoftTree]:
    """The distribution over the trees of each document, which is given as numbers once for each network."""
    vectors = [encode_examples(network, own) for (network, _), own in zip(networks, examples, strict=True)]
    context = make_context(networks, examples[0], vectors, constraints, temperature)
    found: list[list[Tensor]] = [[] for _ in context.ids]
    charts = [chart for document in range(len(context.ids)) for chart in context.charts(document)]
    for group in group_charts(charts):
        rows, columns = _units(context, group)
        owners = [chart.document for chart in group]
        for row, own in enumerate(torch.split(columns, torch.bincount(rows, minlength=len(group)).tolist())):
            found[owners[row]].append(own)
    return [_soft_tree(parts) for parts in found]


@torch.inference_mode()
def make_soft_starts(networks: Sequence[ChartNetwork], examples: Sequence[ChartExample]) -> list[FloatArray]:
    """The probabilities that an EDU, and that a sentence starts with each piece of documents.

    Shape: → (pieces, 2) of each
    """
    found = []
    for network in networks:
        states = network.edu_encoder.read(network.make_batch(examples).windows.to(network.device))
        found.append(network.segments(states).float().sigmoid())
    starts = torch.stack(found).mean(0).cpu().numpy()
    return np.split(starts, np.cumsum([len(example.pieces) for example in examples])[:-1])


def _units(context: ScoringContext, charts: Sequence[DocumentChart]) -> tuple[Tensor, Tensor]:
    """The chart of each unit; and its start, split, stop, probability, labels and their probabilities in columns.

    Shape: (units), (units, 4 + 2 · N_LABELS)
    """
    scored = [context.score(member, charts) for member in context.members]
    weighted = [
        member.weight * inference.marginals(one.scores, one.chart.sizes)[0]
        for member, one in zip(context.members, scored, strict=True)
    ]
    total = torch.stack(weighted).sum(0) if len(weighted) > 1 else weighted[0]
    row, split, first, last = torch.nonzero(total > LEAST).unbind(1)
    p = total[row, split, first, last]
    label_p = torch.stack(
        [
            own[row, split, first, last][:, None] * one.label_logp(row, split, first, last).exp()
            for own, one in zip(weighted, scored, strict=True)
        ]
    ).sum(0)
    best_p, labels = (label_p / p[:, None]).topk(min(N_LABELS, label_p.shape[1]), dim=1)
    borders = torch.nn.utils.rnn.pad_sequence([torch.tensor(chart.borders) for chart in charts], batch_first=True)
    places = [borders.to(row.device)[row, place][:, None] for place in (first, split, last)]
    return row.cpu(), torch.cat([*places, p[:, None], labels, best_p], dim=1).double().cpu()


def _soft_tree(parts: Sequence[Tensor]) -> SoftTree:
    columns = torch.cat(list(parts)).numpy() if parts else np.zeros((0, 4 + 2 * N_LABELS))
    n_labels = (columns.shape[1] - 4) // 2
    return SoftTree(
        columns[:, :3].astype(np.int64),
        columns[:, 3].astype(np.float32),
        columns[:, 4 : 4 + n_labels].astype(np.int64),
        columns[:, 4 + n_labels :].astype(np.float32),
    )
