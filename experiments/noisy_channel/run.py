"""Does the generative model add to the best parser? A noisy channel: a chart draws trees, the generative model judges.

    python -m experiments.noisy_channel.run GUM --charts CHART --models en-generative --output runs/channel

Of every document the chart draws trees as it parses, from q(tree). The generative model scores them: p_trans, of their
actions, and p_gen, of the words. The two models together say q(tree) · p_trans^a · p_gen^b, so that a sample has the
weight p_trans^a · p_gen^b, and the tree of minimum risk under these weights is taken. With a = b = 0 that is the chart
by itself. The weights are those with the highest mean F on dev; on test they are tried once. Several charts and models,
one of each seed, are taken in pairs. Scored samples are kept in --output, and not drawn again.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.command import Rows, count, read_environment, run_command, scores_of, start_parser
from experiments.paper_tables.scores import difference
from genrst.chart.inference import minimum_risk_tree
from genrst.chart.posterior import SPAN_WEIGHT
from genrst.config import from_mapping
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import ConfigError, UsageError
from genrst.evaluation.parseval import ASPECTS
from genrst.evaluation.report import Evaluation, evaluate
from genrst.io import progress, write_atomically
from genrst.model.device import choose_device
from genrst.parser.likelihood import score_trees
from genrst.parser.parser import load
from genrst.trees.node import Leaf, Tree, Unit, units

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Those tried on dev, for actions and for words."""

Weights = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Samples:
    """The trees that a chart drew for a document, and the scores of a generative model."""

    id: str
    labels: tuple[str, ...]
    """Relations and nuclearities, such as `causal NS`; units have their numbers."""
    units: tuple[tuple[tuple[int, int, int], ...], ...]
    """Start, stop and label of the units of each tree."""
    action_logp: tuple[float, ...]
    word_logp: tuple[float, ...]
    exact: tuple[tuple[int, int, int], ...]
    """The tree of minimum risk of the chart itself."""


def main(words: Sequence[str] | None = None) -> None:
    """Score samples, choose weights, and write what comes out."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--charts", nargs="+", required=True)
    parser.add_argument("--models", nargs="+", required=True, help="generative or discriminative, as many as charts")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--splits", nargs="+", choices=("dev", "test"), default=["dev"], help="dev comes first")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of a split")
    parser.add_argument("--samples", type=count, default=200)
    parser.add_argument("--device", default="auto")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    if len(arguments.charts) != len(arguments.models):
        raise UsageError(f"--models: there must be one for each chart, was: {len(arguments.models)}")
    if arguments.splits[0] != "dev":
        raise UsageError("--splits: dev must come first, for weights are chosen on it, was: test")
    common = {"charts": arguments.charts, "models": arguments.models, "samples": arguments.samples}
    rows = Rows(read_environment(choose_device(arguments.device)), common)
    best: Weights | None = None
    for split in arguments.splits:
        gold = list(load_corpus(arguments.corpus, split=split))[: arguments.documents]
        pairs = [_samples(number, split, gold, arguments) for number in range(len(arguments.charts))]
        if best is None:
            best = _choose_weights(gold, pairs, arguments.output)
        systems = {
            "both": [_evaluate(gold, own, best) for own in pairs],
            "chart, samples": [_evaluate(gold, own, (0.0, 0.0)) for own in pairs],
            "chart, exact": [_evaluate(gold, own, None) for own in pairs],
        }
        for name, evaluations in systems.items():
            for pair, one in enumerate(evaluations, start=1):
                rows.add(split=split, system=name, pair=pair, weights=best, **scores_of(one))
        for name, aspect in product(list(systems)[1:], ASPECTS):
            tested = difference(systems["both"], systems[name], aspect)
            rows.add(split=split, compared=f"both − {name}", aspect=aspect, **asdict(tested))
    rows.write(arguments.output / "results.jsonl")


def _choose_weights(gold: Sequence[Document], pairs: Sequence[Sequence[Samples]], folder: Path) -> Weights:
    """The weights with the highest mean F; those of less weight if several have it."""
    means = {
        weights: fmean(scores_of(_evaluate(gold, own, weights))["F"] for own in pairs)
        for weights in product(WEIGHTS, WEIGHTS)
    }
    plot(means, folder / "weights.svg")
    return max(means, key=lambda weights: means[weights])


def _samples(number: int, split: str, gold: Sequence[Document], arguments: argparse.Namespace) -> list[Samples]:
    """The scored samples of a pair of models, drawn once."""
    path = arguments.output / f"pair-{number + 1}" / f"{split}.jsonl"
    if path.is_file():
        found = [_read(line, path) for line in path.read_text(encoding="utf-8").splitlines()]
        if [one.id for one in found] != [document.id for document in gold]:
            raise UsageError(f"{path}: the samples are of other documents: choose another --output")
        return found
    found = list(draw(gold, arguments.charts[number], arguments.models[number], arguments.samples, arguments.device))
    write_atomically(path, "".join(json.dumps(asdict(one)) + "\n" for one in found))
    return found


def _read(line: str, path: Path) -> Samples:
    try:
        return from_mapping(Samples, json.loads(line))
    except (ConfigError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: a line must be the samples of a document, was: {error}") from error


def draw(gold: Sequence[Document], chart_name: str, model_name: str, n_samples: int, device: str) -> Iterator[Samples]:
    """Draw trees by a chart, and score them by a generative model."""
    chart, model = load(chart_name, device=device, relations="coarse"), load(model_name, device=device)
    for document in progress(gold, "drawing", len(gold)):
        document = replace(document, constraints=())
        distribution = chart.distribution(document)
        numbers = {label: number for number, label in enumerate(distribution.labels)}
        trees = distribution.sample(n_samples, seed=1)
        scored = score_trees(model, document, trees)
        yield Samples(
            document.id,
            tuple(" ".join(label) for label in distribution.labels),
            tuple(_numbered(tree, numbers) for tree in trees),
            tuple(one.action_logp for one in scored),
            tuple(one.word_logp for one in scored),
            _numbered(distribution.minimum_risk()[0], numbers),
        )


def _numbered(tree: Tree, numbers: Mapping[tuple[str, str], int]) -> tuple[tuple[int, int, int], ...]:
    return tuple((unit.start, unit.stop, numbers[unit.relation, unit.nuclearity]) for unit in units(tree))


def _evaluate(gold: Sequence[Document], samples: Sequence[Samples], weights: Weights | None) -> Evaluation:
    """The trees of minimum risk given weights, or those of the chart itself."""
    found = []
    for document, own in zip(gold, samples, strict=True):
        chosen = own.exact if weights is None else choose(own, weights)
        found.append(replace(document, tree=build(chosen, own.labels)))
    return evaluate(gold, found)


def choose(samples: Samples, weights: Weights) -> tuple[tuple[int, int, int], ...]:
    """The tree whose units are expected to be right most often, if samples have these weights."""
    if not samples.units[0]:
        return ()
    scores = weights[0] * np.array(samples.action_logp) + weights[1] * np.array(samples.word_logp)
    shares = np.exp(scores - scores.max())
    return minimum_risk(samples, shares / shares.sum())


def minimum_risk(samples: Samples, shares: NDArray[np.float64]) -> tuple[tuple[int, int, int], ...]:
    """As a chart does it, with the probabilities of units by weighted samples."""
    n = 1 + max(stop for _, stop, _ in samples.units[0])
    label_p = np.zeros((n, n, len(samples.labels)))
    for tree, share in zip(samples.units, shares.tolist(), strict=True):
        start, stop, label = np.array(tree).T
        label_p[start, stop, label] += share
    gains = label_p.max(axis=-1) + SPAN_WEIGHT * label_p.sum(axis=-1)
    (found,) = minimum_risk_tree(torch.from_numpy(gains)[None], [n - 1])
    return tuple((i, j, int(label_p[i, j].argmax())) for i, _, j in found)


def build(chosen: Sequence[tuple[int, int, int]], labels: Sequence[str]) -> Tree:
    """The tree of some units."""
    built: dict[int, Tree] = {}
    # Small units first, so that children are there before their parents.
    for start, stop, label in sorted(chosen, key=lambda unit: unit[1] - unit[0]):
        left = built.pop(start, Leaf(start))
        relation, nuclearity = labels[label].rsplit(" ", 1)
        built[start] = Unit(relation, nuclearity, (left, built.pop(left.stop, Leaf(left.stop))))
        assert built[start].stop == stop
    return built.get(0, Leaf(0))


def plot(means: Mapping[Weights, float], path: Path) -> None:
    """F on dev by the weight of words, a curve for each weight of actions."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for number, of_actions in enumerate(WEIGHTS):
        scores = [means[of_actions, of_words] for of_words in WEIGHTS]
        axes.plot(range(len(WEIGHTS)), scores, "-o", color=f"C{number}", label=f"a = {of_actions:g}")
    axes.set(xlabel="b, the weight of words", ylabel="F on dev", xticks=range(len(WEIGHTS)), xticklabels=WEIGHTS)
    axes.legend(fontsize="small", title="weight of actions")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


if __name__ == "__main__":
    main()
