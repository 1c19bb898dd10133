from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from genrst.evaluation.counts import Counts, Scores, count_matches, macro, micro


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_scores_follow_from_the_definitions(gold: list[int], predicted: list[int]):
    counts = count_matches(gold, predicted)
    tp = sum(min(gold.count(item), predicted.count(item)) for item in range(10))
    assert (counts.tp, counts.n_gold, counts.n_pred) == (tp, len(gold), len(predicted))
    nothing = Fraction(not gold and not predicted)
    precision = Fraction(tp, len(predicted)) if predicted else nothing
    recall = Fraction(tp, len(gold)) if gold else nothing
    f1 = 2 * precision * recall / (precision + recall) if tp else nothing
    assert counts.scores == Scores(float(precision), float(recall), float(f1))


def test_nothing_scores_zero_unless_nothing_is_right():
    assert Counts(0, 3, 0).scores == Counts(0, 0, 3).scores == Scores(0, 0, 0)
    assert Counts().scores == Scores(1, 1, 1)
    assert micro([]) == Counts()
    assert macro([]) == Scores(0, 0, 0)


def test_micro_adds_and_macro_averages():
    documents = [Counts(1, 1, 2), Counts(0, 3, 0)]
    assert micro(documents) == Counts(1, 4, 2)
    assert macro(documents) == Scores(0.25, 0.5, (2 / 3) / 2)
