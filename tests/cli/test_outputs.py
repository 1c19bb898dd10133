"""Folders of outputs: a document that cannot have a file is named, and all others are written."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.cli.guard import Guard
from genrst.document import Document
from genrst.formats.files import write_documents
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call, names

DOCUMENT = Document.from_edus("moths", ["Moths sleep", "by day."], Unit("contrast", "NN", (Leaf(0), Leaf(1))))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_ids(path: Path, *ids: str) -> None:
    write_documents([replace(DOCUMENT, id=id) for id in ids], path)


@pytest.mark.parametrize("verb", ["convert", "render"])
def test_one_bad_id_loses_no_other_document(folder: Path, capsys: pytest.CaptureFixture[str], verb: str):
    long, suffix = "x" * 300, "dis" if verb == "convert" else "svg"
    write_ids(folder / "ids.jsonl", "one", "two", "one", "three", long, "a/b", "a_b", "One", "four", "")
    outcome = call(capsys, verb, "ids.jsonl", "out", "--to", suffix)
    assert outcome.status == 1
    assert names(folder / "out") == sorted(
        f"{name}.{suffix}" for name in ("one", "two", "three", "a_b", "One", "four", "document")
    )
    assert outcome.messages == [
        f"genrst: ids.jsonl: one and ids.jsonl: one would both become out/one.{suffix}",
        f"genrst: out/{long}.{suffix}: cannot be written: File name too long",
        f"genrst: ids.jsonl: a/b and ids.jsonl: a_b would both become out/a_b.{suffix}",
    ]
    # The same again.
    assert call(capsys, verb, "ids.jsonl", "out", "--to", suffix) == outcome


def test_names_that_are_one_to_the_system(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Where large and small letters are one, as on most Macs: here a second name of each file plays that part."""
    write = Guard.write

    def write_twice(self: Guard, path: Path, content: bytes) -> None:
        write(self, path, content)
        os.link(path, path.with_stem(path.stem.swapcase()))

    monkeypatch.setattr(Guard, "write", write_twice)
    write_ids(folder / "ids.jsonl", "one", "ONE", "two")
    outcome = call(capsys, "convert", "ids.jsonl", "out", "--to", "dis")
    assert (outcome.status, outcome.messages) == (
        1,
        ["genrst: ids.jsonl: one and ids.jsonl: ONE would both become out/ONE.dis"],
    )
    assert names(folder / "out") == ["ONE.dis", "TWO.dis", "one.dis", "two.dis"]


def test_ids_command_no_terminal_as_names_of_files(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_ids(folder / "ids.jsonl", "a\x1b]0;evil\x07\x9b\u202e\u2028b", "中文 é.x")
    assert call(capsys, "convert", "ids.jsonl", "out", "--to", "dis").status == 0
    assert names(folder / "out") == ["a_]0;evil____b.dis", "中文 é.x.dis"]
