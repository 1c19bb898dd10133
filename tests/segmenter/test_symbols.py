from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import ConfigError
from genrst.segmenter.features import COLUMNS, OpenSymbols, Symbols
from genrst.vocabulary import SPECIALS, UNK_ID

ROWS = st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", "", *SPECIALS])] * len(COLUMNS)), min_size=1, max_size=30)


@given(st.lists(ROWS, min_size=1, max_size=3), st.integers(1, 4), st.integers(0, 3))
def test_counting_while_reading_gives_what_counting_first_gives(texts, min_count, limit):
    opened = OpenSymbols()
    numbered = [opened.number(rows) for rows in texts]
    symbols = opened.close(numbered, min_count, {"suffix": limit})
    for column, vocabulary in enumerate(symbols.vocabularies):
        counts = Counter(row[column] for rows in texts for row in rows)
        kept = [s for s, n in counts.items() if n >= min_count and s not in SPECIALS]
        kept.sort(key=lambda symbol: (-counts[symbol], symbol))
        assert vocabulary.symbols == (*SPECIALS, *kept[: limit if COLUMNS[column] == "suffix" else None])
    renumber = opened.renumbering(symbols)
    for rows, numbers in zip(texts, numbered, strict=True):
        np.testing.assert_array_equal(renumber(numbers), symbols.number(rows))
    assert Symbols.from_dict(symbols.as_dict()) == symbols


def test_what_is_not_known_is_unknown():
    opened = OpenSymbols()
    row = tuple("abcdefgh")
    symbols = opened.close([opened.number([row, row])], 2, {})
    assert symbols.number([tuple("zzzzzzzz")]).tolist() == [[UNK_ID] * len(COLUMNS)]
    assert symbols.number([row]).tolist() == [[len(SPECIALS)] * len(COLUMNS)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: {},
        lambda data: [],
        lambda data: data | {"tag": None},
        lambda data: data | {"word": data["word"][1:]},
        lambda data: {name: value for name, value in data.items() if name != "kind"},
    ],
)
def test_wrong_symbols(damage):
    data = Symbols.from_dict({name: list(SPECIALS) for name in COLUMNS}).as_dict()
    with pytest.raises(ConfigError, match="symbols"):
        Symbols.from_dict(damage(data))
