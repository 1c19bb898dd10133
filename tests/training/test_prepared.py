import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genrst.chart.examples import ChartExample, SoftTree
from genrst.errors import CorpusFormatError
from genrst.rnng.examples import Example
from genrst.training.prepared import content_key, load_prepared, save_prepared
from tests.encoder.tiny_encoders import make_tokenizer
from tests.training.samples import make_document, prepare_chart_samples, prepare_samples


def as_lists(example: Example) -> tuple[object, ...]:
    arrays = (example.edu_words, example.edu_lengths, example.token_words, example.pieces, example.piece_lengths)
    words = [array.tolist() for array in arrays]
    return example.id, *words, example.syntax, example.actions


def test_round_trip(tmp_path: Path):
    prepared = prepare_samples()
    vectors = np.linspace(-1, 1, 5 * len(prepared.symbols.words), dtype=np.float32).reshape(-1, 5)
    prepared = replace(prepared, dev=prepared.dev[:1], vectors=vectors, notes={"inventory": "gum"})
    save_prepared(prepared, tmp_path / "new" / "features.npz")
    loaded = load_prepared(tmp_path / "new" / "features.npz")
    assert loaded.symbols == prepared.symbols
    assert loaded.notes == prepared.notes
    for mine, theirs in ((prepared.train, loaded.train), (prepared.dev, loaded.dev)):
        assert [as_lists(example) for example in mine] == [as_lists(example) for example in theirs]
    assert loaded.vectors is not None
    np.testing.assert_allclose(loaded.vectors, vectors, atol=1e-3)


def test_word_pieces_and_their_tokenizer(tmp_path: Path):
    prepared = prepare_samples(make_tokenizer())
    assert all(len(example.piece_lengths) == example.n_edus for example in prepared.train)
    assert all(example.piece_lengths.sum() == len(example.pieces) > 0 for example in prepared.train)
    save_prepared(prepared, tmp_path / "features.npz")
    loaded = load_prepared(tmp_path / "features.npz")
    assert [as_lists(example) for example in loaded.train] == [as_lists(example) for example in prepared.train]
    assert loaded.tokenizer == make_tokenizer().json


def test_the_key_changes_with_the_content():
    documents = [make_document(number) for number in range(3)]
    key = content_key(documents, {"min_count": 2})
    assert key == content_key([make_document(number) for number in range(3)], {"min_count": 2})
    changed = [
        content_key(documents[:2], {"min_count": 2}),
        content_key(documents, {"min_count": 1}),
        content_key([replace(documents[0], text=f"{documents[0].text} "), *documents[1:]], {"min_count": 2}),
        content_key([replace(documents[0], tree=None), *documents[1:]], {"min_count": 2}),
        content_key([replace(documents[0], sentences=()), *documents[1:]], {"min_count": 2}),
    ]
    assert len({key, *changed}) == 6


def test_damaged_files(tmp_path: Path):
    path = tmp_path / "features.npz"
    save_prepared(prepare_samples(), path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(CorpusFormatError, match="not a file of prepared features"):
        load_prepared(path)
    path.write_bytes(b"junk")
    with pytest.raises(CorpusFormatError, match="not a file of prepared features: not a NumPy archive"):
        load_prepared(path)
    np.savez(path, header=np.frombuffer(b'{"format": 0}', dtype=np.uint8))
    with pytest.raises(CorpusFormatError, match=r"the format of prepared features must be 2, got 0$"):
        load_prepared(path)


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path: Path):
    path = tmp_path / "bomb.npz"
    header = np.frombuffer(b'{"format": 2}', dtype=np.uint8)
    np.savez_compressed(path, header=header, vectors=np.zeros((20_000_000,), np.uint8))
    with pytest.raises(
        CorpusFormatError, match=r"bomb\.npz: the file must unpack to at most 16777216 bytes, got 20000"
    ):
        load_prepared(path)


@pytest.mark.parametrize("shape", ["(9000000000000000000,)", "(99999999999,99999999999)", "(-1,)"])
def test_arrays_that_are_smaller_than_they_say(tmp_path: Path, shape: str):
    path = tmp_path / "liar.npz"
    array = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(array)) + array)
    with pytest.raises(CorpusFormatError, match=r"liar\.npz: not a file of prepared features: "):
        load_prepared(path)


def test_silver_documents_are_kept_apart(tmp_path: Path):
    prepared = prepare_samples()
    save_prepared(replace(prepared, silver=prepared.train[:2]), tmp_path / "both.npz")
    found = load_prepared(tmp_path / "both.npz")
    assert [example.id for example in found.silver] == [example.id for example in prepared.train[:2]]
    assert [example.actions for example in found.silver] == [example.actions for example in prepared.train[:2]]
    assert len(found.train) == len(prepared.train)
    save_prepared(prepared, tmp_path / "gold.npz")
    assert load_prepared(tmp_path / "gold.npz").silver == []


def chart_lists(example: ChartExample) -> tuple[object, ...]:
    arrays = (example.pieces, example.piece_lengths, example.units)
    return example.id, *(array.tolist() for array in arrays), example.sentences, example.paragraphs, example.kinds


def test_charts(tmp_path: Path):
    prepared = prepare_chart_samples(make_tokenizer())
    save_prepared(prepared, tmp_path / "features.npz")
    loaded = load_prepared(tmp_path / "features.npz")
    assert (loaded.kind, loaded.symbols, loaded.tokenizer) == ("chart", prepared.symbols, make_tokenizer().json)
    for mine, theirs in ((prepared.train, loaded.train), (prepared.dev, loaded.dev)):
        assert [chart_lists(example) for example in mine] == [chart_lists(example) for example in theirs]


def test_soft_trees_and_segments(tmp_path: Path):
    prepared = prepare_chart_samples(make_tokenizer())
    soft = [
        SoftTree(
            np.array([[0, 1, 2]] * size).reshape(-1, 3),
            np.linspace(0.25, 1, size, dtype=np.float32),
            np.arange(2 * size).reshape(size, 2),
            np.full((size, 2), 0.5, dtype=np.float32),
        )
        for size in (3, 0, 2)
    ]
    rng = np.random.default_rng(1)
    starts = [rng.random((len(example.pieces), 2), dtype=np.float32) for example in prepared.train]
    rows = zip(prepared.train, soft, starts, strict=True)
    silver = [replace(example, soft=tree, starts=own) for example, tree, own in rows]
    save_prepared(replace(prepared, silver=silver), tmp_path / "features.npz")
    loaded = load_prepared(tmp_path / "features.npz")
    assert all(example.soft is None for example in (*loaded.train, *loaded.dev))
    assert all(example.starts is None for example in (*loaded.train, *loaded.dev))
    for example, tree, own in zip(loaded.silver, soft, starts, strict=True):
        assert example.soft is not None
        assert example.starts is not None
        np.testing.assert_allclose(example.starts, own, atol=1e-3)
        for name in ("units", "p", "labels", "label_p"):
            found, expected = getattr(example.soft, name), getattr(tree, name)
            assert len(found) == len(expected) == len(tree.p)
            np.testing.assert_allclose(found.ravel(), expected.ravel(), atol=1e-3)
            assert not found.size or found.shape == expected.shape
