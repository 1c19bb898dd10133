from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genrst.errors import CorpusFormatError
from genrst.segmenter.data import SegmenterPrepared, load_segmenter_data, save_segmenter_data
from genrst.training.prepared import load_prepared, save_prepared
from tests.segmenter.samples import prepare_texts
from tests.training.samples import prepare_samples

PREPARED = prepare_texts()


def arrays(prepared: SegmenterPrepared) -> list[object]:
    return [
        (name, one.tokens.symbols.tolist(), one.tokens.heads.tolist(), one.tokens.starts_sentence.tolist(),
         one.starts_edu.tolist(), one.n_edus)
        for name, examples in prepared.sets.items()
        for one in examples
    ]  # fmt: skip


@pytest.mark.parametrize("n_silver", [0, 2])
def test_prepared_features_come_back(tmp_path: Path, n_silver: int):
    prepared = prepare_texts(n_silver=n_silver)
    vectors = np.ones((len(prepared.symbols.vocabularies[0]), 3), np.float32)
    path = tmp_path / "new" / "features.npz"
    save_segmenter_data(replace(prepared, vectors=vectors), path)
    loaded = load_segmenter_data(path)
    assert loaded.symbols == prepared.symbols
    assert arrays(loaded) == arrays(prepared)
    np.testing.assert_array_equal(loaded.vectors, vectors)


def test_damaged_features(tmp_path: Path):
    path = tmp_path / "features.npz"
    save_segmenter_data(PREPARED, path)
    content = path.read_bytes()
    for damage in (content[:200], b"junk", b""):
        path.write_bytes(damage)
        with pytest.raises(CorpusFormatError, match="must hold prepared features"):
            load_segmenter_data(path)
    save_prepared(prepare_samples(), path)
    with pytest.raises(CorpusFormatError, match=r"for a segmenter in format 1, was: for a parser in format 1$"):
        load_segmenter_data(path)
    save_segmenter_data(PREPARED, path)
    with pytest.raises(CorpusFormatError, match=r"for a parser in format 1, was: for a segmenter in format 1$"):
        load_prepared(path)
    with pytest.raises(CorpusFormatError):
        load_segmenter_data(tmp_path / "nowhere.npz")
