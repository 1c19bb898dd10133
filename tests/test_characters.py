"""Whatever a text holds, no terminal obeys it."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from genrst.characters import LONGEST_MESSAGE, escape_json, inert, one_line, printable
from genrst.cli.console import inert_lines

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


def test_examples_of_characters_made_safe():
    assert printable("a\r\nb\tc\x00d\ud800e\x1b[0m\ufffe") == "a b c\ufffdd\ufffde\ufffd[0m\ufffd"
    assert inert("a\nb\x1b[31m\x07\x7f\x9b\u202e") == "a b␛[31m␇␡\ufffd\ufffd"


@given(text=ANY_TEXT)
def test_lines_and_tabs_stay(text: str):
    shown = inert_lines(text)
    assert [line.count("\t") for line in shown.split("\n")] == [line.count("\t") for line in text.split("\n")]
    assert inert(shown) == inert(shown.replace("\n", " ").replace("\t", " "))
    assert shown.replace("\n", " ").replace("\t", " ") == inert(text.replace("\n", " ").replace("\t", " "))


@given(text=ANY_TEXT)
def test_json_is_escaped_without_changing_its_value(text: str):
    shown = escape_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert inert_lines(shown) == shown


@given(text=ANY_TEXT, n_times=st.integers(1, 2000))
def test_messages_are_one_line_of_bounded_length(text: str, n_times: int):
    shown = one_line(text * n_times)
    assert inert(shown) == shown
    assert len(shown) <= LONGEST_MESSAGE


def test_both_ends_of_a_long_message_stay():
    assert one_line("two\nlines \n") == "two lines "
    assert one_line("caf\udce9.txt") == "caf\\udce9.txt"
    shown = one_line(f"a.json: {'x' * 460_000}: File name too long")
    assert shown.startswith("a.json: xxx")
    assert shown.endswith("xxx: File name too long")
