"""Raw texts as documents."""

import unicodedata

import pytest
from hypothesis import given

from genrst.document import Document, Span
from genrst.errors import TreeError
from genrst.text.layout import paragraphs
from genrst.text.raw import unsegmented
from tests.text.hostile import texts


@given(texts)
def test_any_text_is_one_edu_or_one_error(text: str):
    start = len(text) - len(text.lstrip())
    if all(unicodedata.category(character)[0] in "CMZ" for character in text):
        with pytest.raises(TreeError) as caught:
            unsegmented("a", text)
        assert len(str(caught.value).splitlines()) == 1
    else:
        expected = (Span(start, start + len(text.strip())),)
        assert unsegmented("a", text) == Document("a", text, expected, paragraphs=paragraphs(text))


def test_an_example():
    text = "\n# Ferry\r\n\r\n It stopped. \n"
    document = unsegmented("a", text)
    assert document.edu_texts == ["# Ferry\r\n\r\n It stopped."]
    assert document.paragraphs == (Span(1, 8, "head"), Span(13, 24, "p"))


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\u00a0\u3000", "\ufeff", "\u200b\u200d\u2060", "\0\x1b", "\ud800", "\u0301", "\ufe0f\n" * 999],
)
def test_texts_without_a_word(text: str):
    with pytest.raises(TreeError, match=r"^page: a text must have a word, was: '.*'$") as caught:
        unsegmented("page", text)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["a", "?", "\ufeffa", "1", "日", "👩", "\u0301a", "€"])
def test_texts_with_a_word(text: str):
    assert unsegmented("a", text).edu_texts == [text]
