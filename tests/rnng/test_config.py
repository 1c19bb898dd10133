from dataclasses import dataclass, field
from typing import Literal

import pytest

from genrst.config import from_mapping
from genrst.errors import ConfigError
from genrst.rnng.config import RnngConfig


@dataclass(frozen=True)
class Inner:
    sizes: tuple[int, ...] = ()
    mode: Literal["fast", "slow"] = "fast"


@dataclass(frozen=True)
class Outer:
    name: str = "none"
    count: int = 1
    rate: float = 0.5
    is_on: bool = False
    place: str | None = None
    inner: Inner = field(default_factory=Inner)


def test_plain_data_becomes_a_configuration():
    data = {"name": "a", "count": 3, "rate": 2, "is_on": True, "place": "b", "inner": {"sizes": [1, 2], "mode": "slow"}}
    config = from_mapping(Outer, data)
    assert config == Outer("a", 3, 2.0, True, "b", Inner((1, 2), "slow"))
    assert type(config.rate) is float, "a whole number is a float where a float is wanted"


def test_defaults_stand_in_the_class():
    assert from_mapping(Outer, {}) == Outer()
    assert from_mapping(Outer, {"place": None, "inner": {"sizes": ()}}) == Outer()
    assert from_mapping(RnngConfig, {"kind": "discriminative"}) == RnngConfig(kind="discriminative")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"names": "a"},
            "names: unknown key; must be one of name, count, rate, is_on, place, inner; did you mean name?",
        ),
        ({"inner": {"size": 1}}, "inner.size: unknown key; must be one of sizes, mode; did you mean sizes?"),
        ({"name": 3}, "name: the value must be of type str, got 3"),
        ({"name": None}, "name: the value must be of type str, got None"),
        ({"count": "3"}, "count: the value must be of type int, got '3'"),
        ({"count": 3.0}, "count: the value must be of type int, got 3.0"),
        ({"count": True}, "count: the value must be of type int, got True"),
        ({"rate": True}, "rate: the value must be of type float, got True"),
        ({"rate": "0.5"}, "rate: the value must be of type float, got '0.5'"),
        ({"is_on": 1}, "is_on: the value must be of type bool, got 1"),
        ({"place": 3}, "place: the value must be of type str, got 3"),
        ({"inner": 3}, "inner: the value must be a table, got 3"),
        ({"inner": [{}]}, "inner: the value must be a table, got [{}]"),
        ({"inner": {"sizes": 3}}, "inner.sizes: the value must be a list, got 3"),
        ({"inner": {"sizes": "12"}}, "inner.sizes: the value must be a list, got '12'"),
        ({"inner": {"sizes": [1, "2"]}}, "inner.sizes[1]: the value must be of type int, got '2'"),
        ({"inner": {"sizes": [1, False]}}, "inner.sizes[1]: the value must be of type int, got False"),
        ({"inner": {"mode": "quick"}}, "inner.mode: the value must be one of 'fast', 'slow', got 'quick'"),
        ({"inner": {"mode": ["fast"]}}, "inner.mode: the value must be one of 'fast', 'slow', got ['fast']"),
        ([], "a configuration: the value must be a table, got []"),
    ],
)
def test_wrong_data_is_one_line(data: object, message: str):
    with pytest.raises(ConfigError) as error:
        from_mapping(Outer, data)
    assert str(error.value) == message


@pytest.mark.parametrize("size", [0, -1])
def test_sizes_are_positive(size: int):
    with pytest.raises(ConfigError, match=f"model.edu_layers: the value must be 1 or more, got {size}"):
        RnngConfig(edu_layers=size)


def test_kinds_need_a_width_for_layout():
    assert RnngConfig(layout_size=4, layout_kinds=True).layout_kinds
    with pytest.raises(ConfigError) as error:
        from_mapping(RnngConfig, {"layout_kinds": True})
    assert str(error.value) == "model.layout_kinds needs a width for layout: set model.layout_size"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"encoder_window": 7}, "model.encoder_window: the value 7 is out of range"),
        ({"encoder_overlap": 1.0}, "model.encoder_overlap: the value must be at least 0 and less than 1, got 1.0"),
        ({"document_size": 0}, "model.document_size: the value must be 1 or more, got 0"),
        ({"encoder": 3}, "encoder: the value must be of type str, got 3"),
    ],
)
def test_settings_of_a_pretrained_encoder(data: dict[str, object], message: str):
    with pytest.raises(ConfigError) as error:
        from_mapping(RnngConfig, data)
    assert str(error.value) == message
