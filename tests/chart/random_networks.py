"""A small random network, the scores of its charts over all EDUs, and its posteriors of documents."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any

import torch

from genrst.chart.config import ChartConfig
from genrst.chart.examples import ChartExample, boundaries
from genrst.chart.inference import log_softmax
from genrst.chart.labels import Labels
from genrst.chart.layout import make_layout
from genrst.chart.learning.network import ChartNetwork, TorchScorer
from genrst.chart.learning.teaching import make_context
from genrst.chart.posterior import Posterior, infer
from genrst.chart.scorer import OnnxScorer, Scorer
from genrst.encoder.files import EncoderConfig
from genrst.encoder.runtime import Encoder, Precision
from genrst.packing import ENCODER, FloatArray
from genrst.trees.constraints import UNCONSTRAINED, Constraint, Label, ResolvedConstraints, resolve_constraints
from tests.chart.enumeration import Array
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer, piece_example

LABELS: list[Label] = [("cause", "NS"), ("cause", "SN"), ("joint", "NN")]


def finer(groups: Sequence[Label], classes: Sequence[tuple[str, str]]) -> Labels:
    """Labels with the relations that `classes` gives to each class; other classes are relations themselves."""
    members: dict[str, list[str]] = {}
    for relation, of in classes:
        members.setdefault(of, []).append(relation)
    pairs = [(name, nuclearity) for of, nuclearity in groups for name in members.get(of, [of])]
    return Labels(tuple(pairs), tuple(classes))


def make_network(seed: int = 5, fine: Sequence[tuple[str, str]] = (), kind: str = "bert") -> ChartNetwork:
    config = ChartConfig(
        edu_size=3, encoder="tiny", encoder_window=24, span_size=8, span_heads=2, split_size=4, label_size=5
    )
    torch.manual_seed(seed)
    network = ChartNetwork(config, finer(LABELS, fine), make_pretrained(config, kind)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
        # Distributions that are neither sure nor even.
        for part in (network.left, network.labels, network.whole):
            part.weight *= 0.3
    return network


def torch_scorer(network: ChartNetwork, kind: str = "bert") -> TorchScorer:
    """The scorer of a GPU, and of training."""
    return TorchScorer(network, network.label_names, make_tokenizer(kind))


def onnx_scorer(network: ChartNetwork, kind: str = "bert", precision: Precision = "float32") -> OnnxScorer:
    """What users have on a CPU."""
    weights = weights_of(network)
    own = {name: array for name, array in weights.items() if not name.startswith(ENCODER)}
    of_encoder = {name.removeprefix(ENCODER): weights[name] for name in weights.keys() - own.keys()}
    encoder = Encoder(encoder_config(network.edu_encoder.encoder), of_encoder, precision)
    return OnnxScorer(
        network.config, network.label_names, make_tokenizer(kind), encoder, own, network.edu_encoder.shape
    )


def weights_of(network: torch.nn.Module) -> dict[str, FloatArray]:
    return {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}


def encoder_config(encoder: Any) -> EncoderConfig:
    """The settings of an encoder of transformers, as they are read from its folder."""
    settings: dict[str, Any] = {
        field.name: getattr(encoder.config, field.name, None) for field in fields(EncoderConfig)
    }
    return EncoderConfig(**settings)


def make_charts(network: ChartNetwork, examples: Sequence[ChartExample]) -> tuple[Array, Array]:
    """The scores of all units of documents, and the log-probabilities of their labels.

    Shape: → (documents, N, N, N), (documents, N, N, N, labels)
    """
    kinds = [boundaries(example.kinds) for example in examples]
    layout = make_layout(kinds, [(number, range(example.n_edus + 1)) for number, example in enumerate(examples)])
    with torch.no_grad():
        chart = network(network.encode(network.make_batch(examples)), layout)
        labels = torch.zeros(*chart.scores.shape, network.labels.out_features)
        for row, example in enumerate(examples):
            if example.n_edus > 1:
                units = torch.tensor([(row, k, i, j) for i, k, j in combinations(range(example.n_edus + 1), 3)])
                labels[units.unbind(1)] = network.label_logits(chart, units.numpy()).log_softmax(-1)
    return chart.scores.numpy(), labels.numpy()


def infer_examples(
    scorers: Sequence[tuple[Scorer, float]],
    examples: Sequence[ChartExample],
    constraints: Sequence[ResolvedConstraints] | None = None,
    temperature: float = 1.0,
) -> list[Posterior]:
    """The posteriors of documents, by scorers with weights."""
    constraints = constraints or [UNCONSTRAINED] * len(examples)
    return [
        infer(make_context(scorers, [example] * len(scorers), one, temperature))
        for example, one in zip(examples, constraints, strict=True)
    ]


def make_posterior(
    n_edus: int,
    constraints: Sequence[Constraint] = (),
    groups: Sequence[int] | None = None,
    seed: int = 0,
    temperature: float = 1.0,
) -> tuple[Posterior, Array, Array]:
    """The posterior of a random document under constraints, and its scores and labels without."""
    network, example = make_network(seed=seed), piece_example(n_edus, seed)
    resolved = resolve_constraints(n_edus, constraints, LABELS, [] if groups is None else [groups])
    (posterior,) = infer_examples([(onnx_scorer(network), 1.0)], [example], [resolved], temperature)
    scores, labels = make_charts(network, [example])
    return posterior, scores[0].astype(float) / temperature, log_softmax(labels[0].astype(float) / temperature)
