import pytest

from genrst.config import from_mapping
from genrst.errors import ConfigError
from genrst.segmenter.segmenter_config import SegmenterConfig


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
