"""Convert prepared features to the word pieces of another encoder, so that other students learn the same trees.

    python -m experiments.silver_trees.translate SOFT.npz --encoder FOLDER --output OTHER.npz

Both tokenizers must split texts in the same way, as BERT's variants do; pieces are matched by name.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.command import run_command, start_parser
from experiments.data import read_features
from experiments.silver_trees.teachers import match_pieces
from genrst.chart.examples import ChartExample
from genrst.encoder.files import find_tokenizer
from genrst.errors import UsageError
from genrst.training.prepared import save_prepared


def main(words: Sequence[str] | None = None) -> None:
    """Read, translate and write."""
    parser = start_parser(__doc__)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--encoder", required=True, metavar="NAME", help="a name on Hugging Face, or a folder")
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    prepared = read_features(arguments.prepared, "chart")
    tokenizer = find_tokenizer(arguments.encoder)
    assert prepared.tokenizer is not None
    if unknown := _unknown(prepared.tokenizer, tokenizer.json):
        raise UsageError(f"{arguments.encoder}: the encoder lacks the word piece {unknown!r}")
    numbers = match_pieces(prepared.tokenizer, tokenizer)

    def translate(examples: Sequence[ChartExample]) -> list[ChartExample]:
        return [replace(example, pieces=numbers[example.pieces]) for example in examples]

    train, dev, silver = (translate(examples) for examples in (prepared.train, prepared.dev, prepared.silver))
    save_prepared(replace(prepared, train=train, dev=dev, silver=silver, tokenizer=tokenizer.json), arguments.output)


def _unknown(ours: str, theirs: str) -> str | None:
    """Return a piece that only the first tokenizer has, except special tokens such as <s>; None if there is none."""
    own, other = (json.loads(one)["model"]["vocab"] for one in (ours, theirs))
    return next((piece for piece in own if piece not in other and not piece.startswith(("<", "["))), None)


if __name__ == "__main__":
    main()
