"""Raw texts as documents, and whether they look English: real texts, other languages, anything."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given

from genrst.corpora.corpus import load_corpus
from genrst.document import Document, Span
from genrst.errors import TreeError
from genrst.text.layout import paragraphs
from genrst.text.raw import looks_english, unsegmented
from tests.text.hostile import texts

ENGLISH = (
    "The ferry to Skara stopped in May, because the harbour is too shallow, but nobody has the money to dredge it. "
)
OTHERS = {
    "German": "Die Fähre nach Skara fährt im Mai nicht mehr, weil der Hafen so flach ist. Der Rat hat kein Geld. ",
    "Dutch": "De veerboot naar Skara stopt in mei, want de haven is te ondiep en we hebben geen geld. Dat was zo. ",
    "Danish": "Færgen til Skara stopper i maj, for havnen er for lav, og der er ingen penge til at grave den ud. ",
    "French": "Le bac pour Skara cesse en mai, parce que le port est trop peu profond et que la ville est pauvre. ",
    "Spanish": "El ferry a Skara se detiene en mayo, porque el puerto es poco profundo y no hay dinero para eso. ",
    "Latin": "Gallia est omnis divisa in partes tres quarum unam incolunt Belgae aliam Aquitani tertiam Galli. ",
}


@given(texts)
def test_any_text_is_one_edu_or_one_error(text: str):
    start = len(text) - len(text.lstrip())
    if all(unicodedata.category(character)[0] in "CMZ" for character in text):
        with pytest.raises(TreeError) as caught:
            unsegmented("a", text)
        assert len(str(caught.value).splitlines()) == 1
    else:
        expected = (Span(start, start + len(text.strip())),)
        assert unsegmented("a", text) == Document("a", text, expected, paragraphs=paragraphs(text), is_segmented=False)


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
    with pytest.raises(TreeError, match=r"^page: a text must have at least one word, got '.*'$") as caught:
        unsegmented("page", text)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["a", "?", "\ufeffa", "1", "日", "👩", "\u0301a", "€"])
def test_texts_with_a_word(text: str):
    assert unsegmented("a", text).edu_texts == [text]


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages(language: str):
    assert not looks_english(3 * OTHERS[language])
    assert looks_english(OTHERS[language]), "too short to tell"
    assert looks_english(OTHERS[language] + 3 * ENGLISH), "a quotation does not matter"


@pytest.mark.parametrize("text", ["Гавань закрыта.", "雨が降った。", "مرحبا بالعالم", "שלום עולם, hello"])
def test_other_scripts(text: str):
    assert not looks_english(text)


@pytest.mark.parametrize("text", ["", "?", "1 2 3", "Hello", ENGLISH, "naïve café", ENGLISH * 10_000, "👩\u200d👧"])
def test_what_may_be_english(text: str):
    assert looks_english(text)


@given(texts)
def test_any_text_has_an_answer(text: str):
    assert looks_english(text) in (True, False)


@pytest.mark.slow
@pytest.mark.corpus
def test_all_of_gum_is_english(corpora: Path):
    assert [document.id for document in load_corpus(corpora / "gum") if not looks_english(document.text or "")] == []
