import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import GenrstError
from genrst.evaluation.parseval import shared_measures

TEXTS = st.text(st.sampled_from("ab. \n\t\u00a0\u2003\u3000"), max_size=20)


def bare(text: str | None) -> Document:
    return Document("acme", text, (Span(0, 0),))


@given(TEXTS, st.data())
def test_a_position_is_the_number_of_visible_characters_before_it(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    measure, _ = shared_measures(bare(text), bare("".join(text.split())))
    expected = tuple(sum(not character.isspace() for character in text[:offset]) for offset in (start, end))
    assert measure(Span(start, end)) == expected


@given(TEXTS, st.data())
def test_without_one_text_offsets_count_and_edges_are_trimmed(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    with_text, without = shared_measures(bare(text), bare(None))
    assert without(Span(start, end)) == (start, end)
    first, last = with_text(Span(start, end))
    assert start <= first <= last <= end
    assert text[first:last] == text[start:end].strip()


def test_characters_may_differ_but_not_their_number():
    gold, predicted = shared_measures(bare("“Art” :"), bare('"Art":'))
    assert gold(Span(6, 7)) == predicted(Span(5, 6)) == (5, 6)


def test_different_texts_are_an_error_that_shows_where():
    gold = bare("The committee met on Monday in the old town hall, and then it left.")
    predicted = bare("The committee met on\nTuesday in the old town hall, and then it left.")
    with pytest.raises(GenrstError) as error:
        shared_measures(gold, predicted)
    assert str(error.value) == (
        "acme: gold and predicted text must be the same but for white space, "
        r"was: 'ee met on Monday in the old to' in gold, 'ee met on\nTuesday in the old t' in predicted"
    )


def test_a_text_that_goes_on_is_an_error_too():
    with pytest.raises(GenrstError, match="was: 'One two' in gold, 'One two three' in predicted"):
        shared_measures(bare("One two"), bare("One two three"))
