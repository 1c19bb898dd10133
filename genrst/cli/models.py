"""Models on the command line: the arguments that choose a parser, and loading it."""

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
    """Add the arguments that choose a parser, and return their group."""
    group = parser.add_argument_group(title)
    group.add_argument(
        "--model",
        metavar="NAME|DIR|hf:…",
        help=f"an installed model, a folder or hf:USER/NAME@COMMIT (default: {DEFAULT_MODEL})",
    )
    group.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="default: auto")
    group.add_argument(
        "--pipeline", metavar="NAME", help="a spaCy pipeline (default: the model's, or the best one installed)"
    )
    return group


def add_search_arguments(parser: "argparse._ActionsContainer") -> None:
    """Add the search options."""
    parser.add_argument(
        "--search", choices=get_args(Search), help="search algorithm; mbr and best are for chart parsers"
    )
    parser.add_argument("--beam", type=int, metavar="K", help="number of hypotheses to keep")
    parser.add_argument(
        "--word-weight",
        type=float,
        metavar="W",
        help="weight of words when hypotheses are compared; 1: joint probability",
    )


def add_tree_arguments(parser: "argparse._ActionsContainer") -> None:
    """Add the options for the shape and labels of trees."""
    parser.add_argument(
        "--keep-whole",
        "--whole",
        choices=get_args(KeepWhole),
        help="text units that the tree must not split (chart parsers keep sentences whole by default)",
    )
    parser.add_argument(
        "--relations",
        choices=get_args(Relations),
        help="granularity of a chart parser's relations (default: the model's)",
    )


def add_why_argument(parser: "argparse._ActionsContainer", effect: str) -> None:
    """Add --why, which finds signals and secondary edges; `effect` is its help."""
    parser.add_argument("--why", dest="signals", action="store_true", help=effect)


def load_options(arguments: argparse.Namespace) -> "LoadOptions":
    """Return the arguments as options of `genrst.load`."""
    from genrst.parser.options import LoadOptions

    names = [field.name for field in fields(LoadOptions) if hasattr(arguments, field.name)]
    return LoadOptions(**{name: getattr(arguments, name) for name in names})


def load_parser(arguments: argparse.Namespace) -> "Parser":
    """Load the parser that the arguments choose."""
    with waiting(f"loading the model {arguments.model or DEFAULT_MODEL}"):
        options = load_options(arguments)
        from genrst.parser.loading import load_with, warn_of_options

        warn_of_options(arguments.model, options)
        return load_with(arguments.model, options)
