import json

import pytest

from genrst.errors import ConfigError
from genrst.model.symbols import Symbols, make_symbols
from genrst.transitions.actions import ActionSet, Reduce

SYMBOLS = make_symbols(
    ["rain", "rain", "“Zoë”", "“Zoë”", "once"],
    ["nsubj"],
    ActionSet((Reduce("cause", "NS"), Reduce("cause", "SN"), Reduce("joint", "NN"))),
)


def test_round_trip_through_json():
    assert Symbols.from_dict(json.loads(json.dumps(SYMBOLS.as_dict()))) == SYMBOLS
    assert "once" not in SYMBOLS.words.symbols


def test_the_nucleus_by_action_number():
    assert SYMBOLS.nucleus_is_right == (False, False, True, False), "GEN, NS, SN, NN"
    assert len(SYMBOLS.nucleus_is_right) == len(SYMBOLS.actions)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"words": None}, "NoneType"),
        ({"words": ["rain"]}, "words that do not start with <pad> <none> <unk> <eos>"),
        ({"deprels": []}, "deprels that do not start with <none> <unk>"),
        ({"words": ["<pad>", "<none>", "<unk>", "<eos>", ["rain"]]}, "unhashable"),
        ({"labels": 3}, "int"),
        ({"labels": [["cause"]]}, "not enough values"),
    ],
)
def test_wrong_data(change, reason: str):
    with pytest.raises(ConfigError, match=f"symbols must be words, deprels and labels, was: .*{reason}"):
        Symbols.from_dict(SYMBOLS.as_dict() | change)


@pytest.mark.parametrize("data", [{}, [], None])
def test_missing_data(data):
    with pytest.raises(ConfigError, match="symbols must be words, deprels and labels"):
        Symbols.from_dict(data)
