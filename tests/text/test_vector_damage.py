"""Word vectors from damaged files: always one error with its place, never another exception."""

import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.errors import CorpusFormatError, GenrstError
from genrst.text.vectors import load_vectors
from tests.text.vector_samples import ALL, MATRIX, WORDS, Writer, fasttext, glove, word2vec_text, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


TEXT_ERRORS = {
    b"": (1, "a word and its numbers"),
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": (1, "a word and its numbers"),
    b"\x00\x01\xff" * 3000: (1, "a word and its numbers"),
    b"the\n": (1, "a word and its numbers"),
    b"a 1 2\nb 1\n": (2, "a word and 2 numbers, was: 1"),
    b"a 1 2\n\nb 1.0 2.0 3.0\n": (3, "a word and 2 numbers, was: 3"),
    b"a 1 2\nb\n": (2, "a word and 2 numbers, was: 0"),
    b"a 1 2\nb 1 x\n": (2, "finite numbers, was: 'x'"),
    b"a 1 2\nb nan 2\n": (2, "finite numbers, was: 'nan'"),
    b"a 1 2\nb 1 -\n": (2, "finite numbers, was: '-'"),
    b"a 1 2\nb 1_0 2\n": (2, "finite numbers, was: '1_0'"),
    b"a 1 2\nb 1e99 2\n": (2, "finite numbers, was: inf"),
    b"a nan 2\nb 1 2\n": (1, "finite numbers, was: 'nan'"),
    b"a 0.1 x 0.2\nb 1 2 3\n": (1, "a word and 1 numbers, was: 3"),
    b"2 2\na 1 2\n": (None, "the 2 words of its first line, was: 1"),
    b"1 2\na 1 2\nb 1 2\n": (None, "the 1 words of its first line, was: 2"),
    b"2 3\na 1 2\nb 1 2\n": (2, "a word and 3 numbers, was: 2"),
    b"0 3\n": (1, "number of words and their size"),
    b"3 0\n": (1, "number of words and their size"),
    b"3 99999999\n": (1, "number of words and their size"),
}


@pytest.mark.parametrize("content", TEXT_ERRORS, ids=repr)
def test_damaged_text(content: bytes, tmp_path: Path):
    line, rule = TEXT_ERRORS[content]
    path = write(tmp_path / "a.txt", content)
    with pytest.raises(CorpusFormatError) as caught:
        load_vectors(path, ["b"] if b"\nb" in content else ["a"])
    assert (caught.value.path, caught.value.line) == (path, line)
    assert rule in str(caught.value)


BINARY_ERRORS = {
    b"": "number of words and their size",
    b"\x7fELF\x02\x01": "number of words and their size",
    b"2 99999999\n": "number of words and their size",
    b"2 1\na \0\0\0\0b ": "record 2: a word and its vector",
    b"2 1\na \0\0\0\0b": "record 2: a word and its vector",
    b"2 1\na \0\0\0\0": "record 2: a word and its vector",
    b"1 1\na \0\0\0\0b \0\0\0\0": "record 2: the file must end after 1 words",
    b"1 1\na \0\0\0\0\n\n": "record 2: the file must end after 1 words",
    b"2 1\nb \0\0\0\0a \0\0\xc0\x7f": "record 2: a vector must hold finite numbers, was: nan",
    b"1 1\na \0\0\x80\xff": "record 1: a vector must hold finite numbers, was: -inf",
    b"1 1\n" + b"x" * 5000: "record 1: a word and its vector",
}


@pytest.mark.parametrize("content", BINARY_ERRORS, ids=lambda content: repr(content[:30]))
def test_damaged_binary(content: bytes, tmp_path: Path):
    assert_damaged(write(tmp_path / "a.bin", content), BINARY_ERRORS[content])


JSON_ERRORS = {
    "": "an object `vectors`",
    "[]": "an object `vectors`",
    '{"words": [], "vectors": {}}': "an object `vectors`",
    '{"words": ["a"], "vectors": {"a": [1, 0]}}': "record 1: a list must have 1 numbers, their norm and an index",
    '{"words": ["a", "b"], "vectors": {"a": [1, 1, 0], "b": [1, 1]}}': "record 2: a list must have 1 numbers",
    '{"words": ["a", "b"], "vectors": {"a": [1, 1, 0], "b": 3}}': "record 2: a word and its list",
    '{"words": ["a", "b"], "vectors": {"a": [1, 1, 0], "b"': "record 2: a word and its list",
    '{"words": ["a"], "vectors": {"a": [1, NaN, 0]}}': "record 1: a vector must hold finite numbers, was: 'NaN'",
    '{"words": ["a"], "vectors": {"a": [--1, 1, 0]}}': "record 1: a vector must hold finite numbers, was: '--1'",
    '{"words": ["a"], "vectors": {"a": [3, 4, 2, 0]}}': "record 1: a list must end with the norm",
    '{"words": ["a"], "vectors": {"\\x": [1, 1, 0]}}': "record 1: Invalid \\escape",
    '{"words": ["a", "b"], "vectors": {"a": [1, 1, 0]}}': "the 1 words of `vectors`, was: 2",
    '{"words": 1, "vectors": {"a": [1, 1, 0]}}': "the 1 words of `vectors`, was: none",
    '{"words": ["a"], "vectors": {"a": [1, 1, 0]}': "record 2: the vectors must stand in JSON",
    '{"words": ["a"], "vectors": {"a": [1, 1, 0]}, "b": ' + "[" * 99999: "record 2: the vectors must stand in JSON",
}


@pytest.mark.parametrize("content", JSON_ERRORS, ids=lambda content: content[:70])
def test_damaged_json(content: str, tmp_path: Path):
    assert_damaged(write(tmp_path / "a.json", content.encode()), JSON_ERRORS[content])


def assert_damaged(path: Path, rule: str):
    with pytest.raises(CorpusFormatError) as caught:
        load_vectors(path, ["a"])
    assert caught.value.path == path
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "rule"),
    [
        ({"words": np.array(["a"])}, "arrays `words` and `vectors`, was: 'vectors is not"),
        ({"words": np.array(["a"], object), "vectors": MATRIX[:1]}, "arrays `words` and `vectors`, was: Object"),
        ({"words": np.array(["a"]), "vectors": MATRIX}, "with a row of floats each"),
        ({"words": np.array(["a"]), "vectors": MATRIX[0]}, "with a row of floats each"),
        ({"words": np.array(["a"]), "vectors": MATRIX[:1, :0]}, "with a row of floats each"),
        ({"words": np.array([1]), "vectors": MATRIX[:1]}, "with a row of floats each"),
        ({"words": np.array(["a"]), "vectors": np.array([["x"]])}, "with a row of floats each"),
        ({"words": np.array(["b", "a"]), "vectors": np.array([[1], [np.nan]])}, "record 2: a vector must hold"),
    ],
)
def test_damaged_npz(arrays, rule: str, tmp_path: Path):
    np.savez(tmp_path / "a.npz", **arrays)
    assert_damaged(tmp_path / "a.npz", rule)


@pytest.mark.parametrize(
    ("name", "writer"), [(name, writer) for name, writer in ALL if writer is not glove or name.endswith(".gz")]
)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_file_cut_short_is_an_error(folder: Path, name: str, writer: Writer, data: st.DataObject):
    """Wherever it is cut, up to the last vector; where that ends in text, nobody can see that digits are missing."""
    content = writer(WORDS, MATRIX)
    end = len(content.rstrip()) - (20 if writer in (word2vec_text, fasttext) else 1)
    content = gzip.compress(content) if name.endswith(".gz") else content
    path = folder / name
    path.write_bytes(content[: data.draw(st.integers(0, min(end, len(content) - 1)))])
    with pytest.raises(CorpusFormatError, match=path.name):
        load_vectors(path, WORDS)


@pytest.mark.parametrize(("name", "writer"), ALL)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_damage_is_never_another_exception(folder: Path, name: str, writer: Writer, data: st.DataObject):
    content = bytearray(writer(WORDS, MATRIX))
    if name.endswith(".gz"):
        content = bytearray(gzip.compress(content))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    path = folder / name
    path.write_bytes(content)
    with suppress(GenrstError):
        assert np.isfinite(load_vectors(path, WORDS).matrix).all()


@pytest.mark.parametrize("name", [name for name, _ in ALL if name.endswith(".gz")])
def test_what_is_no_gzip(name: str, tmp_path: Path):
    (tmp_path / name).write_bytes(b"a 1 2\n")
    assert_damaged(tmp_path / name, "sound gzip")
