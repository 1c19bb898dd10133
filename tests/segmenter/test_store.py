import json
from pathlib import Path

import pytest
import torch

from genrst.errors import ConfigError, CorpusNotFoundError
from genrst.segmenter.segment import load_segmenter, save_segmenter
from genrst.storage import CONFIG, SYMBOLS, WEIGHTS
from tests.segmenter.test_segment import DOCUMENTS, SEGMENTER


def test_a_segmenter_comes_back_bit_for_bit(tmp_path: Path):
    save_segmenter(SEGMENTER, tmp_path / "new" / "model", "float32")
    loaded = load_segmenter(tmp_path / "new" / "model")
    assert loaded.symbols == SEGMENTER.symbols
    assert loaded.network.config == SEGMENTER.network.config
    assert not loaded.network.training
    weights = SEGMENTER.network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in loaded.network.state_dict().items())
    assert loaded.segment(DOCUMENTS) == SEGMENTER.segment(DOCUMENTS)


def test_half_of_the_bits(tmp_path: Path):
    save_segmenter(SEGMENTER, tmp_path)
    loaded = load_segmenter(tmp_path)
    for name, tensor in SEGMENTER.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], tensor.half().float()), name
    save_segmenter(loaded, tmp_path / "again")
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (tmp_path / WEIGHTS).read_bytes()


def test_folders_that_hold_no_segmenter(tmp_path: Path):
    with pytest.raises(CorpusNotFoundError, match="a model folder must hold"):
        load_segmenter(tmp_path)
    save_segmenter(SEGMENTER, tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps(config | {"layers": 3}))
    with pytest.raises(ConfigError, match="the weights do not fit the configuration"):
        load_segmenter(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps(config | {"colour": 3}))
    with pytest.raises(ConfigError, match="colour: the key must be one of word_size, "):
        load_segmenter(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps(config))
    (tmp_path / SYMBOLS).write_text("{}")
    with pytest.raises(ConfigError, match="symbols must have a list for each of word, "):
        load_segmenter(tmp_path)
