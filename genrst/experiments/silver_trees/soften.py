"""Give silver documents the distributions over trees that trained charts, the teachers, see together.

    python -m genrst.experiments.silver_trees.soften --teacher A B C --prepared FILE.npz --output SOFT.npz

Students learn from all units and labels, weighted by their probabilities, instead of one tree. So they do with EDUs and
sentences if there are teachers for these; else they learn those that the documents have. Teachers must have the labels
and the tokenizer of the prepared features. Training and dev documents stay as they are. Several processes may take a
shard each, to be joined (`genrst.experiments.silver_trees.join`). Prints the teachers' scores on dev.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from genrst.chart.network import ChartNetwork
from genrst.chart.posterior import read_documents
from genrst.chart.storage import load_chart
from genrst.chart.teaching import make_soft_starts, make_soft_trees
from genrst.errors import UsageError
from genrst.experiments.command import Rows, read_environment, run_command, scores_of, start_parser
from genrst.experiments.silver_trees.label import LABELLING, add_silver_arguments, choose, take_shard
from genrst.io import progress
from genrst.model.device import choose_device, computes_bfloat16
from genrst.model.examples import Example
from genrst.parser.packages import find_model
from genrst.parser.search import MOST_EDUS
from genrst.search.beam import in_groups
from genrst.training.chart_lessons import actions_of_units, segment_f1
from genrst.training.data import Prepared, load_prepared, save_prepared
from genrst.training.dev import evaluate_parses
from genrst.trees.demands import Demands, make_demands

SETTINGS = ("teacher", "segment_teacher", "documents", "seed", "temperature", "shard")


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
    return parser


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    prepared = load_prepared(arguments.prepared)
    device = choose_device(arguments.device)
    networks = [(_load(name, prepared, device), 1.0) for name in arguments.teacher]
    segmenters = [_load(name, prepared, device) for name in arguments.segment_teacher]
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    rows = Rows(read_environment(device), {LABELLING: settings})
    derivations = [
        actions_of_units(posterior.minimum_risk(), posterior.n_edus)
        for group in in_groups(prepared.dev, lambda example: example.n_edus, MOST_EDUS)
        for posterior in read_documents(
            networks, [group] * len(networks), list(_demands(group, prepared)), arguments.temperature
        )
    ]
    scores = scores_of(evaluate_parses(prepared.dev, derivations, prepared.symbols))
    if segmenters:
        scores["Seg"] = round(segment_f1([make_soft_starts(segmenters, one) for one in prepared.dev], prepared.dev), 2)
    rows.add(documents="dev", **scores)
    rows.write(arguments.results)
    sizes = range(arguments.min_edus, arguments.max_edus + 1)
    silver = take_shard(choose(prepared.silver, sizes, arguments.documents, arguments.seed), arguments.shard)
    numbers = sorted(range(len(silver)), key=lambda number: silver[number].n_edus)
    groups = list(in_groups(numbers, lambda number: silver[number].n_edus, MOST_EDUS))
    for chosen in progress(groups, "asking teachers", len(groups)):
        group = [silver[number] for number in chosen]
        found = make_soft_trees(
            networks, [group] * len(networks), list(_demands(group, prepared)), arguments.temperature
        )
        for number, soft in zip(chosen, found, strict=True):
            starts = make_soft_starts(segmenters, silver[number]) if segmenters else None
            silver[number] = replace(silver[number], soft=soft, actions=(), starts=starts)
    notes = prepared.notes | {LABELLING: settings}
    save_prepared(replace(prepared, silver=silver, notes=notes), arguments.output)


def _load(name: str, prepared: Prepared, device: torch.device) -> ChartNetwork:
    is_half = device.type == "cuda" or computes_bfloat16(device)
    model = load_chart(find_model(name), device, torch.bfloat16 if is_half else torch.float32)
    if model.symbols.actions != prepared.symbols.actions:
        raise UsageError(f"{name}: a teacher must have the labels of the features, was: with others")
    if model.tokenizer is None or model.tokenizer.json != prepared.tokenizer:
        raise UsageError(f"{name}: a teacher must have the tokenizer of the features, was: with another")
    return model.network


def _demands(examples: Sequence[Example], prepared: Prepared) -> Iterator[Demands]:
    """Sentences are whole."""
    labels = prepared.symbols.actions.pairs
    for example in examples:
        yield make_demands(example.n_edus, (), labels, [example.syntax.sentences])


if __name__ == "__main__":
    main()
