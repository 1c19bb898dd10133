"""Whether a text looks English: real texts, other languages, anything."""

from pathlib import Path

import pytest
from hypothesis import given

from genrst.corpora.corpus import load_corpus
from genrst.text.raw import looks_english
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


@pytest.mark.corpus
def test_all_of_gum_is_english(corpora: Path):
    assert [document.id for document in load_corpus(corpora / "gum") if not looks_english(document.text or "")] == []
