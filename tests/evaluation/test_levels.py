from dataclasses import replace

from hypothesis import given, settings

from genrst.document import Document
from genrst.evaluation.counts import micro
from genrst.evaluation.parseval import LEVELS
from genrst.evaluation.report import evaluate
from tests.evaluation import reference
from tests.evaluation.samples import WordPair, as_tuple, chain, word_pairs


def level_of_words(pair: WordPair, span: tuple[int, int]) -> str:
    words = set(range(*span))
    if any(words <= set(sentence) for sentence in pair.sentences):
        return "sentence"
    return "paragraph" if any(words <= set(paragraph) for paragraph in pair.paragraphs) else "document"


@settings(max_examples=200, deadline=None)
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


@settings(deadline=None)
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
