"""What EDUs begin, and the layout of units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import ConfigError
from genrst.rnng.transitions.features import Syntax, boundaries, n_boundaries, n_classes
from genrst.text.layout import SIZES, Kind
from tests.rnng.transitions.definition import unit_layout

KINDS = st.sampled_from([*map(int, Kind)])


def syntax(sentences: list[int], paragraphs: list[int], kinds: list[int]) -> Syntax:
    """An EDU is a token here."""
    tokens = list(range(len(sentences)))
    return Syntax(tokens, tokens, [*tokens, len(tokens)], sentences, paragraphs, kinds)


FIVE = syntax([0, 0, 1, 2, 2], [0, 0, 0, 1, 1], [Kind.HEADING, 0, Kind.TURN, Kind.ITEM, 0])


def test_boundaries_by_hand():
    found = boundaries(FIVE)
    assert found == [2, 0, 1, 2, 0]
    assert unit_layout(found, 0, 1) == (3, 1, 1)
    assert unit_layout(found, 0, 2) == (3, 1, 2)
    assert unit_layout(found, 1, 3) == (1, 2, 2)
    assert unit_layout(found, 2, 5) == (2, 3, 3)
    assert unit_layout(found, -1, -1) == (0, 0, 0)


def test_kinds_by_hand():
    found = boundaries(FIVE, has_kinds=True)
    assert found == [5, 0, 4, 2, 0]
    assert unit_layout(found, 0, 2) == (6, 1, 2)
    assert unit_layout(found, 1, 5) == (1, 5, 4), "a turn is stronger than an item"
    assert unit_layout(found, 3, 5) == (3, 1, 2)


@given(st.lists(KINDS, min_size=1, max_size=9))
def test_kinds_are_as_they_are_known_but_for_the_first(kinds: list[int]):
    """A part of a document that starts anywhere begins a paragraph."""
    first, *others = boundaries(syntax([0] * len(kinds), [0] * len(kinds), kinds), has_kinds=True)
    assert others == kinds[1:]
    assert first == (kinds[0] if kinds[0] in (Kind.ITEM, Kind.HEADING) else Kind.PARAGRAPH)


@pytest.mark.parametrize("has_kinds", [False, True])
def test_there_are_as_many_classes_as_there_can_be(has_kinds: bool):
    strongest = n_boundaries(has_kinds) - 1
    largest = unit_layout([strongest] * 999, 0, 999)
    assert tuple(number + 1 for number in largest) == n_classes(has_kinds)
    assert n_classes(has_kinds) == ((7, 7, 2 + len(SIZES)) if has_kinds else (4, 4, 2 + len(SIZES)))


def test_kinds_that_nobody_knows_are_one_line():
    unknown = syntax([0, 1], [0, 0], [])
    assert boundaries(unknown) == [2, 1]
    with pytest.raises(
        ConfigError, match=r"^model.layout_kinds: the features were prepared without kinds of layout.*$"
    ):
        boundaries(unknown, has_kinds=True)
