"""Give silver documents the distributions over trees that trained charts, the teachers, see together.

    python -m experiments.silver_trees.soften --teacher A B C --prepared FILE.npz --output SOFT.npz

Students learn from all units and labels, weighted by their probabilities, instead of one tree. So they do with EDUs and
sentences if there are teachers for these; else they learn those that the documents have. With --resegment a share of
the documents has trees over the EDUs that these teachers find, as a student will find them. Teachers must have the
labels and the tokenizer of the prepared features. Training and dev documents stay as they are. Several processes may
take a shard each, to be joined (`experiments.silver_trees.join`). Prints the teachers' scores on dev.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from genrst.chart.storage import load_chart
from genrst.training.dev import evaluate_parses

from experiments.command import Rows, read_environment, run_command, scores_of, share, start_parser
from experiments.silver_trees.label import LABELLING, add_silver_arguments, choose, take_shard
from genrst.chart.learning import actions_of_units, segment_f1, segment_starts
from genrst.chart.network import ChartNetwork
from genrst.chart.posterior import read_documents
from genrst.chart.teaching import make_soft_starts, make_soft_trees
from genrst.encoder.device import choose_device, computes_bfloat16
from genrst.errors import UsageError
from genrst.io import progress
from genrst.parser.folders import find_model
from genrst.rnng.examples import Example
from genrst.rnng.finder import MOST_EDUS
from genrst.rnng.search.beam import in_groups
from genrst.rnng.transitions.boundaries import Kind
from genrst.rnng.transitions.features import Syntax
from genrst.training.prepared import Prepared, load_prepared, save_prepared
from genrst.trees.constraints import Demands, make_demands

SETTINGS = ("teacher", "segment_teacher", "resegment", "documents", "seed", "temperature", "shard")


def main(words: Sequence[str] | None = None) -> None:
    """Read, ask the teachers, write."""
    run_command(make_parser(), run, words)


def make_parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    parser = start_parser(__doc__)
    add_silver_arguments(parser, "charts", documents=10_000, min_edus=2, max_edus=400)
    parser.add_argument("--temperature", type=float, default=1.5, help="above 1, teachers are less sure")
    parser.add_argument(
        "--segment-teacher", nargs="+", default=[], metavar="MODEL", help="charts that teach EDUs and sentences"
    )
    help = "how many of the documents get trees over the EDUs of segment teachers (default: 0)"
    parser.add_argument("--resegment", metavar="SHARE", type=share, default=0.0, help=help)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    if arguments.resegment and not arguments.segment_teacher:
        raise UsageError("--resegment needs --segment-teacher")
    prepared = load_prepared(arguments.prepared)
    device = choose_device(arguments.device)
    networks = [(load_teacher(name, prepared, device), 1.0) for name in arguments.teacher]
    segmenters = [load_teacher(name, prepared, device) for name in arguments.segment_teacher]
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    rows = Rows(read_environment(device), {LABELLING: settings})
    found = find_trees(networks, prepared.dev, prepared, arguments.temperature)
    scores = scores_of(evaluate_parses(prepared.dev, found, prepared.symbols))
    if segmenters:
        starts = [starts for one in prepared.dev for starts in make_soft_starts(segmenters, [one])]
        scores["Seg"] = round(segment_f1(starts, prepared.dev), 2)
    rows.add(documents="dev", **scores)
    rows.write(arguments.results)
    sizes = range(arguments.min_edus, arguments.max_edus + 1)
    silver = take_shard(choose(prepared.silver, sizes, arguments.documents, arguments.seed), arguments.shard)
    numbers = sorted(range(len(silver)), key=lambda number: silver[number].n_edus)
    groups = list(in_groups(numbers, lambda number: silver[number].n_edus, MOST_EDUS))
    for chosen in progress(groups, "asking teachers", len(groups)):
        group = [replace(silver[number], actions=()) for number in chosen]
        if segmenters:
            pairs = zip(group, make_soft_starts(segmenters, group), strict=True)
            group = [replace(example, starts=starts) for example, starts in pairs]
        group = [resegment(one) if _is_resegmented(one, arguments.resegment) else one for one in group]
        trees = make_soft_trees(
            networks, [group] * len(networks), list(_whole_sentences(group, prepared)), arguments.temperature
        )
        for number, example, soft in zip(chosen, group, trees, strict=True):
            silver[number] = replace(example, soft=soft)
    notes = prepared.notes | {LABELLING: settings}
    save_prepared(replace(prepared, silver=silver, notes=notes), arguments.output)


def _is_resegmented(example: Example, probability: float) -> bool:
    """Drawn by the name of a document, so that shards do not matter."""
    return random.Random(example.id).random() < probability


def resegment(example: Example) -> Example:
    """The same text with the EDUs that its teachers find; sentences, paragraphs and what they are stay."""
    assert example.starts is not None
    is_start = (example.starts[:, 0] > 0.5) | segment_starts(example)[:, 1]
    (first,) = np.nonzero(is_start)
    lengths = np.diff(first, append=len(is_start))
    # The former EDU of each new one, and whether they start together.
    own = np.repeat(np.arange(example.n_edus), example.piece_lengths)[first]
    is_same = (np.cumsum(example.piece_lengths) - example.piece_lengths)[own] == first
    sentences, paragraphs, kinds = (
        np.array(column)[own] for column in (example.syntax.sentences, example.syntax.paragraphs, example.syntax.kinds)
    )
    places = (column.tolist() for column in (sentences, paragraphs, np.where(is_same, kinds, Kind.NOTHING)))
    syntax = Syntax([], [], [], *places)
    return replace(example, edu_lengths=np.zeros_like(lengths), piece_lengths=lengths, syntax=syntax)


def load_teacher(name: str, prepared: Prepared, device: torch.device) -> ChartNetwork:
    """A chart by name or folder, which must have the labels and the tokenizer of the features."""
    is_half = device.type == "cuda" or computes_bfloat16(device)
    model = load_chart(find_model(name), device, torch.bfloat16 if is_half else torch.float32)
    if model.symbols.actions != prepared.symbols.actions:
        raise UsageError(f"{name}: a teacher must have the labels of the features, was: with others")
    if model.tokenizer is None or model.tokenizer.json != prepared.tokenizer:
        raise UsageError(f"{name}: a teacher must have the tokenizer of the features, was: with another")
    return model.network


def find_trees(
    networks: Sequence[tuple[ChartNetwork, float]], examples: Sequence[Example], prepared: Prepared, temperature: float
) -> list[tuple[int, ...]]:
    """The actions of each document's tree of least risk, with whole sentences."""
    order = sorted(range(len(examples)), key=lambda number: examples[number].n_edus)
    groups = list(in_groups(order, lambda number: examples[number].n_edus, MOST_EDUS))
    found: dict[int, tuple[int, ...]] = {}
    for numbers in progress(groups, "asking teachers", len(groups)):
        group = [examples[number] for number in numbers]
        demands = list(_whole_sentences(group, prepared))
        posteriors = read_documents(networks, [group] * len(networks), demands, temperature)
        for number, posterior in zip(numbers, posteriors, strict=True):
            found[number] = tuple(actions_of_units(posterior.minimum_risk(), posterior.n_edus))
    return [found[number] for number in range(len(examples))]


def _whole_sentences(examples: Sequence[Example], prepared: Prepared) -> Iterator[Demands]:
    """What trees of these documents must be like: sentences are whole."""
    labels = prepared.symbols.actions.pairs
    for example in examples:
        yield make_demands(example.n_edus, (), labels, [example.syntax.sentences])


if __name__ == "__main__":
    main()
