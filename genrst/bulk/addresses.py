"""The input files of a bulk run: resolving files, folders and patterns, and reporting which files are left out.

Addresses are paths and URLs of fsspec (`texts/`, `*.parquet`, `s3://…`). Hidden files in folders are ignored.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genrst.errors import InputError, MissingDependencyError
from genrst.formats.files import RAW_SUFFIXES, TREE_SUFFIXES

LINES = (".jsonl", ".jsonl.gz")
TABLES = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc"}
SUFFIXES = (*LINES, *TABLES, *(one for one in TREE_SUFFIXES if one not in LINES), ".edus", *RAW_SUFFIXES)
"""The suffixes of input files. Of several files with the same stem, the first suffix in this order is read."""

MANIFEST, INPUTS = "manifest.json", "inputs.jsonl"
"""The two files by which a folder of results is recognised."""
NOTES = ".genrst-outputs"
"""The hidden file in which other verbs note their outputs (`genrst.cli.guard`)."""


@dataclass(frozen=True, slots=True)
class Found:
    """The files that addresses resolve to."""

    addresses: Sequence[str]
    """Files, sorted and without duplicates."""
    left_out: Mapping[str, str]
    """Files that are not read, with the reason."""


def find_files(inputs: Sequence[str]) -> Found:
    """Resolve the addresses of files, folders and patterns (`*`)."""
    addresses: list[str] = []
    left_out: dict[str, str] = {}
    for address in inputs:
        chosen, others = _expand(address)
        addresses += chosen
        left_out |= others
    read = set(addresses)
    return Found(list(dict.fromkeys(addresses)), {name: why for name, why in left_out.items() if name not in read})


def _expand(address: str) -> tuple[list[str], dict[str, str]]:
    files, path = file_system(address)
    try:
        if files.isdir(path):
            chosen, left_out = _choose(files, path)
        elif any(character in address for character in "*?["):
            found = sorted(files.glob(path))
            chosen = [one for one in found if files.isfile(one)]
            left_out = {one: "not a regular file" for one in found if not files.isfile(one) and not files.isdir(one)}
        else:
            return [address], {}
    except OSError as error:
        raise InputError(f"{address}: {error.strerror or error}") from error
    if not chosen:
        but = f"; {describe(left_out)}" if left_out else ""
        raise InputError(f"{address}: no files to parse (looked for {', '.join(SUFFIXES)}){but}")
    if "://" in address:
        named = files.unstrip_protocol
        return [named(one) for one in chosen], {named(one): why for one, why in left_out.items()}
    return chosen, left_out


def _choose(files: Any, folder: str) -> tuple[list[str], dict[str, str]]:  # noqa: ANN401
    """Return the files of a folder that are read, and for the others the reason why not."""
    facts = files.find(folder, detail=True)
    paths = [path for path in facts if not _is_hidden(path, folder)]
    results = _results(paths)
    left_out, known = dict[str, str](), list[str]()
    for path in paths:
        if any(path.startswith(f"{place}/") for place in results):
            left_out[path] = "results of a bulk run"
        elif suffix_of(path) not in SUFFIXES:
            left_out[path] = "unknown format"
        elif facts[path]["type"] != "file" and not files.isfile(path):
            left_out[path] = "not a regular file"
        else:
            known.append(path)
    outputs = {path for place in {_parent(path) for path in known} for path in _noted(files, place)}
    by_stem: dict[str, str] = {}
    # Outputs sort after the texts that they were made from.
    for path in sorted(known, key=lambda path: (path in outputs, SUFFIXES.index(suffix_of(path)), path)):
        stem = path[: -len(suffix_of(path))]
        if stem in by_stem:
            what = "output of genrst for" if path in outputs else "same name as"
            left_out[path] = f"{what} {Path(by_stem[stem]).name}"
        by_stem.setdefault(stem, path)
    return sorted(by_stem.values()), left_out


def _results(paths: Sequence[str]) -> list[str]:
    """Return the folders that hold the results of a bulk run."""
    marks = Counter(_parent(path) for path in paths if path.rpartition("/")[2] in (MANIFEST, INPUTS))
    return [place for place, count in marks.items() if count == 2]


def _noted(files: Any, folder: str) -> set[str]:  # noqa: ANN401
    """Return the outputs of other verbs in a folder."""
    try:
        lines = files.cat_file(f"{folder}/{NOTES}").decode("utf-8", "replace").splitlines()
    except OSError:
        return set()
    names = set()
    for line in lines:
        with suppress(LookupError, RecursionError, TypeError, ValueError):
            names.add(f"{folder}/{json.loads(line)[2]}")
    return names


def describe(left_out: Mapping[str, str], most: int = 10) -> str:
    """Describe the files that are left out in one line."""
    named = [f"{name} ({why})" for name, why in sorted(left_out.items())[:most]]
    named += [f"and {len(left_out) - most} more"] if len(left_out) > most else []
    n_files = f"{len(left_out)} file{'' if len(left_out) == 1 else 's'}"
    return f"{n_files} left out: {', '.join(named)}"


def _is_hidden(path: str, folder: str) -> bool:
    return any(part.startswith(".") for part in Path(path[len(folder) :]).parts)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def suffix_of(address: str) -> str:
    """Return the suffix that determines how a file is read, such as `.jsonl.gz`."""
    name = address.lower()
    return ".jsonl.gz" if name.endswith(".jsonl.gz") else Path(name).suffix


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingDependencyError("bulk runs need fsspec: pip install 'genrst[bulk]'") from error
    try:
        files, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise MissingDependencyError(f"{address}: {error}") from error
    return files, path
