"""The parsers that verbs read texts with: the arguments that choose one, and loading it."""

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, get_args

from genrst.cli.console import waiting
from genrst.parser import DEFAULT_MODEL, Relations, Search
from genrst.trees.constraints import KeepWhole

if TYPE_CHECKING:
    from genrst.parser.options import LoadOptions
    from genrst.parser.parser import Parser


def add_model_arguments(parser: argparse.ArgumentParser, title: str = "model") -> "argparse._ArgumentGroup":
    """Add what chooses a parser; returns the group of these arguments."""
    group = parser.add_argument_group(title)
    group.add_argument(
        "--model",
        metavar="NAME|DIR|hf:…",
        help=f"an installed model, a folder or hf:USER/NAME@COMMIT (default: {DEFAULT_MODEL})",
    )
    group.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda", "mps"))
    group.add_argument("--pipeline", metavar="NAME", help="a spaCy pipeline (default: the model's, or the best one)")
    return group


def add_search_arguments(parser: "argparse._ActionsContainer") -> None:
    """Add how trees are found."""
    parser.add_argument("--search", choices=get_args(Search))
    parser.add_argument("--beam", type=int, metavar="K", help="how many hypotheses are kept")
    parser.add_argument("--word-weight", type=float, metavar="W", help="of words in comparisons; 1: joint probability")


def add_tree_arguments(parser: "argparse._ActionsContainer") -> None:
    """Add what trees are like."""
    parser.add_argument(
        "--keep-whole",
        "--whole",
        choices=get_args(KeepWhole),
        help="what trees do not cut (default: sentences in a chart, else nothing)",
    )
    parser.add_argument(
        "--relations", choices=get_args(Relations), help="how finely a chart names relations (default: as it says)"
    )


def add_why_argument(parser: "argparse._ActionsContainer", effect: str) -> None:
    """Add that signals and secondary edges are found, and what becomes of them."""
    parser.add_argument("--why", dest="signals", action="store_true", help=effect)


def load_options(arguments: argparse.Namespace) -> "LoadOptions":
    """The options of `genrst.load` that the arguments give."""
    from genrst.parser.options import LoadOptions

    names = [field.name for field in fields(LoadOptions) if hasattr(arguments, field.name)]
    return LoadOptions(**{name: getattr(arguments, name) for name in names})


def load_parser(arguments: argparse.Namespace) -> "Parser":
    """The parser that the arguments choose."""
    with waiting(f"loading the model {arguments.model or DEFAULT_MODEL}"):
        options = load_options(arguments)
        from genrst.parser.loading import load_with, warn_of_options

        warn_of_options(arguments.model, options)
        return load_with(arguments.model, options)
