from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.outputs.summary import OMISSION, summary, summary_rows, summary_text
from genrst.trees.measures import importance
from genrst.trees.node import Leaf, Unit
from tests.outputs.samples import DEEP, FERRY, chain, ferry, one_edu, textless, wild_documents
from tests.strategies import documents

SHARES = st.integers(1, 100)


def ranking(document: Document) -> list[int]:
    assert document.tree is not None
    scores = importance(document.tree)
    return [edu for score in sorted(set(scores), reverse=True) for edu, other in enumerate(scores) if other == score]


def n_words(document: Document, edus: list[int]) -> int:
    return sum(len(document.edu_texts[edu].split()) for edu in edus)


@given(documents(), st.integers(1, 20))
def test_a_number_of_edus(document: Document, n_edus: int):
    assert summary(document, n_edus=n_edus) == sorted(ranking(document)[:n_edus])


@pytest.mark.slow
@given(documents(), SHARES)
def test_a_share_of_the_words(document: Document, percent: int):
    """As many EDUs as fit, not one more, and at least one."""
    edus = summary(document, share=percent / 100)
    budget = Fraction(percent, 100) * n_words(document, list(range(len(document.edus))))
    assert edus == sorted(ranking(document)[: len(edus)])
    assert len(edus) == 1 or n_words(document, edus) <= budget
    more = ranking(document)[: len(edus) + 1]
    assert len(more) == len(edus) or n_words(document, more) > budget


@given(wild_documents(), SHARES, SHARES)
def test_shorter_summaries_are_parts_of_longer_ones(document: Document, one: int, other: int):
    shorter, longer = (summary(document, share=percent / 100) for percent in sorted((one, other)))
    assert set(shorter) <= set(longer)


@given(documents(), SHARES)
def test_the_text_is_made_of_slices(document: Document, percent: int):
    """Runs of EDUs, which a space separates in these documents, are slices of the text."""
    edus = summary(document, share=percent / 100)
    starts = [edu for edu in edus if edu - 1 not in edus]
    stops = [edu for edu in edus if edu + 1 not in edus]
    assert document.text is not None
    slices = [
        document.text[document.edus[start].start : document.edus[stop].end]
        for start, stop in zip(starts, stops, strict=True)
    ]
    assert summary_text(document, share=percent / 100) == OMISSION.join(slices)


@given(wild_documents(), SHARES)
def test_rows_slice_the_text(document: Document, percent: int):
    assert document.text is not None
    rows = summary_rows(document, share=percent / 100)
    assert [row["edu"] for row in rows] == summary(document, share=percent / 100)
    for row in rows:
        assert document.text[row["start"] : row["end"]] == row["text"] == document.edu_texts[row["edu"]]


def test_an_example():
    document = ferry()
    assert summary(document, n_edus=3) == [0, 5, 7]
    assert summary_text(document, n_edus=3) == f"{FERRY[0]} … {FERRY[5]} … {FERRY[7]}"
    assert summary_text(document, n_edus=8) == document.text
    assert [row["importance"] for row in summary_rows(document, n_edus=3)] == [5, 4, 4]


def test_a_fifth_is_the_default():
    assert summary(ferry()) == summary(ferry(), share=0.2) == [0]


def test_edus_without_space_between_them_stay_together():
    document = Document(
        "chinese", "天黑了，我们回家吧。", (Span(0, 4), Span(4, 10)), Unit("joint", "NN", (Leaf(0), Leaf(1)))
    )
    assert summary_text(document, n_edus=2) == document.text


def test_a_count_of_one_s_own():
    assert summary(ferry(), share=0.5, count=len) != summary(ferry(), share=0.5, count=lambda text: 1)
    assert len(summary(ferry(), share=0.5, count=lambda text: 1)) == 4
    assert len(summary(ferry(), share=0.5, count=lambda text: 0)) == 8


def test_shares_are_exact():
    """As a float, 0.29 × 100 is less than 29."""
    tree = Unit("joint", "N" * 100, tuple(map(Leaf, range(100))))
    assert len(summary(Document.from_edus("list", ["word"] * 100, tree), share=0.29)) == 29


def test_one_edu():
    assert summary(one_edu(), share=0.01) == [0]
    assert summary_text(one_edu()) == "All is well."


def test_without_text():
    document = textless(ferry())
    assert summary(document, n_edus=3) == [0, 5, 7]
    assert summary(document, share=0.5) == summary(ferry(), share=0.5, count=lambda text: -(-len(text) // 6))
    assert [row["text"] for row in summary_rows(document, n_edus=2)] == [None, None]
    with pytest.raises(GenrstError, match="ferry: a document must have a text"):
        summary_text(document)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEEP)
def test_deep_trees(kind: str):
    document = chain(2000, *DEEP[kind])
    assert len(summary(document, share=0.1)) == 200
    assert len(summary_text(document, n_edus=10).split()) >= 40


@pytest.mark.parametrize(
    ("n_edus", "share", "message"),
    [
        (0, None, "1 EDU or more, was: 0"),
        (None, 0.0, "above 0 and at most 1, was: 0.0"),
        (None, 1.1, "at most 1, was: 1.1"),
        (None, float("nan"), "was: nan"),
        (2, 0.5, "was: both"),
    ],
)
def test_wrong_sizes(n_edus: int | None, share: float | None, message: str):
    with pytest.raises(UsageError, match=message):
        summary(ferry(), n_edus=n_edus, share=share)
