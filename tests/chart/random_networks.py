"""A small random network, the scores of its charts over all EDUs, and its posteriors of documents."""

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from genrst.chart.config import ChartConfig
from genrst.chart.examples import ChartExample, Labels, boundaries
from genrst.chart.network import ChartNetwork, make_layout
from genrst.chart.posterior import Posterior, infer
from genrst.chart.scoring import encode_examples, make_context
from genrst.trees.constraints import Constraint, Label, ResolvedConstraints, resolve_constraints
from tests.encoder.tiny_encoders import make_pretrained, piece_example

LABELS: list[Label] = [("cause", "NS"), ("cause", "SN"), ("joint", "NN")]


def make_network(seed: int = 5, fine: Sequence[tuple[str, str]] = ()) -> ChartNetwork:
    config = ChartConfig(
        edu_size=3, encoder="tiny", encoder_window=24, span_size=8, span_heads=2, split_size=4, label_size=5
    )
    torch.manual_seed(seed)
    network = ChartNetwork(config, Labels(tuple(LABELS), tuple(fine)), make_pretrained(config)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
        # Distributions that are neither sure nor even.
        for part in (network.left, network.labels, network.whole):
            part.weight *= 0.3
    return network


def make_charts(network: ChartNetwork, examples: Sequence[ChartExample]) -> tuple[Tensor, Tensor]:
    """The scores of all units of documents, and the log-probabilities of their labels.

    Shape: → (documents, N, N, N), (documents, N, N, N, labels)
    """
    kinds = [boundaries(example.kinds) for example in examples]
    layout = make_layout(kinds, [(number, range(example.n_edus + 1)) for number, example in enumerate(examples)])
    with torch.no_grad():
        chart = network(network.encode(network.make_batch(examples)), layout)
        labels = torch.zeros(*chart.scores.shape, network.labels.out_features)
        for row, example in enumerate(examples):
            for i, k, j in combinations(range(example.n_edus + 1), 3):
                place = (torch.tensor([number]) for number in (row, k, i, j))
                labels[row, k, i, j] = network.label_logp(chart, *place)[0]
    return chart.scores, labels


@torch.inference_mode()
def infer_examples(
    networks: Sequence[tuple[ChartNetwork, float]],
    examples: Sequence[ChartExample],
    constraints: Sequence[ResolvedConstraints] | None = None,
    temperature: float = 1.0,
) -> list[Posterior]:
    """The posteriors of documents, by networks with weights."""
    vectors = [encode_examples(network, examples) for network, _ in networks]
    return infer(make_context(networks, examples, vectors, constraints, temperature))


def make_posterior(
    n_edus: int,
    constraints: Sequence[Constraint] = (),
    groups: Sequence[int] | None = None,
    seed: int = 0,
    temperature: float = 1.0,
) -> tuple[Posterior, Tensor, Tensor]:
    """The posterior of a random document under constraints, and its scores and labels without."""
    network, example = make_network(seed=seed), piece_example(n_edus, seed)
    resolved = resolve_constraints(n_edus, constraints, LABELS, [] if groups is None else [groups])
    (posterior,) = infer_examples([(network, 1.0)], [example], [resolved], temperature)
    scores, labels = make_charts(network, [example])
    return posterior, scores[0].double() / temperature, (labels[0].double() / temperature).log_softmax(-1)
