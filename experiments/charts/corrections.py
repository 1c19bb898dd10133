"""Measure how much re-parsing after corrections improves the rest of the tree.

    python -m experiments.charts.corrections corpora/gum --model DIR --split dev --corrections 1 3 10

A simulated annotator checks the units of a tree, least probable first, and corrects the first wrong one: a wrong label
is replaced by the gold label; for a wrong span, the smallest gold unit that crosses it becomes a constraint, with its
label. The document is then parsed again with all corrections so far. The uncorrected units are scored before and after:
Parseval precision over the units of the tree, with coarse relations and binary trees.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence

from experiments.charts.calibration import start_chart_parser
from experiments.command import Rows, count, read_environment, run_command
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, require_tree
from genrst.encoder.device import choose_device
from genrst.io import progress
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.trees.binarise import prepare_tree
from genrst.trees.constraints import Constraint
from genrst.trees.node import Tree, Unit, units
from genrst.trees.relations import detect_inventory

Gold = dict[tuple[int, int], tuple[str, str]]
"""The labels of gold units, by their EDUs."""


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each number of corrections."""
    parser = start_chart_parser(__doc__)
    parser.add_argument("--corrections", type=count, nargs="+", default=[1, 3, 10])
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    documents = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    # Gold units have coarse relations here.
    parser = load(arguments.model, device=arguments.device, relations="coarse")
    rows = Rows(read_environment(choose_device(arguments.device)), {"model": arguments.model, "split": arguments.split})
    totals = {number: Counter[str]() for number in arguments.corrections}
    for document in progress(documents, "correcting", len(documents)):
        steps = correct(parser, document)
        before, _ = next(steps)
        gold = gold_units(document)
        for number in range(1, max(arguments.corrections) + 1):
            after, constraints = next(steps, (None, []))
            if after is None:
                break  # everything is correct
            if number in totals:
                corrected = {one.span for one in constraints}
                totals[number] += Counter(
                    {
                        **{f"before {name}": value for name, value in score(before, gold, corrected).items()},
                        **{f"after {name}": value for name, value in score(after, gold, corrected).items()},
                    }
                )
    for number, total in totals.items():
        shares = {
            f"{when}_{aspect}": 100 * total[f"{when} {aspect}"] / total[f"{when} units"]
            for when in ("before", "after")
            for aspect in "SF"
        }
        rows.add(corrections=number, units=total["after units"], **shares)


def gold_units(document: Document) -> Gold:
    """Return the units of the binary gold tree, with coarse relations."""
    tree = require_tree(document)
    tree = prepare_tree(tree, detect_inventory(unit.relation for unit in units(tree)))
    return {(unit.start, unit.stop): (unit.relation, unit.nuclearity) for unit in units(tree)}


def correct(parser: Parser, document: Document) -> Iterator[tuple[Tree, list[Constraint]]]:
    """Yield the first tree and the tree after each correction, with the corrections so far, until it is correct."""
    gold = gold_units(document)
    distribution = parser.distribution(document)
    constraints: list[Constraint] = []
    while True:
        tree, _ = distribution.mbr()
        yield tree, [*constraints]
        by_doubt = sorted(units(tree), key=lambda unit: unit.probability or 0.0)
        found = next((one for unit in by_doubt if (one := mend(unit, gold)) is not None), None)
        if found is None:
            return
        constraints.append(found)
        distribution = distribution.given(constraints)


def mend(unit: Unit, gold: Gold) -> Constraint | None:
    """Return the correction of a unit, or None if it is correct."""
    span = unit.start, unit.stop
    if span in gold:
        is_right = gold[span] == (unit.relation, unit.nuclearity)
        return None if is_right else Constraint(*span, True, *gold[span])
    # A binary tree that lacks a span has a unit that crosses it.
    crossing = [one for one in gold if one[0] < span[0] < one[1] < span[1] or span[0] < one[0] < span[1] < one[1]]
    smallest = min(crossing, key=lambda one: (one[1] - one[0], one))
    return Constraint(*smallest, True, *gold[smallest])


def score(tree: Tree, gold: Gold, corrected: set[tuple[int, int]]) -> dict[str, int]:
    """Count the uncorrected units, those with a correct span, and those with a correct span and label."""
    others = [unit for unit in units(tree) if (unit.start, unit.stop) not in corrected]
    spans = [unit for unit in others if (unit.start, unit.stop) in gold]
    right = [unit for unit in spans if gold[unit.start, unit.stop] == (unit.relation, unit.nuclearity)]
    return {"units": len(others), "S": len(spans), "F": len(right)}


if __name__ == "__main__":
    main()
