"""Correct trees in a browser: the page of genrst serve for the local files of one annotator.

  genrst annotate news.txt
  genrst annotate corpus/ --model CHART
  genrst annotate news.rs3 other.rs3 --no-browser --port 8000
  genrst annotate ann/ --against bob/ --output gold/

Files with trees (.rs3, .rs4, .dis, .json) are saved in place. Texts (.txt, .md) and EDUs (.edus) are parsed first and
saved as NAME.json beside the file; the next time, that file is opened. Saving is atomic. The first save keeps a backup,
NAME.rs3.bak, which is never overwritten. If another program has changed the file, you see the difference, and both
versions are kept. Unsaved edits are kept as drafts in .genrst/ beside the files and survive a crash. Only one annotate
process can have a folder open. Unfinished files are listed first; with a chart parser, the least certain trees come
before the others. The page can be reached only from this machine, and no data leaves it.

A file genrst.toml in the folder holds the relations and the guidelines of your project. The state of each file (done,
flagged) is kept in .genrst/ beside the files. With --against, you see two annotators side by side, with their
agreement. With --output, you also decide, unit by unit, who is right, and the result is written to a third folder.
"""

import argparse
import logging
import secrets
import socket
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from genrst.cli.console import Failures, counted
from genrst.cli.inputs import list_texts, tell_left_out
from genrst.cli.verbs.serve import add_max_edus_argument, add_models_arguments, check_numbers, serve
from genrst.errors import InputError, UsageError
from genrst.formats.files import TEXT_SUFFIXES, TREE_SUFFIXES
from genrst.io import tell

if TYPE_CHECKING:
    from genrst.serve.annotation.files import Files
    from genrst.serve.annotation.folder import Folder
    from genrst.serve.annotation.pairs import Pairs

LIMITS = {"max_bytes": 50_000_000, "max_queue": 64, "max_wait": 600.0, "max_seconds": 600.0, "batch": 16, "proxy": None}
"""Generous limits, because a refused save could lose an hour's work."""


PORT = 8765
"""Always the same port, because browsers store settings and drafts by address."""
_MOST_PORTS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst annotate`."""
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="files, or folders of them")
    parser.add_argument(
        "--against", metavar="FOLDER", help="compare with a second annotator's folder and show the agreement"
    )
    parser.add_argument("--output", metavar="FOLDER", help="write adjudicated files to this folder (with --against)")
    parser.add_argument(
        "--labels",
        choices=("coarse", "fine"),
        default="coarse",
        help="granularity of relations in the agreement (default: coarse)",
    )
    parser.add_argument(
        "--project", metavar="FILE", help="file with relations and guidelines (default: genrst.toml in the folder)"
    )
    parser.add_argument(
        "--port", type=int, help=f"port of the page; 0: any free port (default: {PORT}, or the next free one)"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address of the page instead of opening it")
    add_models_arguments(parser)
    add_max_edus_argument(parser.add_argument_group("limits"))
    parser.set_defaults(host="127.0.0.1", **LIMITS)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page."""
    arguments.port = free_port() if arguments.port is None else arguments.port
    check_numbers(arguments)
    from genrst.serve.annotation.drafts import folder_lock

    folder = open_folder(arguments)
    with ExitStack() as stack:
        for one in folder.written:
            stack.enter_context(folder_lock(one))
        _serve(arguments, folder)
    return 0


def _serve(arguments: argparse.Namespace, folder: "Folder") -> None:
    from genrst.serve.middleware import Access

    # Other users of this machine can reach the port, but do not know the key.
    key = secrets.token_urlsafe()
    on_start = (lambda address: None) if arguments.no_browser else _open_browser
    serve(arguments, Access(key=key), folder.files, logging.WARNING, on_start, folder)


def free_port() -> int:
    """Return the usual port or, if it is taken, one of the next; 0 if all are taken."""
    for port in range(PORT, PORT + _MOST_PORTS):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    return 0


def open_folder(arguments: argparse.Namespace) -> "Folder":
    """Return the files to annotate, or the pairs of two annotators, and the project."""
    from genrst.serve.annotation.files import Files
    from genrst.serve.annotation.folder import Folder
    from genrst.serve.annotation.project import find_project

    first = Path(arguments.inputs[0])
    project = find_project(first if first.is_dir() else first.parent, _path(arguments.project))
    if arguments.against is None:
        if arguments.output is not None:
            raise UsageError("--output works only with --against")
        return Folder(open_files(arguments.inputs), project)
    return Folder(Files(), project, open_pairs(arguments))


def open_pairs(arguments: argparse.Namespace) -> "Pairs":
    """Return the files that two folders have in common, and report the others."""
    from genrst.serve.annotation.pairs import Pairs, make_folder

    if len(arguments.inputs) != 1:
        raise UsageError(f"--against compares with one folder, got {len(arguments.inputs)} files or folders")
    folders, output = (Path(arguments.inputs[0]), Path(arguments.against)), _path(arguments.output)
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder}: not a folder; --against compares two folders")
        if output is not None and output.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"--output must be outside the folders of the annotators, got {output}")
    if folders[0].resolve() == folders[1].resolve():
        raise UsageError(f"--against must name a different folder, got {folders[1]}")
    has_same_name = folders[0].name == folders[1].name
    first, second = (str(folder) if has_same_name else folder.name for folder in folders)
    left, right = map(_tree_files, folders)
    pairs = Pairs(left, right, output, arguments.labels, (first, second))
    if output is not None:
        make_folder(output)  # so that it can be locked
    for name, alone in zip((first, second), pairs.alone.values(), strict=True):
        if alone:
            shown = ", ".join(alone[:5]) + (", …" if len(alone) > 5 else "")
            tell(f"{counted(len(alone), 'file')} only in {name}, left out: {shown}")
    return pairs


def _tree_files(folder: Path) -> dict[str, Path]:
    """Return the files with trees below a folder, by their paths without the suffix."""
    found = (path for path in list_texts(folder).files if path.suffix.lower() in TREE_SUFFIXES)
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def open_files(inputs: list[str]) -> "Files":
    """Return the files to annotate. A named file must be readable; unreadable files in folders are just reported."""
    from genrst.serve.annotation.files import Files

    files, failures = Files(), Failures()
    for path in map(Path, inputs):
        if not path.is_dir():
            files.add(path)
            continue
        listing = list_texts(path)
        tell_left_out(listing)
        if not listing.files:
            raise InputError(f"{path}: no files to annotate in this folder (looked for {', '.join(TEXT_SUFFIXES)})")
        for one in listing.files:
            with failures.reported():
                files.add(one)
    if not len(files):
        raise UsageError("no files to annotate: none of them can be read")
    for file in files:
        if text := file.text_beside:
            tell(f"{text}: opening {file.path.name}, which an earlier run saved beside it")
    return files


def _open_browser(address: str) -> None:
    """Open the page in a thread, because some browsers block until they are closed."""
    Thread(target=webbrowser.open, args=[address], daemon=True).start()
