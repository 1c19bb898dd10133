from hypothesis import given, settings

from genrst.document import Document, Span
from genrst.evaluation.counts import Counts
from genrst.evaluation.report import evaluate, score_segmentation
from tests.evaluation.samples import WordPair, word_pairs


@settings(deadline=None)
@given(word_pairs())
def test_starts_inside_the_document_count(pair: WordPair):
    gold = {edu.start for edu in pair.gold_edus if edu.start > 0}
    predicted = {edu.start for edu in pair.predicted_edus if edu.start > 0}
    expected = Counts(len(gold & predicted), len(gold), len(predicted))
    assert score_segmentation([pair.gold], [pair.predicted]) == expected
    assert evaluate([pair.gold], [pair.predicted]).segmentation() == expected


def test_no_tree_is_needed():
    gold = [Document.from_edus("a", ["One", "two", "three."]), Document.from_edus("b", ["x"])]
    predicted = [Document.from_edus("b", ["x"]), Document.from_edus("a", ["One two", "three", "."])]
    assert score_segmentation(gold, predicted) == Counts(1, 2, 2)


def test_offsets_alone_are_enough():
    gold = Document("a", None, (Span(0, 3), Span(4, 9)))
    predicted = Document("a", "One  two.", (Span(0, 4), Span(4, 9)))
    # With its text known, the predicted second EDU starts behind the space at 4.
    assert score_segmentation([gold], [predicted]) == Counts(0, 1, 1)
    assert score_segmentation([gold], [gold]) == Counts(1, 1, 1)
