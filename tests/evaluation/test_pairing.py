import pytest

from genrst.document import Document
from genrst.errors import GenrstError
from genrst.evaluation.report import pair_by_id


def documents(ids: str) -> list[Document]:
    return [Document.from_edus(id, ["x"]) for id in ids]


def test_pairs_stand_in_gold_order():
    pairs = pair_by_id(documents("bca"), documents("abc"))
    assert [(gold.id, predicted.id) for gold, predicted in pairs] == [("b", "b"), ("c", "c"), ("a", "a")]


def test_one_document_against_one_other_needs_no_names():
    ((gold, predicted),) = pair_by_id(documents("a"), documents("b"))
    assert (gold.id, predicted.id) == ("a", "b")


@pytest.mark.parametrize(
    ("gold", "predicted", "was"),
    [
        ("aab", "ab", "twice in gold a"),
        ("ab", "abb", "twice in predicted b"),
        ("abcdefgh", "a", "only in gold b, c, d, e, f and 2 more"),
        ("abb", "cdd", "twice in gold b; twice in predicted d; only in gold a, b; only in predicted c, d"),
    ],
)
def test_ids_must_be_the_same(gold: str, predicted: str, was: str):
    with pytest.raises(GenrstError) as error:
        pair_by_id(documents(gold), documents(predicted))
    assert str(error.value).endswith(f"must have the same ids, each once, was: {was}")


def test_nothing_cannot_be_scored():
    with pytest.raises(GenrstError, match="at least one document"):
        pair_by_id([], [])
