"""Texts that are hard to parse: a tree all the same, nothing lost, one warning or one line."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst import Failure, Leaf, Parser, Unit
from genrst.corpora.corpus import load_corpus
from genrst.errors import ParserWarning, TreeError, UsageError
from genrst.parser.loading import load
from genrst.parser.parser import Text
from tests.parser.samples import check
from tests.text.hostile import texts

EDUS = ["It rained,", "so we stayed in.", "Nobody was hurt."]


@pytest.fixture(scope="module")
def greedy(tiny: Path) -> Parser:
    return load(tiny, device="cpu", search="greedy")


GERMAN = """Die Fähre nach Skara fährt im Mai nicht mehr, weil der Hafen zu flach ist. Der Rat hat kein Geld, um ihn
auszubaggern, sagte der Bürgermeister. Bis dahin können die Bewohner das Postboot nehmen, das um sechs Uhr abfährt, oder
einen Fischer fragen. Früher war das anders, sagen die Alten, aber das glaubt ihnen heute niemand mehr."""


OTHERS = [GERMAN, "מעבורת הנמל תחזור לפעול ביום שני", "日本語の文章です。雨が降った。", "Гавань закрыта."]


@pytest.mark.parametrize("text", OTHERS)
def test_other_languages_are_parsed_with_one_warning(tiny: Path, text: str):
    parser = load(tiny)
    with pytest.warns(ParserWarning, match="^text: the text does not look like English; its tree is unreliable$"):
        document = parser(text)
    check(document, text)
    check(parser(text), text)


def test_a_tree_that_needs_the_whole_stack(tiny: Path):
    parser = load(tiny, max_stack=2)
    with pytest.warns(ParserWarning, match="^text: the best tree fills the stack of 2 units; a larger stack may"):
        parser.parse_edus(EDUS * 3)


# Texts that nobody wrote to be read.

ODD = {
    "one word": "Hello",
    "one letter": "a",
    "one sign": "?",
    "nul": "It rained,\0 so we stayed.",
    "control": "It \x1b[31mrained\x07, so\x08 we stayed. \x7f\x9f",
    "line ends": "It rained.\rWe stayed.\r\nNobody\x85 was\u2028 hurt.\f\v\u2029 Why?",
    "emoji": "It rained 🌧️🌧️, so we stayed 👩‍👩‍👧 in. 🏳️‍🌈",
    "surrogates": "\ud800It rained,\udfff so we \ud83d stayed in.\ud800",
    "direction": "It rained \u202eso we stayed\u202c in.",
    "markup": "<html><body onload='x()'><p>It rained, <b>so</b> we stayed.</p><!-- > --></body></html>",
    "no words": "!!! ??? ... --- 123 456",
    "many lines": "\n" * 50 + "It rained." + "\n" * 50 + "We stayed." + " " * 100,
    "one token": "x" * 5000,
    "invisible": "\u200b\ufeffIt rained\u200d, so\u2060 we stayed.\ufeff",
    "accents": "e\u0301" * 100 + " It\u0301 rained.",
}


@pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")
@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts(parser: Parser, text: str):
    document = parser(text)
    check(document, text)
    assert document.log_probability is not None
    assert math.isfinite(document.log_probability)


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0\u3000", "\0", "\ufeff", "\ud800", "\u200b\u200d", "\x1b\x07"])
def test_texts_without_a_word(parser: Parser, text: str):
    with pytest.raises(TreeError, match=r"^text: a text must have at least one word, got '"):
        parser(text)
    with pytest.raises(TreeError, match=r"^text: a text must have at least one word, got '"):
        parser.segment(text)


@pytest.mark.parametrize("text", [None, 3, b"bytes", {}])
def test_what_is_no_text(parser: Parser, text: Any):
    for read in (parser, parser.segment):
        with pytest.raises(UsageError, match=f"^text: .* a text, a list of EDUs or .*, got {type(text).__name__}$"):
            read(text)
    with pytest.raises(UsageError, match=f"^rain: a text must be a string, got {type(text).__name__}$"):
        Text("rain", text)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")
@settings(max_examples=25)
@given(st.lists(texts, min_size=5, max_size=5), st.booleans())
def test_no_character_is_lost(parser: Parser, greedy: Parser, hostile: list[str], is_greedy: bool):
    for text, outcome in zip(hostile, (greedy if is_greedy else parser).pipe(hostile), strict=True):
        if isinstance(outcome, Failure):
            assert re.match(r"text-\d: a text must have at least one word, got '", str(outcome.error))
        else:
            check(outcome, text)


@pytest.mark.corpus
@pytest.mark.slow
def test_no_character_of_gum_is_lost(corpora: Path, parser: Parser):
    found = list(load_corpus(corpora / "gum", split="dev"))[::4]
    assert len(found) > 5
    for document in found:
        text = document.text or ""
        segmented = parser.segment(text)
        check(replace(segmented, tree=right_branching(len(segmented.edus))), text)


# Of few and long words: what is tested is a long text, and many words or EDUs take minutes.
SENTENCE = f"In May {(9 * 'incomprehensibilities' + ' ') * 8}stopped."


def right_branching(n_edus: int) -> Any:
    tree: Any = Leaf(n_edus - 1)
    for edu in range(n_edus - 2, -1, -1):
        tree = Unit("x", "NN", (Leaf(edu), tree))
    return tree


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")
@pytest.mark.parametrize("text", ["a" * 1_000_000, f"{SENTENCE}\n" * (1_000_000 // len(SENTENCE))])
def test_a_million_characters(greedy: Parser, text: str):
    check(greedy(text), text)
