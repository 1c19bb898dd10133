import pytest
from hypothesis import given

from genrst.document import Document
from genrst.errors import UsageError
from genrst.outputs.tables import SCHEMES, Scheme, dependency_rows
from genrst.trees.dependency import ROOT
from tests.outputs.samples import DEEP, chain, ferry, one_edu, textless, wild_documents

BOTH = pytest.mark.parametrize("scheme", SCHEMES)


@BOTH
@given(document=wild_documents())
def test_rows_slice_the_text(document: Document, scheme: Scheme):
    assert document.text is not None
    assert document.tree is not None
    rows = dependency_rows(document, scheme)
    assert [row["edu"] for row in rows] == list(range(len(document.edus)))
    found = [(row["head"], row["relation"]) for row in rows]
    assert found == [(one.head, one.relation) for one in SCHEMES[scheme](document.tree)]
    for row in rows:
        assert document.text[row["start"] : row["end"]] == row["text"] == document.edu_texts[row["edu"]]


def test_an_example():
    li, hirao = (dependency_rows(ferry(), scheme) for scheme in ("li", "hirao"))
    assert [row["head"] for row in li] == [None, 0, 1, 1, 3, 0, 5, 5]
    assert [row["head"] for row in hirao] == [None, 0, 1, 1, 1, 0, 5, 0]
    assert (li[7]["relation"], hirao[7]["relation"]) == ("disjunction", "circumstance")


@BOTH
def test_small_textless_and_deep_documents(scheme: Scheme):
    [row] = dependency_rows(one_edu(), scheme)
    assert (row["head"], row["relation"]) == (None, ROOT)
    rows = dependency_rows(ferry(), scheme)
    assert dependency_rows(textless(ferry()), scheme) == [{**row, "text": None} for row in rows]
    for nuclearity, is_right in DEEP.values():
        assert len(dependency_rows(chain(2000, nuclearity, is_right), scheme)) == 2000


def test_unknown_scheme():
    with pytest.raises(UsageError, match="must be one of li, hirao, was: 'morey'"):
        dependency_rows(ferry(), "morey")  # type: ignore[arg-type]
