"""Label silver documents with the minimum Bayes risk trees of an ensemble of trained charts, the teachers.

    python -m experiments.silver_trees.harden --teacher A B C --prepared CHARTS.npz --students STUDENTS.npz \\
        --output LABELLED.npz

This is for step-by-step students, which learn from one tree per document. Charts and these students need different
features: CHARTS.npz must have the labels and the tokenizer of the teachers, and STUDENTS.npz the features of the
students. The output is STUDENTS.npz with the silver documents that are in both files, and the teachers' trees. Students
may have more labels than teachers. Several processes can each label a shard; `experiments.silver_trees.join` joins
them. Prints the teachers' scores on dev, and their agreement with the earlier silver trees.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.command import Rows, read_environment, run_command, scores_of, start_parser
from experiments.data import read_features
from experiments.silver_trees.label import LABELLING, add_silver_arguments, choose, take_shard
from experiments.silver_trees.soften import find_trees, load_teacher
from experiments.silver_trees.teachers import translate_actions
from genrst.chart.examples import LabelledUnit, tree_of
from genrst.chart.labels import Labels
from genrst.chart.learning.task import evaluate_units
from genrst.encoder.device import choose_device
from genrst.errors import UsageError
from genrst.rnng.examples import Example
from genrst.rnng.transitions.actions import ActionSet, Reduce, actions_of
from genrst.training.prepared import save_prepared

SETTINGS = ("teacher", "documents", "seed", "min_edus", "max_edus", "temperature", "shard")


def main(words: Sequence[str] | None = None) -> None:
    """Read, label and write."""
    run_command(make_parser(), run, words)


def make_parser() -> argparse.ArgumentParser:
    """Make the argument parser of the command."""
    parser = start_parser(__doc__)
    add_silver_arguments(parser, "charts", documents=10_000, min_edus=2, max_edus=400)
    parser.add_argument("--students", type=Path, required=True, help="features of the students")
    parser.add_argument(
        "--temperature",
        type=float,
        default=1.4,
        help="temperature of the teachers; higher values flatten their distributions (default: 1.4)",
    )
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    prepared, students = read_features(arguments.prepared, "chart"), read_features(arguments.students, "rnng")
    labels, actions = prepared.symbols, students.symbols.actions
    # Students must know all labels.
    translate_actions(ActionSet(tuple(Reduce(*label) for label in labels.pairs)), actions)
    device = choose_device(arguments.device)
    networks = [(load_teacher(name, prepared, device), 1.0) for name in arguments.teacher]
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    rows = Rows(read_environment(device), {LABELLING: settings})
    sizes = range(arguments.min_edus, arguments.max_edus + 1)
    own = {example.id: example for example in students.silver}
    shared = [example for example in prepared.silver if example.id in own]
    silver = take_shard(choose(shared, sizes, arguments.documents, arguments.seed), arguments.shard)
    for name, examples in (("dev", prepared.dev), ("silver", silver)):
        found = find_trees(networks, examples, prepared, arguments.temperature)
        rows.add(documents=name, n=len(examples), **scores_of(evaluate_units(examples, found, labels)))
    rows.write(arguments.results)
    pairs = zip(silver, found, strict=True)
    labelled = [_label(own[example.id], units, labels, actions) for example, units in pairs]
    notes = students.notes | {LABELLING: settings}
    save_prepared(replace(students, silver=labelled, notes=notes), arguments.output)


def _label(example: Example, units: Sequence[LabelledUnit], labels: Labels, actions: ActionSet) -> Example:
    """Return a document of the students with a tree of the teachers."""
    if len(units) != example.n_edus - 1:
        raise UsageError(f"{example.id}: the two files of features have different EDUs for this document")
    numbers = actions.numbers()
    return replace(example, actions=tuple(numbers[action] for action in actions_of(tree_of(units, labels))))


if __name__ == "__main__":
    main()
