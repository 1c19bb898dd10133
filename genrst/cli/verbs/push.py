"""Publish a model on the Hugging Face Hub, and print the name to load it by.

  genrst push runs/paper/model ANNA/my-parser --license cc-by-4.0
  genrst push runs/paper/model ANNA/my-parser --private

FOLDER is the folder of a model. The repository is created if it does not exist; if it does, it gets one more commit,
and files that the model does not have are removed from it. A repository that holds anything but a model is left alone.
The card (README.md) is published with the settings that the Hub reads: licence, language, library and tags.

The token is that of huggingface_hub: run hf auth login, or set HF_TOKEN.
"""

import argparse

from genrst.cli.console import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst push`."""
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a model")
    parser.add_argument("repository", metavar="USER/NAME", help="the repository on the Hub")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument("--license", metavar="ID", help="the licence, if the card names none: cc-by-4.0, mit, …")
    parser.add_argument(
        "--language", metavar="CODE", default="en", help="the language, if the card names none (default: en)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Publish and print."""
    from genrst.parser.folders import find_model
    from genrst.parser.push import push

    name = push(
        find_model(arguments.folder),
        arguments.repository,
        private=arguments.private,
        license=arguments.license,
        language=arguments.language,
    )
    show(name)
    return 0
