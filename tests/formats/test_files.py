"""Reading and writing by suffix: every format, folders, and files that are all there or not at all."""

import os
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document
from genrst.errors import (
    CorpusFormatError,
    CorpusNotFoundError,
    CorpusWarning,
    GenrstError,
    InputError,
    OutputError,
    UsageError,
)
from genrst.formats.files import (
    READABLE,
    WRITABLE,
    format_documents,
    read,
    read_content,
    read_documents,
    write,
    write_documents,
)
from genrst.io import write_atomically, write_atomically_with
from genrst.trees.node import Leaf, Unit
from tests.strategies import documents

TREE = Unit("contrast", "NN", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))
DOCUMENT = Document.from_edus("kites", ["Kites rise ,", "they say ,", "in any wind ."], TREE, {1})
BOTH_WAYS = [suffix for suffix in READABLE if suffix in WRITABLE]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [*BOTH_WAYS, *(suffix.upper() for suffix in BOTH_WAYS)])
def test_what_is_written_is_read(tmp_path: Path, suffix: str):
    path = tmp_path / f"kites{suffix}"
    write(DOCUMENT, str(path))
    document = read(str(path))
    assert (document.id, document.edu_texts) == ("kites", DOCUMENT.edu_texts)
    assert document.tree == (None if suffix.lower() == ".edus" else TREE)
    assert read(path, with_tree=False).tree is None
    assert names(tmp_path) == [path.name]


@given(documents())
def test_json_keeps_everything(document: Document):
    for suffix in (".json", ".jsonl"):
        content = format_documents([document], suffix).encode("utf-8", "surrogatepass")
        assert read_content(content, Path(f"random{suffix}")) == [document]


def test_formats_of_one_way(tmp_path: Path):
    write(DOCUMENT, tmp_path / "kites.rsd")
    with pytest.raises(UsageError, match=r"kites\.rsd: \.rsd files can be written, but not read"):
        read(tmp_path / "kites.rsd")
    (tmp_path / "kites.txt").write_text("Kites rise\n", encoding="utf-8")
    assert read(tmp_path / "kites.txt").edu_texts == ["Kites rise"]
    with pytest.raises(UsageError, match=r"\.txt files can be read, but not written"):
        write(DOCUMENT, tmp_path / "new.txt")
    assert names(tmp_path) == ["kites.rsd", "kites.txt"]


@pytest.mark.parametrize("name", ["kites.pdf", "kites", ".json", "kites.json.bak", "kites."])
def test_unknown_suffixes(tmp_path: Path, name: str):
    (tmp_path / name).write_text("{}", encoding="utf-8")
    expected = f"a file name must end in one of .dis, .rs3, .rs4, .json, .jsonl, .rsd, .edus, .txt, got {name}"
    for attempt in (read, lambda path: write(DOCUMENT, path)):
        with pytest.raises(UsageError, match=re.escape(expected)):
            attempt(tmp_path / name)
    assert (tmp_path / name).read_text() == "{}"


def test_many_documents_in_one_file(tmp_path: Path):
    many = [replace(DOCUMENT, id=f"kites-{number}") for number in range(200)]
    path = tmp_path / "many.jsonl"
    write_documents(iter(many), path)
    assert path.read_text(encoding="utf-8").count("\n") == 200
    assert list(read_documents(path)) == many
    with pytest.raises(CorpusFormatError, match=r"many\.jsonl: the file must hold one document, got 200"):
        read(path)
    for suffix in (".dis", ".rs3", ".rs4", ".json", ".rsd", ".edus"):
        for chosen in (many, []):
            with pytest.raises(UsageError, match=f"a {suffix} file holds one document, got {len(chosen)};"):
                write_documents(chosen, tmp_path / f"many{suffix}")
    write_documents([], path)
    assert list(read_documents(path)) == []
    assert names(tmp_path) == ["many.jsonl"]


def test_folders_are_read_in_the_order_of_names(tmp_path: Path):
    for name in ("b.json", "a/z.dis", "c.RS3", "a/b/y.rs4", "a.jsonl"):
        write(replace(DOCUMENT, id=Path(name).stem), tmp_path / name)
    for name in ("notes.txt", "z.edus", "table.rsd", "a/.b.json.part", "README"):
        (tmp_path / name).write_text("no tree\n", encoding="utf-8")
    (tmp_path / "folder.json").mkdir()
    assert [document.id for document in read_documents(tmp_path)] == ["y", "z", "a", "b", "c"]


def test_folders_without_trees(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("no tree\n", encoding="utf-8")
    with pytest.raises(CorpusNotFoundError, match=r"the folder has no files with trees \(\.dis, .*\)"):
        list(read_documents(tmp_path))


def test_missing_and_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"missing\.json: No such file or directory"):
        read(tmp_path / "missing.json")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/x\.json: Not a directory"):
        read(tmp_path / "file" / "x.json")
    write(DOCUMENT, tmp_path / "kites.json")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match=r"kites\.json: Permission denied"):
        read(tmp_path / "kites.json")


@pytest.mark.parametrize("suffix", [".dis", ".rs3", ".rs4", ".json", ".edus", ".txt"])
@pytest.mark.parametrize("content", [b"", b"\n \n", b"\0\1\2", b"\xff\xfe", b"<rst>", b"{", b"( Root"])
def test_broken_files_are_named(tmp_path: Path, suffix: str, content: bytes):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    if suffix in (".edus", ".txt") and content[:1] in b"<{(" and content:
        assert read(path).edu_texts == [content.decode()]
        return
    with pytest.raises(GenrstError, match=re.escape(f"{path}:")):
        read(path)


def test_trees_that_do_not_fit_are_errors_of_the_file(tmp_path: Path):
    path = tmp_path / "kites.json"
    path.write_text('{"text": "ab", "edus": [{"start": 0, "end": 1}], "tree": {"edu": 1}}', encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"kites\.json: the tree must cover the EDUs 0–0, got 1–1"):
        read(path)


def test_several_roots(tmp_path: Path):
    path = tmp_path / "kites.rs3"
    header = '<header><relations><rel name="list" type="multinuc"/></relations></header>'
    groups = "".join(
        f'<segment id="{n}" parent="{n + 10}" relname="list">a</segment><segment id="{n + 1}" parent="{n + 10}" '
        f'relname="list">b</segment><group id="{n + 10}" type="multinuc"/>'
        for n in (1, 3)
    )
    path.write_text(f"<rst>{header}<body>{groups}</body></rst>", encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"kites\.rs3"):
        read(path)
    tree = read(path, roots="join").tree
    assert isinstance(tree, Unit)
    assert tree.relation == "virtual-root"
    assert read(path, with_tree=False).tree is None


def test_bracketed_trees_get_the_text_beside_them_from_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(DOCUMENT, tmp_path / "kites.DIS")
    (tmp_path / "kites").write_text("Kites rise,\n\nthey say,\nin any wind.\n", encoding="utf-8")
    assert read(tmp_path / "kites.DIS").edu_texts == ["Kites rise,", "they say,", "in any wind."]
    assert len(read(tmp_path / "kites.DIS", with_tree=False).sentences) == 3
    # What comes in by a pipe has nothing beside it, whatever its name for messages is.
    content = (tmp_path / "kites.DIS").read_bytes()
    monkeypatch.chdir(tmp_path)
    assert read_content(content, Path("kites.dis"))[0].edu_texts == DOCUMENT.edu_texts


OLD = "what was there before"


def fail_midway(file: BinaryIO) -> None:
    file.write(b"half")
    raise KeyboardInterrupt


def test_a_failing_writer_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "kites.json"
    path.write_text(OLD, encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        write_atomically_with(path, fail_midway)
    assert path.read_text(encoding="utf-8") == OLD
    assert names(tmp_path) == ["kites.json"]


@pytest.mark.parametrize("method", ["replace", "open"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str):
    path = tmp_path / "kites.json"
    path.write_text(OLD, encoding="utf-8")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, method, refuse)
        with pytest.raises(OutputError, match=r"kites\.json: cannot be written: No space left on device"):
            write(DOCUMENT, path)
    assert path.read_text(encoding="utf-8") == OLD
    assert names(tmp_path) == ["kites.json"]


def test_documents_that_cannot_be_written_leave_the_old_file(tmp_path: Path):
    path = tmp_path / "kites.dis"
    path.write_text(OLD, encoding="utf-8")
    with pytest.raises(UsageError, match="kites: the document must have a tree to be written"):
        write(replace(DOCUMENT, tree=None), path)
    assert path.read_text(encoding="utf-8") == OLD
    assert names(tmp_path) == ["kites.dis"]


def test_targets_that_are_no_files(tmp_path: Path):
    folder = tmp_path / "folder.json"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"folder\.json: cannot be written: "):
        write(DOCUMENT, folder)
    assert names(folder) == ["inside"]
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file/x\.json: cannot be written: "):
        write(DOCUMENT, tmp_path / "file" / "x.json")
    with pytest.raises(OutputError, match="cannot be written: File name too long"):
        write(DOCUMENT, tmp_path / f"{'x' * 300}.json")
    assert names(tmp_path) == ["file", "folder.json"]


def test_folders_are_made_and_files_have_usual_permissions(tmp_path: Path):
    path = tmp_path / "new" / "folder" / f"{'k' * 245}.json"
    mask = os.umask(0o027)
    try:
        write(DOCUMENT, path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert read(path) == DOCUMENT
    write(replace(DOCUMENT, id="other"), path)
    assert read(path).id == "other"
    assert names(path.parent) == [path.name]


@given(st.text(max_size=20))
def test_text_is_written_as_it_is(tmp_path_factory: pytest.TempPathFactory, text: str):
    path = tmp_path_factory.getbasetemp() / "as-it-is.txt"
    write_atomically(path, text)
    assert path.read_bytes().decode("utf-8", "surrogatepass") == text


def test_warnings_name_the_file(tmp_path: Path):
    path = tmp_path / "kites.edus"
    path.write_bytes("naïve".encode("iso-8859-1"))
    with pytest.warns(CorpusWarning, match=r"kites\.edus: byte 2 is not UTF-8"):
        assert read(path).edu_texts == ["naïve"]
