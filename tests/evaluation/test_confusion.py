from hypothesis import given, settings

from genrst.document import Document
from genrst.evaluation.report import count_confusions, evaluate
from genrst.trees.node import Leaf, Unit
from tests.evaluation.samples import WordPair, word_pairs


@settings(deadline=None)
@given(word_pairs())
def test_rows_are_gold_columns_are_predicted_and_the_diagonal_is_right(pair: WordPair):
    result = evaluate([pair.gold], [pair.predicted])
    confusion, relations = count_confusions(result), result.relations()
    assert set(confusion.relations) == set(relations)
    for place, relation in enumerate(confusion.relations):
        counts = relations[relation]["R"]
        assert confusion.matrix[place].sum() == counts.n_gold
        assert confusion.matrix[:, place].sum() == counts.n_pred
        assert confusion.matrix[place, place] == counts.tp
    assert confusion.matrix[:-1, :-1].sum() == result.micro()["S"].tp
    assert confusion.matrix[-1, -1] == 0


def test_by_hand():
    gold_tree = Unit("contrast", "NN", (Leaf(0), Unit("cause", "NS", (Leaf(1), Leaf(2)))))
    predicted_tree = Unit("joint", "NN", (Unit("cause", "NS", (Leaf(0), Leaf(1))), Leaf(2)))
    gold = Document.from_edus("x", ["a", "b", "c"], gold_tree)
    predicted = Document.from_edus("x", ["a", "b", "c"], predicted_tree)
    confusion = count_confusions(evaluate([gold], [predicted]))
    assert confusion.rows == ("cause", "contrast", "joint", "spurious")
    assert confusion.columns == ("cause", "contrast", "joint", "missed")
    assert confusion.matrix.tolist() == [[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
