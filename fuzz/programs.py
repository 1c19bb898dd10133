"""The targets that use several files: inputs and results of bulk runs, command lines, and pages.

A case of a folder is a JSON object of file names and contents, with one character per byte.
"""

import contextlib
import gzip
import io
import json
import os
import random
import shutil
import sys
from argparse import Action
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import category
from unittest.mock import patch
from xml.parsers import expat

from fuzz import BrokenRuleError
from fuzz.models import scratch
from fuzz.mutate import ODD, as_json, change_bytes, change_data, change_gzip, change_lines, change_text, random_document
from genrst.bulk.addresses import find_files
from genrst.bulk.inputs import Choice, Columns, Source, make_units, read_records, scan_all
from genrst.bulk.parts import Folder, make_manifest, make_part
from genrst.bulk.work import Rows, Settings
from genrst.cli.main import VERBS, main, make_parser
from genrst.document import Document
from genrst.errors import CorpusFormatError, GenrstError
from genrst.formats.files import format_documents
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.outputs.chunks import chunks
from genrst.outputs.summary import summary_text
from genrst.outputs.tables import dependency_rows, unit_rows
from genrst.rendering.difference import render_difference_html, render_difference_svg
from genrst.rendering.page import render_html
from genrst.rendering.svg import render_svg
from genrst.rendering.terminal import render_text
from genrst.trees.node import Leaf, Unit

Files = Mapping[str, bytes]
Change = Callable[[random.Random, bytes], bytes]


def pack(files: Files) -> bytes:
    """Encode the files of a folder as a case."""
    return json.dumps({name: content.decode("latin-1") for name, content in files.items()}).encode()


def unpack(case: bytes) -> dict[str, bytes]:
    """Decode the files of a case."""
    try:
        return {name: content.encode("latin-1") for name, content in json.loads(case).items()}
    except (AttributeError, ValueError, RecursionError) as error:
        raise GenrstError("no folder") from error


@cache
def place() -> Path:
    """Return the folder where this process writes files."""
    return scratch("programs")


def write_folder(files: Files) -> Path:
    """Write the files to an empty folder."""
    folder = place() / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        try:
            if folder not in path.resolve().parents:
                raise GenrstError("not in the folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except (OSError, ValueError) as error:  # not a valid file name
            raise GenrstError(str(error)) from error
    return folder


# Bulk runs


def make_inputs(chance: random.Random) -> bytes:
    """Make files of a collection, most of them damaged, some with special names."""
    files = {}
    for _ in range(chance.choice([1, 2, 3, 6])):
        stem = chance.choice(["a", "b", "deep/a", "a.b", ".hidden", "manifest", "inputs", chance.choice(ODD)])
        suffix = chance.choice(
            [".jsonl", ".jsonl.gz", ".json", ".txt", ".md", ".dis", ".rs3", ".edus", ".parquet", ".x"]
        )
        files[stem + suffix] = _content(chance, suffix)
    if chance.random() < 0.2:
        files[".genrst-outputs"] = change_bytes(chance, as_json(["12", "parse", next(iter(files))]))
    return pack(files)


def _content(chance: random.Random, suffix: str) -> bytes:
    document = random_document(chance)
    if suffix == ".parquet":
        return change_bytes(chance, _table())
    if suffix.startswith(".jsonl"):
        rows = [document_to_dict(document), {"text": "It rained."}, {"id": 7, "text": document.text}]
        lines = b"".join(as_json(row) + b"\n" for row in rows[: chance.randint(0, 3)])
        change: Change = chance.choice([change_bytes, change_lines, _leave])
        if suffix == ".jsonl":
            return change(chance, lines)
        return change_gzip(chance, gzip.compress(lines, 1, mtime=0), change)
    with contextlib.suppress(GenrstError):
        content = format_documents([document], suffix).encode("utf-8", "surrogatepass")
        return change_bytes(chance, content) if chance.random() < 0.7 else content
    return (document.text or "").encode("utf-8", "surrogatepass")


def _leave(_: random.Random, content: bytes) -> bytes:
    return content


@cache
def _table() -> bytes:
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["It rained.", None], "id": [1, 2]}), file)
    return file.getvalue()


def check_inputs(case: bytes) -> None:
    """Check that every file is read or reported as left out, and that every document is returned or fails."""
    folder = write_folder(unpack(case))
    found = find_files([str(folder)])
    there = {path for path in folder.rglob("*") if path.is_file()}
    hidden = {path for path in there if any(part.startswith(".") for part in path.relative_to(folder).parts)}
    named = {Path(path) for path in (*found.addresses, *found.left_out)}
    if named != there - hidden or len(named) != len(found.addresses) + len(found.left_out):
        raise BrokenRuleError("a file is left out silently, or read twice")
    sources = scan_all(found.addresses, Columns())
    records = [record for unit in make_units(sources, Choice(part_documents=2)) for record in unit.records]
    backwards = [*reversed(records)]
    read = [list(read_records(some, Columns())) for some in (records, backwards)]
    if not len(records) == len(read[0]) == len(read[1]) == sum(len(source.starts) for source in sources):
        raise BrokenRuleError("a document is lost")
    if [type(one) for one in read[0]] != [type(one) for one in reversed(read[1])]:
        raise BrokenRuleError("documents depend on the order in which they are read")


SOURCES = [Source("a.txt", "", "12"), Source("b.txt", "", "34")]


@cache
def _finished_run() -> tuple[dict[str, object], dict[str, bytes]]:
    """Return the manifest and the files of a run with one part."""
    manifest = make_manifest(Settings("en-generative"), Choice(), "jsonl", SOURCES)
    path = scratch("run")
    folder = Folder(path, "jsonl")
    folder.claim(manifest, SOURCES)
    folder.write(
        make_part(0, Rows(errors=[{"document": 0, "id": "a", "source": "a.txt", "kind": "x", "reason": "y"}]), "jsonl")
    )
    files = {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    return json.loads(json.dumps(manifest)), files


def make_run(chance: random.Random) -> bytes:
    """Make the folder of a run with one damaged file."""
    _, files = _finished_run()
    name = chance.choice([*files, "manifest.json", "manifest.json"])
    content = files[name]
    if name == "manifest.json" and chance.random() < 0.7:
        new = as_json(change_data(chance, json.loads(content)))
    else:
        change: Change = chance.choice([change_bytes, change_lines, _leave])
        new = change(chance, content)
    return json.dumps([name, new.decode("latin-1")]).encode()


def check_run(case: bytes) -> None:
    """Check that a run continues only if its manifest is unchanged, and that damage is detected."""
    manifest, files = _finished_run()
    try:
        name, content = json.loads(case)
        damaged = {**files, name: content.encode("latin-1")}
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise GenrstError("no case") from error
    folder = Folder(write_folder(damaged), "jsonl")
    folder.claim(manifest, SOURCES)
    if json.loads(damaged["manifest.json"]) != manifest or damaged["inputs.jsonl"] != files["inputs.jsonl"]:
        raise BrokenRuleError("a damaged manifest is not detected")
    is_same = all(damaged[one] == files[one] for one in files if one.endswith("00000.jsonl"))
    if folder.find_damage(0) is None and not is_same:
        raise BrokenRuleError("a damaged part is not detected")


# Command lines

QUICK = [verb for verb in VERBS if verb not in ("annotate", "serve", "train")]
"""The verbs that terminate."""
VALUES = ["0", "-1", "1", "3", "0.5", "1e999", "nan", "9" * 30, "", "*", "[", "http://x", "50%", "gum", *ODD]
NAMES = [
    "a.json",
    "b.rs3",
    "c.dis",
    "d.txt",
    "e.jsonl",
    "missing.rs3",
    "folder",
    ".",
    "new",
    "new.svg",
    "new.json",
    "-",
]


@cache
def _arguments(verb: str) -> tuple[list[Action], int]:
    """Return the options of a verb, and the number of its positional arguments."""
    parsers = next(one for one in make_parser([verb])._actions if isinstance(one.choices, dict)).choices
    assert isinstance(parsers, dict)
    actions: list[Action] = parsers[verb]._actions
    return [one for one in actions if one.option_strings], sum(not one.option_strings for one in actions)


def make_line(chance: random.Random) -> bytes:
    """Make a verb with file names and options, some with odd values."""
    verb = chance.choice(QUICK)
    options, n_names = _arguments(verb)
    words = [chance.choice(NAMES) for _ in range(n_names if chance.random() < 0.9 else chance.randint(0, 3))]
    chosen = [one for one in options if one.required and chance.random() < 0.95]
    for option in [*chosen, *chance.choices(options, k=chance.choice([0, 0, 1, 1, 2, 4]))]:
        words += [option.option_strings[-1]]
        if option.nargs != 0 and chance.random() < 0.97:
            known = [*map(str, option.choices or NAMES)]
            words += [chance.choice(known if chance.random() < 0.8 else VALUES)]
    if chance.random() < 0.1:
        words.append(change_text(chance, "--output"))
    return as_json([verb, *words])


@cache
def _world() -> dict[str, bytes]:
    """Return the files that command lines name."""
    tree = Unit("joint", "NN", (Leaf(0), Unit("causal", "NS", (Leaf(1), Leaf(2)))))
    document = Document.from_edus("a", ["It rained,", "so we", "stayed in."], tree)
    documents = {"a.json": document, "b.rs3": document, "c.dis": document, "folder/a.json": document}
    files = {"d.txt": b"It rained.", "e.jsonl": b'{"text": "It rained."}\n', "folder/d.txt": b"It rained."}
    for name, one in documents.items():
        with contextlib.suppress(GenrstError):
            files[name] = format_documents([one], Path(name).suffix).encode()
    return files


def check_line(case: bytes) -> None:
    """Check that the program ends with a result or with one-line errors."""
    try:
        # Arguments as the operating system passes them: any bytes except 0.
        words = [os.fsdecode(str(word).encode("utf-8", "surrogatepass")) for word in json.loads(case)]
    except (TypeError, ValueError, RecursionError) as error:
        raise GenrstError("no command line") from error
    words = [word.replace("/", "").replace("..", "").replace("\0", "") for word in words]
    if not words or words[0] not in QUICK:
        raise GenrstError("no verb that ends")
    # Models are slow to load and have their own targets.
    has_model = any("--model" in option.option_strings for option in _arguments(words[0])[0])
    words += ["--model", "nowhere"] if has_model else []
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(b"It rained."))
    with (
        contextlib.chdir(write_folder(_world())),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        patch.object(sys, "stdin", given),
    ):
        try:
            status = main(words)
        except SystemExit as end:
            status = int(end.code or 0)
    errors.seek(0)
    lines = errors.read().splitlines()
    if status not in (0, 1, 2) or any(not line.startswith("genrst: ") for line in lines):
        raise BrokenRuleError(f"a command line has an unexpected exit status or output: {status}")
    if status and not lines:
        raise BrokenRuleError("a command line fails silently")
    if status:
        raise GenrstError(lines[-1])


# Pictures and pages


class _Page(HTMLParser):
    """Collects the active content of a page: scripts, external resources, event handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.n_scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check an element."""
        self.n_scripts += tag == "script"
        for name, value in attrs:
            is_outside = name in ("src", "href", "xlink:href", "action", "data") and not (value or "").startswith(
                ("#", "data:")
            )
            if name.startswith("on") or is_outside or tag in ("iframe", "object", "embed", "base", "form"):
                raise BrokenRuleError(f"a page has {tag} {name}")


@cache
def _n_scripts(kind: str) -> int:
    document = Document.from_edus("a", ["It rained."])
    page = _Page()
    page.feed(render_html(document) if kind == "tree" else render_difference_html(document, document))
    return page.n_scripts


def _check_page(kind: str, html: str) -> None:
    html.encode("utf-8")
    page = _Page()
    page.feed(html)
    if page.n_scripts != _n_scripts(kind):
        raise BrokenRuleError("a page has additional scripts")


def _pictures(document: Document, other: Document, is_compact: bool) -> Iterator[str]:
    yield render_svg(document, "compact" if is_compact else "classic")
    with contextlib.suppress(GenrstError):  # the texts differ
        yield render_difference_svg(document, other, "fine" if is_compact else "coarse")


def make_pair(chance: random.Random) -> bytes:
    """Make two documents, usually of the same text, with random names and labels."""
    data = document_to_dict(random_document(chance))
    other = change_data(chance, data) if chance.random() < 0.5 else data
    return as_json([change_data(chance, data) if chance.random() < 0.2 else data, other])


def check_pair(case: bytes) -> None:
    """Check that pictures are well-formed, and that no document can inject scripts or terminal escapes."""
    try:
        first, second = json.loads(case)
    except (TypeError, ValueError, RecursionError) as error:
        raise GenrstError("no pair") from error
    document, other = (document_from_dict(data, Path("case.json")) for data in (first, second))
    for svg in _pictures(document, other, is_compact=len(case) % 2 == 0):
        expat.ParserCreate().Parse(svg, True)
    _check_page("tree", render_html(document))
    with contextlib.suppress(GenrstError):
        _check_page("difference", render_difference_html(document, other))
    for width in (1, 20, 200):
        if any(category(one) == "Cc" and one != "\n" for one in render_text(document, width)):
            raise BrokenRuleError("a drawing for the terminal contains a control character")
    if document.tree is None or document.text is None:
        raise CorpusFormatError("without a tree or a text")
    if len(unit_rows(document)) < len(document.edus) or len(dependency_rows(document)) != len(document.edus):
        raise BrokenRuleError("an EDU is missing from a table")
    summary_text(document)
    covered = [number for chunk in chunks(document, 1 + len(case) % 50) for number in range(*chunk.edus)]
    if covered != list(range(len(document.edus))):
        raise BrokenRuleError("an EDU is in no chunk or in two")
