"""Collections with poison in them, a pipeline of spaCy that obeys it, and results without what the clock says."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from genrst.bulk.engines import Missed, _do
from genrst.bulk.inputs import Unit
from genrst.bulk.parts import Part
from genrst.bulk.work import TABLES, Rows, Settings, make_batches, work
from genrst.parser.parser import Parser
from tests.parser.samples import WORDS, write_parser

PIPELINE = '''
import os, signal, spacy
from spacy.language import Language

@Language.component("syntax")
def syntax(doc):
    """Every word depends on the first; some words are poison."""
    if "CRASH" in doc.text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "FAIL" in doc.text:
        doc[1 // 0]
    while "ENDLESS" in doc.text:
        pass
    for token in doc:
        token.head, token.dep_, token.tag_ = doc[0], "ROOT" if token.i == 0 else "dep", "X"
    return doc

def load(**settings):
    pipeline = spacy.blank("en")
    pipeline.add_pipe("syntax")
    return pipeline
'''


def write_pipeline(folder: Path) -> str:
    """A package of a pipeline in a folder that has to be on the path."""
    (folder / "poisoned").mkdir(parents=True)
    (folder / "poisoned" / "__init__.py").write_text(PIPELINE)
    (folder / "poisoned-1.0.dist-info").mkdir()
    (folder / "poisoned-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: poisoned\nVersion: 1.0\n")
    return "poisoned"


def write_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model that annotates by that pipeline."""
    repository = Path(__file__).parents[2]
    path = [str(folder / "packages"), str(repository), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
    name = write_pipeline(folder / "packages")
    return write_parser(folder / "model", pipeline=name, beam=2)


class InProcess:
    """A worker without a process of its own, for tests of all that is around it."""

    def __init__(self, parser: Parser, settings: Settings) -> None:
        self.parser, self.settings = parser, settings

    def do(self, unit: Unit) -> Rows:
        rows = Rows()
        for batch in make_batches(unit.records):
            rows.add(work(self.parser, batch, self.settings))
        rows.sort()
        return rows


def run_here(parser: Parser) -> Callable[..., Iterator[Part | Missed]]:
    """In the place of `run_units`."""
    return lambda units, settings, format, plan: (_do(InProcess(parser, settings), unit, format) for unit in units)  # type: ignore[arg-type]


def sentence(number: int) -> str:
    """A short text that differs from all others."""
    return " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 4 + number % 9)) + f" {number}."


POISON: dict[int, dict[str, Any]] = {
    11: {"text": "It will CRASH here."},
    111: {"text": "It is ENDLESS here."},
    211: {"text": "too long " * 2000},
    311: {"text": 5},
    411: {"text": "   "},
    511: {"text": "It will FAIL here."},
}
"""What stands in the place of every 600 documents' numbers, one in a hundred."""

KINDS = {11: "crash", 111: "time", 211: "length", 311: "input", 411: "parse", 511: "parse"}


def write_lines(path: Path, n_documents: int) -> None:
    """A collection in JSON lines, with poison in it."""
    rows = ({"id": f"d{n}", "text": sentence(n), **POISON.get(n % 600, {})} for n in range(n_documents))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def content(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of all parts, by file."""
    return dict(_tables(folder))


def _tables(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for table in TABLES:
        for path in sorted((folder / table).glob("*")):
            if path.suffix == ".parquet":
                rows = pyarrow.parquet.read_table(path).to_pylist()
            else:
                rows = [json.loads(line) for line in path.read_text().splitlines()]
            yield f"{table}/{path.stem}", [_timeless(row) for row in rows]


def _timeless(row: dict[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if name != "seconds"}


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, of all parts."""
    return [row for name, rows in content(folder).items() if name.startswith(table) for row in rows]
