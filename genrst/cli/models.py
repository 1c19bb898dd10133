"""Parsers for verbs: the arguments that choose one, and loading it, with a line for those who wait."""

import argparse
from typing import TYPE_CHECKING, Any

from genrst.io import waiting
from genrst.parser.packages import DEFAULT_MODEL

if TYPE_CHECKING:
    from genrst.parser.parser import Parser


def add_model_arguments(parser: argparse.ArgumentParser, title: str = "model") -> "argparse._ArgumentGroup":
    """Add what chooses a parser; returns the group of these arguments."""
    group = parser.add_argument_group(title)
    group.add_argument("--model", metavar="NAME|DIR", help=f"an installed model or a folder (default: {DEFAULT_MODEL})")
    group.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda", "mps"))
    group.add_argument("--pipeline", metavar="NAME", help="a spaCy pipeline (default: the model's, or the best one)")
    return group


def load_parser(arguments: argparse.Namespace, **settings: Any) -> "Parser":  # noqa: ANN401
    """The parser that the arguments choose, with its spaCy pipeline; `settings` are further ones of `genrst.load`."""
    with waiting(f"loading the model {arguments.model or DEFAULT_MODEL}"):
        from genrst.parser.parser import load  # loads PyTorch

        return load(arguments.model, device=arguments.device, pipeline=arguments.pipeline, **settings)
