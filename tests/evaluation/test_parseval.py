from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import GenrstError
from genrst.evaluation.counts import micro
from genrst.evaluation.parseval import LEVELS, shared_measures
from genrst.evaluation.report import evaluate
from tests.evaluation import reference
from tests.evaluation.samples import WordPair, as_tuple, chain, word_pairs

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
def test_the_text_of_one_side_measures_the_offsets_of_the_other(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    span = Span(start, data.draw(st.integers(start, len(text))))
    expected = shared_measures(bare(text), bare(text))[0](span)
    for pair in ((bare(text), bare(None)), (bare(None), bare(text))):
        assert [measure(span) for measure in shared_measures(*pair)] == [expected, expected]


def test_without_any_text_offsets_are_positions():
    for measure in shared_measures(bare(None), bare(None)):
        assert measure(Span(3, 7)) == (3, 7)


def test_signs_and_case_may_differ_but_not_the_number_of_characters():
    gold, predicted = shared_measures(bare("“Art” :"), bare('"ART":'))
    assert gold(Span(6, 7)) == predicted(Span(5, 6)) == (5, 6)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [("word0 word1", "abcde fghij"), ("naïve", "naive"), ("so.", "so"), ("so.", "sox"), ("1", "2")],
)
def test_texts_of_other_words_are_an_error(gold: str, predicted: str):
    for sides in ((gold, predicted), (predicted, gold)):
        with pytest.raises(GenrstError, match="must be the same except for white space"):
            shared_measures(*map(bare, sides))


def test_a_letter_in_a_hundred_may_differ():
    text = "In Lavan, the court stated the rule of the case. " * 10
    assert shared_measures(bare(text), bare(text.replace("Lavan", "Levan", 3)))
    with pytest.raises(GenrstError, match="got 'In Lavan, the court stat' in gold, 'In Levan"):
        shared_measures(bare(text), bare(text.replace("Lavan", "Levan")))


def offsets(*edus: tuple[int, int], text: str | None = None) -> Document:
    return Document("acme", text, tuple(Span(*edu) for edu in edus))


@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize(
    ("one", "other", "was"),
    [
        # The offsets of a tree alone are made up: it has two EDUs, wherever they are.
        (offsets((0, 1), (2, 3)), offsets((0, 3), (4, 9), text="One  two."), "those in .* have neither"),
        (offsets((0, 1), (2, 3)), offsets((0, 1), (2, 3), (4, 5)), "those in gold have neither"),
        (offsets((0, 3), (4, 8)), offsets((0, 3), (4, 9)), "0–8 in .*, 0–9 in|0–9 in .*, 0–8 in"),
        (offsets((0, 3), (4, 8)), offsets((0, 3), (4, 9), text="One two.!"), "0–8 in .*, 0–9 in|0–9 in .*, 0–8 in"),
        (offsets((0, 3), (4, 99)), offsets((0, 3), (4, 8), text="One two."), "0–8 in .*, 0–99 in|0–99 in .*, 0–8 in"),
    ],
)  # fmt: skip
def test_offsets_of_different_texts_are_an_error(one: Document, other: Document, was: str, is_swapped: bool):
    with pytest.raises(GenrstError, match=f"^acme: .*(?:{was})"):
        shared_measures(*((other, one) if is_swapped else (one, other)))


def test_different_texts_are_an_error_that_shows_where():
    gold = bare("The committee met on Monday in the old town hall, and then it left.")
    predicted = bare("The committee met on\nTuesday in the old town hall, and then it left.")
    with pytest.raises(GenrstError) as error:
        shared_measures(gold, predicted)
    assert str(error.value) == (
        "acme: gold and predicted text must be the same except for white space, "
        r"got 'ee met on Monday in the old to' in gold, 'ee met on\nTuesday in the old t' in predicted"
    )


def test_a_text_that_goes_on_is_an_error_too():
    with pytest.raises(GenrstError, match="got 'One two' in gold, 'One two three' in predicted"):
        shared_measures(bare("One two"), bare("One two three"))


def level_of_words(pair: WordPair, span: tuple[int, int]) -> str:
    words = set(range(*span))
    if any(words <= set(sentence) for sentence in pair.sentences):
        return "sentence"
    return "paragraph" if any(words <= set(paragraph) for paragraph in pair.paragraphs) else "document"


@pytest.mark.slow
@given(word_pairs())
def test_levels_equal_a_naive_division_and_add_up(pair: WordPair):
    assert pair.gold.tree is not None
    assert pair.predicted.tree is not None
    result = evaluate([pair.gold], [pair.predicted], labels="fine")
    levels = result.levels()
    assert levels is not None
    assert tuple(levels) == LEVELS
    sides = (pair.gold.tree, pair.gold_edus), (pair.predicted.tree, pair.predicted_edus)
    gold, predicted = (
        reference.parseval(reference.binary(reference.nested(tree, {"Attribution": "attribution"})), edus)
        for tree, edus in sides
    )
    for aspect in "SNRF":
        assert micro(cells[aspect] for cells in levels.values()) == result.micro()[aspect]
        for level, cells in levels.items():
            gold_items = [item for item in gold if level_of_words(pair, item[0]) == level]
            predicted_items = [item for item in predicted if level_of_words(pair, item[0]) == level]
            assert as_tuple(cells[aspect]) == reference.counts(gold_items, predicted_items, aspect)


@given(word_pairs())
def test_offsets_alone_give_the_same_levels(pair: WordPair):
    with_text = evaluate([pair.gold], [pair.gold]).levels()
    assert evaluate([pair.gold], [replace(pair.gold, text=None)]).levels() == with_text


def test_levels_are_unknown_without_sentences():
    plain = Document.from_edus("plain", ["a", "b"], chain("joint", "NN", 2))
    known = replace(plain, id="known", sentences=plain.edus)
    assert evaluate([plain], [plain]).levels() is None
    assert evaluate([plain, known], [plain, known]).levels() is None
    assert evaluate([known], [known]).levels() is not None


def test_without_paragraphs_all_above_the_sentence_is_the_document():
    document = Document.from_edus("x", ["a", "b"], chain("joint", "NN", 2))
    levels = evaluate([replace(document, sentences=document.edus)], [document]).levels()
    assert levels is not None
    assert [as_tuple(cells["S"]) for cells in levels.values()] == [(0, 0, 0), (0, 0, 0), (1, 1, 1)]
