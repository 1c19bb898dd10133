import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.rendering import measure
from genrst.rendering.measure import (
    CharacterWidth,
    advance,
    columns,
    is_right_to_left,
    shorten,
    text_width,
    wrap,
)
from tests.rendering.samples import SCRIPTS

PRINTABLE = st.text(st.characters(exclude_categories=("Cc", "Cs")))
WORDS = st.text("ab-/ \u3000漢、「」e\u0301\u200d🎉한😀🏽", max_size=40)


@pytest.mark.parametrize("character_width", [advance, columns])
@given(text=PRINTABLE | WORDS, width=st.integers(1, 20))
def test_wrapping_loses_only_white_space_and_fits(character_width: CharacterWidth, text: str, width: int):
    lines = wrap(text, width, character_width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert line.strip(" \u3000")
        assert sum(map(character_width, line)) <= width + 1e-9 or sum(character_width(c) > 0 for c in line) == 1


@given(text=WORDS, width=st.integers(4, 20))
def test_a_line_is_broken_only_where_the_next_piece_does_not_fit(text: str, width: int):
    lines = wrap(text, width, columns)
    rejoined = wrap("".join(lines), 10**6, columns)
    assert len(rejoined) <= 1
    if sum(map(columns, text.strip(" \u3000"))) <= width:
        assert len(lines) <= 1


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, []),
        ("   ", 5, []),
        ("one two  three", 9, ["one two", "three"]),
        ("one  two", 9, ["one  two"]),
        ("elaboration-additional", 15, ["elaboration-", "additional"]),
        ("1990-1995 is", 9, ["1990-1995", "is"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a\xa0b c", 3, ["a\xa0b", "c"]),
        ("漢字漢字。", 8, ["漢字漢", "字。"]),
        ("漢「字」", 4, ["漢", "「字", "」"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
        ("👍🏽👍🏽", 4, ["👍🏽", "👍🏽"]),
    ],
)
def test_examples(text: str, width: int, lines: list[str]):
    assert wrap(text, width, columns) == lines


def test_marks_have_no_width_and_east_asian_letters_are_wide():
    assert [columns(character) for character in "a\u0301\u200d漢ｱ한🎉ａ"] == [1, 0, 0, 2, 1, 2, 2, 2]
    assert [advance(character) for character in "漢\u0301\u200b"] == [1.0, 0.0, 0.0]
    assert advance("ä") == advance("a")


@pytest.mark.parametrize("script", ["russian", "hebrew", "arabic", "long words"])
def test_texts_are_not_wider_than_measured(script: str):
    font_manager = pytest.importorskip("matplotlib.font_manager")
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    for text in SCRIPTS[script]:
        font.set_size(200.0, 72)  # so large that letters are not fitted to pixels
        font.set_text(text)
        assert font.get_width_height()[0] / 64 <= text_width(text, 200.0) * 1.01, text


def test_shortened_lines_end_in_an_ellipsis_and_fit():
    assert shorten(["one", "two"], 2, 3, columns) == ["one", "two"]
    assert shorten(["one", "two", "three"], 2, 3, columns) == ["one", "tw…"]
    assert shorten(["one", "two"], 1, 5, columns) == ["one…"]


def test_docstrings():
    assert doctest.testmod(measure).failed == 0


@pytest.mark.parametrize(
    ("text", "expected"), [("", False), ("abc", False), ("שלום", True), ("نعم 123!", True), ("the word שלום", False)]
)
def test_direction(text: str, expected: bool):
    assert is_right_to_left(text) is expected
