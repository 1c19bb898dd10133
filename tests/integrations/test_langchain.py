"""genrst as a text splitter of LangChain."""

import pytest
from langchain_core.documents import Document as Page

from genrst.integrations.langchain import DiscourseTextSplitter
from tests.integrations.samples import FERRY_CHUNKS, echo, known_parser
from tests.outputs.samples import ferry

TEXT = ferry().text or ""


def test_documents():
    own = {"source": {"file": "ferry.txt"}, "start_index": "kept nowhere"}
    pages = [Page(page_content=TEXT, metadata=own), Page(page_content=""), Page(page_content=echo().text or "")]
    splitter = DiscourseTextSplitter(known_parser(), chunk_size=20)
    found = splitter.split_documents(pages)
    assert [page.metadata["start_index"] for page in found[:4]] == [start for start, *_ in FERRY_CHUNKS]
    assert [page.metadata["relation_path"] for page in found[:4]] == [path for _, _, path, *_ in FERRY_CHUNKS]
    for page in found[:4]:
        assert page.page_content == TEXT[page.metadata["start_index"] : page.metadata["end_index"]]
        assert page.metadata["source"] == own["source"]
        assert page.metadata["source"] is not own["source"], "a change of one chunk leaves the others alone"
    assert [page.page_content for page in found[4:]] == [echo().text]
    assert "source" not in found[4].metadata
    assert list(splitter.transform_documents(pages)) == found


def test_texts_and_sizes():
    splitter = DiscourseTextSplitter(known_parser(), chunk_size=20)
    assert splitter.split_text(TEXT) == [TEXT[start:end] for start, end, *_ in FERRY_CHUNKS]
    by_characters = DiscourseTextSplitter(known_parser(), chunk_size=100, length_function=len)
    assert [len(text) <= 100 for text in by_characters.split_text(TEXT)] == [True] * 4
    assert splitter.split_text(" ") == []
    assert DiscourseTextSplitter(known_parser(), chunk_size=10).split_text(TEXT) != DiscourseTextSplitter(
        known_parser(), chunk_size=10, min_chunk_size=8
    ).split_text(TEXT)


def test_repeated_texts_have_their_own_offsets():
    found = DiscourseTextSplitter(known_parser(), chunk_size=3, min_chunk_size=0).create_documents([echo().text or ""])
    assert [(page.metadata["start_index"], page.page_content) for page in found] == [
        (0, "Yes, he said. It is late."), (26, "No."), (30, "It is late."), (42, "Yes."),
    ]  # fmt: skip


def test_wrong_sizes():
    with pytest.raises(ValueError, match="chunk_size"):
        DiscourseTextSplitter(known_parser(), chunk_size=0)
