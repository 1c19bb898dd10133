"""Passages are the chunks of a text, with metadata that any vector store takes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.document import Document
from genrst.errors import TreeError
from genrst.integrations.chunking import cut, cut_texts, load_once
from genrst.outputs.chunks import chunk_rows
from genrst.outputs.summary import count_words
from genrst.trees.binarise import flatten
from genrst.trees.node import units
from tests.integrations.samples import FERRY_CHUNKS, known_parser
from tests.outputs.samples import chain, ferry, wild_documents
from tests.parser.samples import write_chart


def test_metadata():
    document = ferry()
    (found,) = cut_texts([document.text or ""], known_parser(), 20)
    own = [chunk.metadata for chunk in found.chunks]
    keys = "start_index", "end_index", "relation_path", "parent_start", "parent_end"
    assert [tuple(one[key] for key in keys) for one in own] == FERRY_CHUNKS  # type: ignore[literal-required]
    assert [(one["relation"], one["nuclearity"]) for one in own] == [
        ("reason", "N"), ("elaboration-additional", "N"), ("elaboration-additional", "S"), ("circumstance", "S"),
    ]  # fmt: skip
    assert [chunk.text for chunk in found.chunks] == [
        (document.text or "")[start:end] for start, end, *_ in FERRY_CHUNKS
    ]
    assert [(one.start, one.end, one.parent) for one in found.parents] == [(0, 258, None), (0, 172, 0), (33, 172, 1)]
    assert [chunk.parent for chunk in found.chunks] == [1, 2, 2, 0]


def test_a_text_of_one_chunk():
    (found,) = cut_texts([ferry().text or ""], known_parser(), 200)
    (chunk,) = found.chunks
    assert (chunk.parent, found.parents) == (None, ())
    assert chunk.metadata == {
        "start_index": 0, "end_index": 258, "relation_path": "", "relation": "", "nuclearity": "",
        "parent_start": 0, "parent_end": 258,
    }  # fmt: skip


@settings(max_examples=50)
@given(wild_documents(), st.integers(1, 25), st.sampled_from([count_words, len]))
def test_parents_are_the_smallest_units_with_several_chunks(document: Document, size: int, count):
    assert document.tree is not None
    found = cut(document, size, count, None)
    rows = chunk_rows(document, size, count)
    assert [chunk.metadata["relation_path"] for chunk in found.chunks] == [row["relation_path"] for row in rows]
    assert [chunk.text for chunk in found.chunks] == [row["text"] for row in rows]
    spans = [(row["first_edu"], row["last_edu"] + 1) for row in rows]
    tree_units = [(unit.start, unit.stop) for unit in units(flatten(document.tree))]

    def inside(unit: tuple[int, int]) -> list[tuple[int, int]]:
        return [span for span in spans if unit[0] <= span[0] and span[1] <= unit[1]]

    above = [unit for unit in tree_units if len(inside(unit)) > 1]
    assert len(found.parents) == len({tuple(inside(unit)) for unit in above})
    for span, chunk in zip(spans, found.chunks, strict=True):
        around = [unit for unit in above if span in inside(unit)]
        own = min(around, key=lambda unit: unit[1] - unit[0]) if around else (0, len(document.edus))
        assert (chunk.metadata["parent_start"], chunk.metadata["parent_end"]) == document.offsets(*own)
        parent = None if chunk.parent is None else found.parents[chunk.parent]
        assert (parent is None) == (not around)
        assert parent is None or (parent.start, parent.end) == document.offsets(*own)
    for place, one in enumerate(found.parents):
        assert (one.parent is None) == (place == 0)
        if one.parent is not None:
            assert one.parent < place
            assert found.parents[one.parent].start <= one.start <= one.end <= found.parents[one.parent].end


def test_deep_trees():
    document = chain(2000, "NS", is_right=True)
    found = cut(document, 4, count_words, 0)
    assert len(found.chunks) == 2000
    assert found.chunks[-1].parent == len(found.parents) - 1 == 1998


def test_texts_without_a_word():
    text = ferry().text or ""
    found = cut_texts(["", text, " \n", text, "\ufeff"], known_parser())
    assert [len(one.chunks) for one in found] == [0, 1, 0, 1, 0]
    assert cut_texts([], known_parser()) == cut_texts([], "no such model") == []


def test_what_cannot_be_parsed_is_an_error():
    with pytest.raises(TreeError, match="text-2: unknown"):
        cut_texts([ferry().text or "", "Something else."], known_parser())


@pytest.mark.slow
def test_a_parser_by_name(tmp_path: Path):
    """It is loaded once."""
    folder = write_chart(tmp_path / "chart")
    text = "It rained, so we stayed in. Nobody was hurt."
    (found,) = cut_texts([text], folder, 2)
    assert cut_texts([text], load_once(folder), 2) == [found]
    assert load_once(folder) is load_once(folder)
