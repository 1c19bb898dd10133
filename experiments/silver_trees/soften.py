"""Label silver documents with the distributions over trees of an ensemble of trained charts, the teachers.

    python -m experiments.silver_trees.soften --teacher A B C --prepared FILE.npz --output SOFT.npz

Students learn from all units and labels, weighted by their probabilities, instead of one tree. If there are
segmentation teachers, students learn EDUs and sentences in the same way; otherwise they learn those of the documents.
With --resegment, a share of the documents is segmented by these teachers. Teachers must have the labels and the
tokenizer of the prepared features. Training and dev documents are unchanged. Several processes can each label a shard;
`experiments.silver_trees.join` joins them. Prints the teachers' scores on dev.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from experiments.charts.network import ChartModel, load_chart
from experiments.command import Rows, read_environment, run_command, scores_of, share, start_parser
from experiments.data import read_features
from experiments.silver_trees.label import LABELLING, add_silver_arguments, choose, take_shard
from experiments.silver_trees.soft_trees import make_soft_tree
from genrst.chart.examples import ChartExample, LabelledUnit, boundaries
from genrst.chart.finder import MOST_EDUS
from genrst.chart.learning.network import TorchScorer
from genrst.chart.learning.task import evaluate_units, segment_f1, segment_starts
from genrst.chart.learning.teaching import make_soft_starts
from genrst.chart.load import load_scorer
from genrst.chart.posterior import infer
from genrst.chart.scorer import Scorer
from genrst.chart.scoring import Member, ScoringContext
from genrst.encoder.device import choose_device
from genrst.encoder.memory import in_batches
from genrst.errors import UsageError
from genrst.io import progress
from genrst.parser.folders import find_model
from genrst.text.layout import Kind
from genrst.training.prepared import Prepared, save_prepared
from genrst.trees.constraints import resolve_constraints

SETTINGS = ("teacher", "segment_teacher", "resegment", "documents", "seed", "temperature", "shard")


def main(words: Sequence[str] | None = None) -> None:
    """Read, label and write."""
    run_command(make_parser(), run, words)


def make_parser() -> argparse.ArgumentParser:
    """Make the argument parser of the command."""
    parser = start_parser(__doc__)
    add_silver_arguments(parser, "charts", documents=10_000, min_edus=2, max_edus=400)
    parser.add_argument(
        "--temperature",
        type=float,
        default=1.5,
        help="temperature of the teachers; higher values flatten their distributions (default: 1.5)",
    )
    parser.add_argument(
        "--segment-teacher", nargs="+", default=[], metavar="MODEL", help="charts that teach EDUs and sentences"
    )
    help = "share of documents that are re-segmented by the segmentation teachers (default: 0)"
    parser.add_argument("--resegment", metavar="SHARE", type=share, default=0.0, help=help)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if arguments.resegment and not arguments.segment_teacher:
        raise UsageError("--resegment needs --segment-teacher")
    prepared = read_features(arguments.prepared, "chart")
    device = choose_device(arguments.device)
    teachers = [(load_teacher(name, prepared, device), 1.0) for name in arguments.teacher]
    segmenters = [load_teacher(name, prepared, device) for name in arguments.segment_teacher]
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    rows = Rows(read_environment(device), {LABELLING: settings})
    found = find_trees(teachers, prepared.dev, prepared, arguments.temperature)
    scores = scores_of(evaluate_units(prepared.dev, found, prepared.symbols))
    if segmenters:
        starts = [starts for one in prepared.dev for starts in make_soft_starts(segmenters, [one])]
        scores["Seg"] = round(segment_f1(starts, prepared.dev), 2)
    rows.add(documents="dev", **scores)
    rows.write(arguments.results)
    sizes = range(arguments.min_edus, arguments.max_edus + 1)
    silver = take_shard(choose(prepared.silver, sizes, arguments.documents, arguments.seed), arguments.shard)
    numbers = sorted(range(len(silver)), key=lambda number: silver[number].n_edus)
    groups = list(in_batches(numbers, lambda number: silver[number].n_edus, MOST_EDUS))
    for chosen in progress(groups, "asking teachers", len(groups)):
        group = [replace(silver[number], units=silver[number].units[:0]) for number in chosen]
        if segmenters:
            pairs = zip(group, make_soft_starts(segmenters, group), strict=True)
            group = [replace(example, starts=starts) for example, starts in pairs]
        group = [resegment(one) if _is_resegmented(one, arguments.resegment) else one for one in group]
        contexts = read_contexts(teachers, group, prepared, arguments.temperature)
        for number, example, context in zip(chosen, group, contexts, strict=True):
            silver[number] = replace(example, soft=make_soft_tree(context))
    notes = prepared.notes | {LABELLING: settings}
    save_prepared(replace(prepared, silver=silver, notes=notes), arguments.output)


def _is_resegmented(example: ChartExample, probability: float) -> bool:
    """Decide at random, seeded by the document id, so that the result does not depend on shards."""
    return random.Random(example.id).random() < probability


def resegment(example: ChartExample) -> ChartExample:
    """Return the text with the EDUs of its teachers; sentences, paragraphs and their kinds are kept."""
    assert example.starts is not None
    is_start = (example.starts[:, 0] > 0.5) | segment_starts(example)[:, 1]
    (first,) = np.nonzero(is_start)
    lengths = np.diff(first, append=len(is_start))
    # The old EDU of each new one, and whether both start at the same piece.
    own = np.repeat(np.arange(example.n_edus), example.piece_lengths)[first]
    is_same = (np.cumsum(example.piece_lengths) - example.piece_lengths)[own] == first
    sentences, paragraphs, kinds = (
        np.array(column)[own] for column in (example.sentences, example.paragraphs, example.kinds)
    )
    return replace(
        example,
        piece_lengths=lengths,
        sentences=sentences.tolist(),
        paragraphs=paragraphs.tolist(),
        kinds=np.where(is_same, kinds, Kind.NOTHING).tolist(),
    )


def load_teacher(name: str, prepared: Prepared, device: torch.device) -> Scorer:
    """Load a chart by name or folder; it must have the labels and the tokenizer of the features.

    On a CPU it computes as parsing does, which is four times as fast as PyTorch.
    """
    folder = find_model(name)
    scorer = load_scorer(folder) if device.type == "cpu" else make_scorer(load_chart(folder, device, torch.bfloat16))
    if scorer.labels != prepared.symbols:
        raise UsageError(f"{name}: the labels of this teacher differ from those of the features")
    if scorer.tokenizer.json != prepared.tokenizer:
        raise UsageError(f"{name}: the tokenizer of this teacher differs from that of the features")
    return scorer


def make_scorer(model: ChartModel) -> TorchScorer:
    """Make the scorer of a chart on a GPU."""
    assert model.tokenizer is not None
    return TorchScorer(model.network, model.symbols, model.tokenizer)


def find_trees(
    scorers: Sequence[tuple[Scorer, float]],
    examples: Sequence[ChartExample],
    prepared: Prepared,
    temperature: float,
) -> list[list[LabelledUnit]]:
    """Return the units of each document's minimum Bayes risk tree, with whole sentences."""
    order = sorted(range(len(examples)), key=lambda number: examples[number].n_edus)
    groups = list(in_batches(order, lambda number: examples[number].n_edus, MOST_EDUS))
    found: dict[int, list[LabelledUnit]] = {}
    for numbers in progress(groups, "asking teachers", len(groups)):
        group = [examples[number] for number in numbers]
        contexts = read_contexts(scorers, group, prepared, temperature)
        found |= zip(numbers, (infer(context).mbr() for context in contexts), strict=True)
    return [found[number] for number in range(len(examples))]


def read_contexts(
    scorers: Sequence[tuple[Scorer, float]], examples: Sequence[ChartExample], prepared: Prepared, temperature: float
) -> list[ScoringContext]:
    """Return the scoring contexts of documents, with whole sentences. All are encoded in one batch, for a GPU."""
    total = sum(weight for _, weight in scorers)
    kinds = [boundaries(example.kinds) for example in examples]
    members: list[list[Member]] = [[] for _ in examples]
    for scorer, weight in scorers:
        read = scorer.read([example.pieces for example in examples])
        for own, example, states, found in zip(members, examples, read, kinds, strict=True):
            vectors = scorer.pool(states, np.arange(len(example.pieces)), example.piece_lengths, found)
            own.append(Member(scorer, weight / total, vectors))
    labels = prepared.symbols.pairs
    constraints = [resolve_constraints(example.n_edus, (), labels, [example.sentences]) for example in examples]
    return [
        ScoringContext(example.id, own, found, prepared.symbols, given, temperature)
        for example, own, found, given in zip(examples, members, kinds, constraints, strict=True)
    ]


if __name__ == "__main__":
    main()
