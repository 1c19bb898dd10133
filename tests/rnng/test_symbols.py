import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import ConfigError
from genrst.rnng.config import (
    EOS,
    EOS_ID,
    NONE,
    NONE_ID,
    PAD,
    PAD_ID,
    SPECIALS,
    UNK,
    UNK_ID,
    Symbols,
    Vocabulary,
    make_symbols,
)
from genrst.rnng.transitions.actions import ActionSet, Reduce

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
        ({"words": None}, "words must be a list of strings"),
        ({"words": "<pad>"}, "words must be a list of strings"),
        ({"words": ["<pad>", "<none>", "<unk>", "<eos>", 5]}, "words must be a list of strings"),
        ({"words": ["rain"]}, "words must start with <pad> <none> <unk> <eos>"),
        ({"deprels": []}, "deprels must start with <none> <unk>"),
        ({"words": ["<pad>", "<none>", "<unk>", "<eos>", ["rain"]]}, "words must be a list of strings"),
        ({"labels": 3}, "int"),
        ({"labels": [["cause"]]}, "nuclearity"),
        ({"labels": [["cause", "NS", "NN"]]}, "arguments"),
        ({"labels": ["NS"]}, "labels must be a list of strings"),
        ({"labels": [["cause", 5]]}, "labels must be a list of strings"),
        ({"labels": [[None, "NS"]]}, "labels must be a list of strings"),
        ({"labels": [["cause", "SS"]]}, "every label must be a relation with one of NS, SN, NN"),
        ({"labels": []}, "every label must be a relation with one of NS, SN, NN"),
    ],
)
def test_wrong_data(change, reason: str):
    with pytest.raises(ConfigError, match=f"the symbols are malformed: .*{reason}"):
        Symbols.from_dict(SYMBOLS.as_dict() | change)


@pytest.mark.parametrize("data", [{}, [], None])
def test_missing_data(data):
    with pytest.raises(ConfigError, match="the symbols are malformed: "):
        Symbols.from_dict(data)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "A", "<ORG>", *SPECIALS]), max_size=30)


@given(WORDS, st.integers(0, 4))
def test_words_are_those_seen_often_enough(words, min_count):
    vocabulary = Vocabulary.from_words(words, min_count)
    counts = Counter(words)
    assert vocabulary.symbols[: len(SPECIALS)] == SPECIALS
    kept = vocabulary.symbols[len(SPECIALS) :]
    assert set(kept) == {word for word in words if counts[word] >= min_count} - set(SPECIALS)
    assert list(kept) == sorted(kept, key=lambda word: (-counts[word], word)), "the most frequent first"
    assert len(vocabulary) == len(SPECIALS) + len(kept)


@given(WORDS, WORDS)
def test_numbers_are_places_and_all_else_is_unknown(words, text):
    vocabulary = Vocabulary.from_words(words)
    for word, number in zip(text, vocabulary.numbers(text), strict=True):
        if word in vocabulary.symbols[len(SPECIALS) :]:
            assert vocabulary.symbols[number] == word
        else:
            assert number == UNK_ID


def test_the_special_symbols():
    symbols = Vocabulary.from_words([]).symbols
    assert [symbols[number] for number in (PAD_ID, NONE_ID, UNK_ID, EOS_ID)] == [PAD, NONE, UNK, EOS]


def test_words_that_read_like_special_symbols_are_unknown():
    """A language model cannot generate padding, and an end inside an EDU would be none."""
    assert Vocabulary.from_words(["<pad>"] * 3).numbers(["<pad>", "<none>", "<eos>", "<unk>"]) == [UNK_ID] * 4


def test_labels_are_a_closed_set():
    labels = Vocabulary.from_labels(["nsubj", "dep", "nsubj", "<unk>"])
    assert labels.symbols == ("<none>", "<unk>", "dep", "nsubj")
    assert labels.numbers(["dep", "nsubj", "obj", "<none>"]) == [2, 3, 1, 1]
