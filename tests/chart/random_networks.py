"""A small random network, the scores of its chart over all EDUs, and its posterior of one document."""

from collections.abc import Sequence
from itertools import combinations

import torch
from genrst.chart.layout import edu_boundaries, make_layout
from genrst.rnng.model_config import ChartConfig
from torch import Tensor

from genrst.chart.network import ChartNetwork
from genrst.chart.posterior import Posterior, read_documents
from genrst.rnng.examples import Example
from genrst.trees.constraints import Constraint, Label, resolve_constraints
from tests.encoder.tiny_encoders import make_pretrained, piece_example

LABELS: list[Label] = [("cause", "NS"), ("cause", "SN"), ("joint", "NN")]


def make_network(
    has_kinds: bool = True, n_labels: int = 3, seed: int = 5, fine_of_labels: Sequence[Sequence[bool]] = ()
) -> ChartNetwork:
    config = ChartConfig(
        edu_size=3, encoder_window=24, span_size=8, span_heads=2, split_size=4, label_size=5, layout_kinds=has_kinds
    )
    torch.manual_seed(seed)
    network = ChartNetwork(config, 0, n_labels, make_pretrained(config), fine_of_labels).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
        # Distributions that are neither sure nor even.
        for part in (network.left, network.labels, network.whole):
            part.weight *= 0.3
    return network


def make_charts(network: ChartNetwork, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """The scores of all units of documents, and the log-probabilities of their labels.

    Shape: → (documents, N, N, N), (documents, N, N, N, labels)
    """
    kinds = [edu_boundaries(example, network.config.layout_kinds) for example in examples]
    layout = make_layout(kinds, [(number, range(example.n_edus + 1)) for number, example in enumerate(examples)])
    with torch.no_grad():
        chart = network(network.encode(network.make_batch(examples)), layout)
        labels = torch.zeros(*chart.scores.shape, network.labels.out_features)
        for row, example in enumerate(examples):
            for i, k, j in combinations(range(example.n_edus + 1), 3):
                place = (torch.tensor([number]) for number in (row, k, i, j))
                labels[row, k, i, j] = network.label_logp(chart, *place)[0]
    return chart.scores, labels


def make_posterior(
    n_edus: int,
    constraints: Sequence[Constraint] = (),
    groups: Sequence[int] | None = None,
    seed: int = 0,
    temperature: float = 1.0,
) -> tuple[Posterior, Tensor, Tensor]:
    """The posterior of a random document under constraints, and its scores and labels without."""
    network, example = make_network(seed=seed), piece_example(n_edus, seed)
    constraints = resolve_constraints(n_edus, constraints, LABELS, [] if groups is None else [groups])
    (posterior,) = read_documents([(network, 1.0)], [[example]], [constraints], temperature)
    scores, labels = make_charts(network, [example])
    return posterior, scores[0].double() / temperature, (labels[0].double() / temperature).log_softmax(-1)
