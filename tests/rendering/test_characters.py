import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.rendering.measure import inert, is_right_to_left, printable

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(text=ANY_TEXT)
def test_printable_text_has_no_control_characters_and_can_be_encoded(text: str):
    assert not {unicodedata.category(character) for character in printable(text)} & {"Cc", "Cs", "Zl", "Zp"}
    printable(text).encode()


@given(text=ANY_TEXT)
def test_inert_text_has_nothing_that_a_terminal_obeys(text: str):
    shown = inert(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    directions = {unicodedata.bidirectional(character) for character in shown}
    assert not directions & {"LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(text=st.text(st.characters(categories=("L", "N", "P", "Zs"))))
def test_ordinary_text_stays(text: str):
    assert printable(text) == inert(text) == text


def test_examples():
    assert printable("a\r\nb\tc\x00d\ud800e\x1b[0m\ufffe") == "a b c\ufffdd\ufffde\ufffd[0m\ufffd"
    assert inert("a\nb\x1b[31m\x07\x7f\x9b\u202e") == "a b␛[31m␇␡\ufffd\ufffd"


@pytest.mark.parametrize(
    ("text", "expected"), [("", False), ("abc", False), ("שלום", True), ("نعم 123!", True), ("the word שלום", False)]
)
def test_direction(text: str, expected: bool):
    assert is_right_to_left(text) is expected
