"""The arguments by which several verbs choose documents of a corpus."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genrst.corpora.corpus import Corpus


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them to a verb."""
    group = parser.add_argument_group("choosing documents")
    group.add_argument(
        "--corpus", metavar="NAME", help="gum, rstdt, amalgum or files (default: by the folder's layout)"
    )
    group.add_argument("--split", metavar="NAME", help="train, dev or test (default: all documents)")
    group.add_argument("--gum-version", metavar="V", default="11.1", help="list of splits: 11.1 (default) or 9.1")
    group.add_argument("--with-textless", action="store_true", help="include GUM documents whose words are missing")
    add_roots_argument(group)


def add_roots_argument(parser: "argparse._ActionsContainer") -> None:
    """Add the argument that says what to do with files of several trees."""
    parser.add_argument(
        "--roots", choices=("error", "join"), default="error", help="a file of several trees: an error, or join them"
    )


def open_corpus(path: str, arguments: argparse.Namespace) -> "Corpus":
    """Open the corpus that the arguments choose."""
    from genrst.corpora.corpus import load_corpus

    return load_corpus(
        path,
        arguments.corpus,
        arguments.split,
        version=arguments.gum_version,
        with_textless=arguments.with_textless,
        roots=arguments.roots,
    )
