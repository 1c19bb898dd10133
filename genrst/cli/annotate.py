"""Correct trees in the browser: the page of genrst serve, on files of this machine, for one annotator.

  genrst annotate news.txt
  genrst annotate corpus/ --model CHART
  genrst annotate news.rs3 other.rs3 --no-browser --port 8000

Files with trees (.rs3, .rs4, .dis, .json) are opened as they are and saved to themselves; texts (.txt, .md) and EDUs
(.edus) are parsed first, and saved as NAME.json beside them, which is opened the next time. A save is all or nothing.
The first one leaves a backup beside the file, NAME.rs3.bak, which is never replaced, and a file that another program
has changed meanwhile is not overwritten unasked. Of several files the parser's least certain trees come first, if the
model has a chart and knows how certain it is. Only this machine can reach the page, and nothing leaves it.
"""

import argparse
import logging
import secrets
import webbrowser
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from genrst.cli.console import Failures
from genrst.cli.inputs import text_files
from genrst.cli.serve import add_max_edus_argument, add_models_arguments, check_numbers, serve
from genrst.errors import InputError, UsageError
from genrst.formats.files import TEXT_SUFFIXES
from genrst.io import tell

if TYPE_CHECKING:
    from genrst.serve.files import Files

LIMITS = {"max_bytes": 50_000_000, "max_queue": 64, "max_wait": 600.0, "batch": 16}
"""Whoever works on own files is not to be turned away: a save that is refused may be an hour's work."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst annotate`."""
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="files, or folders of them")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address of the page")
    add_models_arguments(parser)
    add_max_edus_argument(parser.add_argument_group("limits"))
    parser.set_defaults(host="127.0.0.1", **LIMITS)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until told to stop."""
    check_numbers(arguments)
    from genrst.serve.security import Access

    files = open_files(arguments.inputs)
    # Whoever else works on this machine can reach the port, but does not know the key.
    key = secrets.token_urlsafe()
    notice = (lambda address: None) if arguments.no_browser else _open_browser
    serve(arguments, Access(key=key), files, logging.WARNING, notice)
    return 0


def open_files(inputs: list[str]) -> "Files":
    """The files to annotate. One that was named must be readable; one that was found in a folder may be left out."""
    from genrst.serve.files import Files

    files, failures = Files(), Failures()
    for path in map(Path, inputs):
        if not path.is_dir():
            files.add(path)
            continue
        found = text_files(path)
        if not found:
            raise InputError(f"{path}: a folder must hold files ({', '.join(TEXT_SUFFIXES)}), was: none")
        for one in found:
            with failures.reported():
                files.add(one)
    if not len(files):
        raise UsageError("there must be a file to annotate, was: none that can be read")
    for file in files:
        if text := file.text_beside:
            tell(f"{text}: opened as {file.path.name}, which was saved beside it earlier")
    return files


def _open_browser(address: str) -> None:
    """Open the page, which waits until the service answers; some browsers do not come back before they are closed."""
    Thread(target=webbrowser.open, args=[address], daemon=True).start()
