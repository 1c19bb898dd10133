"""EDUs found in a running text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import CorpusFormatError
from genrst.formats.plain import align_edus

SPACES = st.text(st.sampled_from(" \n\t\u00a0\u2003\u2028\x85\x1f"), max_size=3)
PIECES = st.lists(st.tuples(SPACES, st.text(min_size=1, max_size=6), SPACES), min_size=1, max_size=8)


def brute_force(edus: list[str], text: str) -> list[Span]:
    """Character by character, for EDUs that are known to fit."""
    spans = []
    at = 0
    for edu in edus:
        matched = []
        for character in (c for c in edu if not c.isspace()):
            while text[at].isspace():
                at += 1
            assert text[at] == character
            matched.append(at)
            at += 1
        spans.append(Span(matched[0], matched[-1] + 1) if matched else Span(at, at))
    return spans


@given(PIECES, st.data())
def test_agrees_with_brute_force(pieces: list[tuple[str, str, str]], data: st.DataObject) -> None:
    edus = [before + word + after for before, word, after in pieces]
    text = "".join(data.draw(SPACES) + "".join(character + data.draw(SPACES) for character in edu) for edu in edus)
    spans = align_edus(edus, text)
    assert spans == brute_force(edus, text)
    Document("aligned", text, tuple(spans))
    for span, edu in zip(spans, edus, strict=True):
        assert "".join(text[span.start : span.end].split()) == "".join(edu.split())
        assert text[span.start : span.end].strip() == text[span.start : span.end]


@given(PIECES, st.integers(0, 100), st.characters(exclude_categories=["Z", "Cc"]))
def test_any_other_character_is_an_error(pieces: list[tuple[str, str, str]], at: int, other: str) -> None:
    edus = [word for _, word, _ in pieces]
    text = " ".join(edus)
    at %= len(text) + 1
    changed = text[:at] + other + text[at:]
    with pytest.raises(CorpusFormatError, match=r"EDU \d+"):
        align_edus(edus, changed)
    with pytest.raises(CorpusFormatError, match=r"EDU \d+"):
        align_edus([*edus[:-1], edus[-1] + other], text)


def test_offsets() -> None:
    assert align_edus(["It rained,", "", "so we stayed  in."], " It rained, so\nwe stayed in.\n") == [
        Span(1, 11),
        Span(11, 11),
        Span(12, 28),
    ]


def test_no_edus_and_no_text() -> None:
    assert align_edus([], " \n") == []
    with pytest.raises(CorpusFormatError):
        align_edus([], "a")


def test_the_error_shows_both_sides() -> None:
    text = "First part. " + "a long way " * 20 + "to the RIGHT word, and on " + "and on " * 20
    edus = ["First part.", "a long way " * 20 + "to the WRONG word, and on " + "and on " * 20]
    with pytest.raises(CorpusFormatError, match="EDU 2 of 2 must match the text") as caught:
        align_edus(edus, text)
    there, found = re.findall(r"'([^']*)'", caught.value.message)
    assert (there, found) == ("ong way to the RIGHT word, and", "ong way to the WRONG word, and")


def test_text_after_the_last_edu_is_an_error() -> None:
    with pytest.raises(CorpusFormatError, match="the text must end after EDU 1 of 1, got 'all more'"):
        align_edus(["all"], "all more")
    assert align_edus(["all"], "all more", may_go_on=True) == [Span(0, 3)]


@pytest.mark.slow
def test_a_long_text_takes_linear_time() -> None:
    words = ["word"] * 200_000
    spans = align_edus(words, " ".join(words))
    assert spans[-1] == Span(5 * 199_999, 5 * 200_000 - 1)
