"""genrst as a chunker of Chonkie."""

import pytest
from chonkie import Document as Page
from chonkie.pipeline import Pipeline

from genrst.errors import UsageError
from genrst.integrations.chonkie import DiscourseChunker
from tests.integrations.samples import FERRY_CHUNKS, echo, known_parser
from tests.outputs.samples import ferry

TEXT = ferry().text or ""


def test_chunks():
    found = DiscourseChunker(known_parser(), chunk_size=20).chunk(TEXT)
    assert [(one.start_index, one.end_index) for one in found] == [(start, end) for start, end, *_ in FERRY_CHUNKS]
    assert [one.text for one in found] == [TEXT[start:end] for start, end, *_ in FERRY_CHUNKS]
    assert [one.token_count for one in found] == [len(one.text.split()) for one in found]
    assert found[1].metadata == {
        "relation_path": FERRY_CHUNKS[1][2], "relation": "elaboration-additional", "nuclearity": "N",
        "parent_start": 33, "parent_end": 172,
    }  # fmt: skip


def test_several_texts_and_tokenizers():
    chunker = DiscourseChunker(known_parser(), "character", 100)
    found = chunker.chunk_batch([TEXT, "", echo().text or ""], show_progress=False)
    assert [[one.token_count for one in own] for own in found] == [[32, 81, 57, 85], [], [46]]
    assert chunker.chunk_batch([]) == []
    assert [len(one) for one in chunker(TEXT)] == [32, 81, 57, 85]


def test_pipelines():
    steps = Pipeline().chunk_with("discourse", parser=known_parser(), chunk_size=20)
    page = steps.run(texts=TEXT)
    assert isinstance(page, Page)
    assert [one.text for one in page.chunks] == [TEXT[start:end] for start, end, *_ in FERRY_CHUNKS]
    page = DiscourseChunker(known_parser()).chunk_document(Page(content=TEXT, metadata={"source": "ferry.txt"}))
    assert [one.metadata["source"] for one in page.chunks] == ["ferry.txt"]


def test_wrong_sizes():
    with pytest.raises(UsageError, match="must be 1 or more, got 0"):
        DiscourseChunker(known_parser(), chunk_size=0)(TEXT)
