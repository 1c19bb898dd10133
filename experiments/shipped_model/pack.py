"""Pack a trained parser into a quantised model folder, as shipped with the package.

    python -m experiments.shipped_model.pack runs/student/model genrst/models/en --name en \
        --precision int4 --temperature 1.4
    python -m experiments.shipped_model.pack runs/fast/model genrst/models/en-generative --name en-generative \
        --word-weight 1 --words 12000

The model card, README.md, is written by hand and has the measured results.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

import torch

from experiments.charts.network import load_chart
from experiments.command import run_command, start_parser
from genrst.encoder.model import save_model
from genrst.errors import UsageError
from genrst.io import write_atomically
from genrst.packing import Precision
from genrst.parser.folders import read_kind, read_parser_config
from genrst.rnng.config import Vocabulary
from genrst.rnng.finder import RnngModel, load_rnng
from genrst.storage import PARSER


def main(words: Sequence[str] | None = None) -> None:
    """Load the model and write the folder."""
    parser = start_parser(__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--beam", type=int, default=10)
    parser.add_argument("--word-weight", type=float, default=0.5)
    parser.add_argument("--temperature", type=float, default=1.0, help="temperature of a chart (default: 1)")
    parser.add_argument("--precision", choices=get_args(Precision), default="int8")
    parser.add_argument("--words", type=int, help="keep only the N most frequent words")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if read_kind(arguments.model) == "chart":
        save_model(load_chart(arguments.model), arguments.output, arguments.precision)
        _write_settings(arguments, {"temperature": arguments.temperature})
        return
    model = load_rnng(arguments.model)
    if arguments.words:
        model = with_fewer_words(model, arguments.words)
    save_model(model, arguments.output, arguments.precision)
    _write_settings(arguments, {"search": "bag", "beam": arguments.beam, "word_weight": arguments.word_weight})


def _write_settings(arguments: argparse.Namespace, changes: dict[str, object]) -> None:
    """Write the parser settings; those for preparing texts are the model's own."""
    settings = asdict(read_parser_config(arguments.model)) | {"name": arguments.name} | changes
    write_atomically(arguments.output / PARSER, json.dumps(settings, indent=1) + "\n")


def with_fewer_words(model: RnngModel, n_words: int) -> RnngModel:
    """Return the model without its rarest words, which become unknown; words that it generates must be kept."""
    embeddings, language_model = model.network.embeddings, model.network.language_model
    if language_model is not None and n_words < language_model.outputs.stop:
        raise UsageError(
            f"--words must be at least {language_model.outputs.stop}, the number of generated words, got {n_words}"
        )
    embeddings.weight = torch.nn.Parameter(embeddings.weight[:n_words].detach().clone())
    embeddings.num_embeddings = len(embeddings.weight)
    words = Vocabulary(model.symbols.words.symbols[:n_words])
    return replace(model, symbols=replace(model.symbols, words=words))


if __name__ == "__main__":
    main()
