import pytest

from genrst.config import from_mapping
from genrst.errors import ConfigError
from genrst.segmenter.network import SegmenterConfig
from genrst.segmenter.segmenter_config import SegmenterRunConfig


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": 0}, "segmenter.layers: the value must be 1 or more, was: 0"),
        ({"window": -3}, "segmenter.window: the value must be 1 or more, was: -3"),
        ({"dropout": 1.0}, "segmenter.dropout: the value must be 0 or more and less than 1, was: 1.0"),
        ({"depth": 2}, "segmenter.depth: the key must be one of word_size, affix_size, "),
        ({"hidden_size": "9"}, "segmenter.hidden_size: the value must be of type int, was: '9'"),
    ],
)
def test_wrong_sizes(values: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        from_mapping(SegmenterConfig, values, "segmenter")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"training": {"epochs": 0, "silver_epochs": 0}}, "training.epochs: the value is out of range, was: 0"),
        ({"training": {"seeds": [1, 1]}}, r"training.seeds: the value is out of range, was: \(1, 1\)"),
        ({"training": {"averaging": 1.0}}, "training.averaging: the value is out of range, was: 1.0"),
        ({"training": {"batch_documents": 8}}, "training.batch_documents: the key must be one of seeds, "),
        ({"data": {"max_words": 0}}, "data.max_words: the value must be 1 or more, was: 0"),
        ({"segmenter": {"layers": 0}}, "segmenter.layers: the value must be 1 or more, was: 0"),
        ({"training": {"use_raw": True}}, "training.use_raw: the key must be one of seeds, "),
        ({"training": {"use_vectors": True}}, "training.use_vectors: the key must be one of seeds, "),
        ({"model": {}}, "model: the key must be one of data, segmenter, training"),
    ],
)
def test_wrong_configurations(tables: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        from_mapping(SegmenterRunConfig, tables)
