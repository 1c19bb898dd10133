"""Replace the trees of prepared features by flat trees, to train the same language model without discourse.

    genrst train fast --set data.path=GUM --prepare-only
    python -m experiments.shuffling.flatten --prepared FEATURES.npz --output FLAT.npz
    genrst train fast --prepared FLAT.npz --set training.select=loss --set training.evaluate_search=greedy \\
        --output runs/flat

In flat trees, all EDUs are generated before the first two units are joined. The words of an EDU are therefore
conditioned on an LSTM over the previous EDUs, and on the features, the layout and the vectors of the last two. Nothing
is composed, and no relation is seen. The reductions at the end all have the same label, and the model learns that they
are certain.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.command import run_command, start_parser
from experiments.data import read_features
from genrst.rnng.examples import Example
from genrst.rnng.transitions.actions import GENERATE
from genrst.training.prepared import Prepared, save_prepared

LABEL = GENERATE + 1
"""The first label. Any label would do, because no words follow it."""


def main(words: Sequence[str] | None = None) -> None:
    """Read prepared features and write them with flat trees."""
    parser = start_parser(__doc__)
    parser.add_argument("--prepared", type=Path, required=True, metavar="FILE")
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    save_prepared(flatten(read_features(arguments.prepared, "rnng")), arguments.output)


def flatten(prepared: Prepared) -> Prepared:
    """Return the same documents with flat trees."""
    train, dev, silver = (list(map(_flatten, part)) for part in (prepared.train, prepared.dev, prepared.silver))
    return replace(prepared, train=train, dev=dev, silver=silver, notes=prepared.notes | {"trees": "flat"})


def _flatten(example: Example) -> Example:
    return replace(example, actions=flat_actions(example.n_edus))


def flat_actions(n_edus: int) -> tuple[int, ...]:
    """Return the actions that generate all EDUs and then reduce, which gives the right-branching tree."""
    return (GENERATE,) * n_edus + (LABEL,) * (n_edus - 1)


if __name__ == "__main__":
    main()
