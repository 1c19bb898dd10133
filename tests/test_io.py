"""Bytes to text: marks, declarations, line ends; tables and unreadable files."""

import gzip
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.config import read_tables
from genrst.errors import CorpusFormatError, CorpusWarning, GenrstError, InputError
from genrst.io import (
    decode,
    max_unpacked,
    progress,
    read_bytes,
    read_table,
    stage,
    tell,
    unpack_lines,
    write_atomically,
)

PATH = Path("folder/sample.txt")
ENCODINGS = ["utf-8-sig", "utf-16", "utf-32"]
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0\ufeff"))


@given(TEXTS, st.sampled_from([*ENCODINGS, "utf-8"]))
def test_marked_text_is_decoded(text: str, encoding: str):
    assert decode(text.encode(encoding), PATH) == text


@given(TEXTS)
def test_marks_go_before_declarations(text: str):
    for encoding in ENCODINGS:
        assert decode(text.encode(encoding), PATH, "ascii") == text
    big_endian = b"\xfe\xff" + text.encode("utf-16-be")
    assert decode(big_endian, PATH) == text


def test_line_ends_are_made_one():
    assert decode(b"a\r\nb\rc\n\r\nd", PATH) == "a\nb\nc\n\nd"
    assert decode("a\r\nb".encode("utf-16"), PATH) == "a\nb"


def test_declared_encodings():
    assert decode("naïve".encode("iso-8859-1"), PATH, "ISO-8859-1") == "naïve"
    with pytest.raises(CorpusFormatError, match=r"sample\.txt: the text is not valid utf-8: "):
        decode(b"\xff", PATH, "utf-8")


@pytest.mark.parametrize("declared", ["UTF-8", "us-ascii", "latin1", "ISO-8859-15", "windows-1252", "CP1251", "koi8-r"])
def test_usual_encodings_may_be_declared(declared: str):
    assert decode(b"text", PATH, declared) == "text"


@pytest.mark.parametrize(
    "declared",
    ["no-such-code", "hex", "punycode", "idna", "utf-7", "unicode_escape", "rot13", "undefined", "mbcs", "."],
)
def test_other_encodings_may_not(declared: str):
    with pytest.raises(
        CorpusFormatError,
        match=rf"sample\.txt: the declared encoding is not supported: {declared}; convert the file to UTF-8$",
    ):
        decode(b"text", PATH, declared)


def test_undeclared_latin_1_is_read_with_a_warning():
    with pytest.warns(CorpusWarning, match="sample.txt: byte 2 is not UTF-8; read as ISO-8859-1"):
        assert decode("naïve".encode("iso-8859-1"), PATH) == "naïve"


def test_binary_data_and_broken_marks():
    for content in (b"a\0b", "text".encode("utf-16-le"), b"\0"):
        with pytest.raises(CorpusFormatError, match="must be text, got binary data"):
            decode(content, PATH)
    for content in (b"\xef\xbb\xbf\xff", b"\xff\xfea", b"\xff\xfe\0\0abc"):
        with pytest.raises(CorpusFormatError, match="the text is not valid utf-"):
            decode(content, PATH)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match="missing: No such file or directory"):
        read_bytes(tmp_path / "missing")
    with pytest.raises(InputError, match=r"a\x00b: .*embedded null"):
        read_bytes(tmp_path / "a\0b")
    with pytest.raises(InputError, match=": Is a directory"):
        read_bytes(tmp_path)

    (tmp_path / "secret").touch()

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match="secret: Permission denied"):
        read_bytes(tmp_path / "secret")


def test_lines_of_packed_files(tmp_path: Path):
    path = tmp_path / "lines.gz"
    lines = [b"first\n", b"\n", b"last"]
    path.write_bytes(gzip.compress(b"".join(lines)))
    assert list(unpack_lines(path)) == lines
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CorpusFormatError, match="the gzip file is damaged"):
        list(unpack_lines(path))
    with pytest.raises(InputError, match="missing: No such file"):
        list(unpack_lines(tmp_path / "missing"))


@pytest.mark.parametrize(("line", "rule"), [(b"0" * 1000, "the line has"), (b"short\n", "the file unpacks to")])
def test_a_small_file_does_not_unpack_to_a_large_one(
    tmp_path: Path, line: bytes, rule: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("genrst.io._ALWAYS_ALLOWED", 10_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(line * (2_000_000 // len(line))))
    limit = 10_000 if rule == "the line has" else max_unpacked(path)
    with pytest.raises(CorpusFormatError, match=rf"{rule} more than {limit} bytes$"):
        list(unpack_lines(path))


def test_tables(tmp_path: Path):
    path = tmp_path / "table.tsv"
    path.write_bytes(b'\xef\xbb\xbfname\tkind\tnote\r\na\tx\t"quoted\r\n\r\nb\ty\r\n')
    assert read_table(path, ("kind", "name")) == [
        {"name": "a", "kind": "x", "note": '"quoted'},
        {"name": "b", "kind": "y"},
    ]
    path.write_text("name\tkind", encoding="utf-8")
    assert read_table(path, ("name",)) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1: the first line must name the columns name, kind, got ''"),
        ("name kind\na x\n", ":1: the first line must name the columns name, kind, got 'name kind'"),
        ("kind\tname\nx\ta\n\ny\n", ":4: a row must have a value in each of the columns name, kind, got 'y'"),
        ("name\tkind\n\tx\n", ":2: a row must have a value in each of the columns name, kind, got '\\tx'"),
        ("name\tkind\n\0\t\n", ": the file must be text, got binary data"),
    ],
)
def test_broken_tables(tmp_path: Path, content: str, message: str):
    path = tmp_path / "table.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CorpusFormatError) as caught:
        read_table(path, ("name", "kind"))
    assert str(caught.value) == f"{path}{message}"


def test_writing_leaves_the_umask_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It belongs to the whole process: another thread's files would get the wrong mode."""
    monkeypatch.setattr(os, "umask", lambda _mask: pytest.fail("the umask was set"))
    write_atomically(tmp_path / "a.txt", "a")
    (tmp_path / "b.txt").touch()
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_messages_and_bars_command_no_terminal(monkeypatch: pytest.MonkeyPatch):
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    name = "\x1b]0;evil\x07\x9b2J\u202e"
    tell(f"{name}: no such file")
    assert list(progress([1, 2], name)) == [1, 2]
    printed = screen.getvalue()
    assert printed.startswith("genrst: ␛]0;evil␇\ufffd2J\ufffd: no such file\n")
    assert printed.count("␛]0;evil␇") > 1
    assert not any(mark in printed for mark in ("\x1b]", "\x07", "\x9b", "\u202e"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
@pytest.mark.parametrize("read", [read_bytes, lambda path: list(unpack_lines(path)), read_tables])
def test_pipes_and_devices_are_no_files(tmp_path: Path, read: Callable[[Path], object]):
    """A reader would wait for them, or never come to an end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name, kind in (("pipe", "a pipe"), ("device", "a device")):
        with pytest.raises(GenrstError, match=f"^{tmp_path / name}: must be a regular file, got {kind}$"):
            read(tmp_path / name)


def test_what_a_shell_hands_over_is_read():
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(b"It rained.")
    with os.fdopen(reader):
        assert read_bytes(Path(f"/dev/fd/{reader}")) == b"It rained."


def test_long_work_says_how_far_it_is_where_no_bar_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("genrst.io.INTERVAL", 0.02)
    for _ in progress(range(3), "reading", 3):
        with stage("finding the tree"):
            sleep(0.05)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "genrst: reading: 0 of 3 done; finding the tree for 0 s"
    assert "genrst: reading: 2 of 3 done; finding the tree for 0 s" in lines
    assert list(progress(range(3), "quick")) == [0, 1, 2]
    sleep(0.05)
    assert capsys.readouterr().err == "", "it ends with the work"
