"""Correct trees in the browser: the page of genrst serve for the local files of one annotator.

  genrst annotate news.txt
  genrst annotate corpus/ --model CHART
  genrst annotate news.rs3 other.rs3 --no-browser --port 8000

Files with trees (.rs3, .rs4, .dis, .json) are saved in place. Texts (.txt, .md) and EDUs (.edus) are parsed first and
saved as NAME.json beside the file, which is opened the next time. A save is atomic. The first one keeps a backup beside
the file, NAME.rs3.bak, which is never overwritten. If another program has changed the file, you are asked before it is
overwritten. The files with the least certain trees come first if the model is a chart parser, which knows how certain
it is. Only this machine can reach the page, and no data leaves it.
"""

import argparse
import logging
import secrets
import webbrowser
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from genrst.cli.console import Failures
from genrst.cli.inputs import list_texts, tell_left_out
from genrst.cli.verbs.serve import add_max_edus_argument, add_models_arguments, check_numbers, serve
from genrst.errors import InputError, UsageError
from genrst.formats.files import TEXT_SUFFIXES
from genrst.io import tell

if TYPE_CHECKING:
    from genrst.serve.files import Files

LIMITS = {"max_bytes": 50_000_000, "max_queue": 64, "max_wait": 600.0, "batch": 16}
"""Generous, because a save that is refused may be an hour's work."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst annotate`."""
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="files, or folders of them")
    parser.add_argument("--port", type=int, default=0, help="the port of the page (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address of the page")
    add_models_arguments(parser)
    add_max_edus_argument(parser.add_argument_group("limits"))
    parser.set_defaults(host="127.0.0.1", **LIMITS)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page."""
    check_numbers(arguments)
    from genrst.serve.middleware import Access

    files = open_files(arguments.inputs)
    # Other users of this machine can reach the port, but do not know the key.
    key = secrets.token_urlsafe()
    on_start = (lambda address: None) if arguments.no_browser else _open_browser
    serve(arguments, Access(key=key), files, logging.WARNING, on_start)
    return 0


def open_files(inputs: list[str]) -> "Files":
    """Return the files to annotate. A named file must be readable; unreadable files in folders are only reported."""
    from genrst.serve.files import Files

    files, failures = Files(), Failures()
    for path in map(Path, inputs):
        if not path.is_dir():
            files.add(path)
            continue
        listing = list_texts(path)
        tell_left_out(listing)
        if not listing.files:
            raise InputError(f"{path}: a folder must hold files ({', '.join(TEXT_SUFFIXES)}), was: none")
        for one in listing.files:
            with failures.reported():
                files.add(one)
    if not len(files):
        raise UsageError("there must be a file to annotate, was: none that can be read")
    for file in files:
        if text := file.text_beside:
            tell(f"{text}: opened as {file.path.name}, which was saved beside it earlier")
    return files


def _open_browser(address: str) -> None:
    """Open the page in a thread, because some browsers block until they are closed."""
    Thread(target=webbrowser.open, args=[address], daemon=True).start()
