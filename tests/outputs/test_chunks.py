from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import UsageError
from genrst.outputs.chunks import Chunk, RelationPath, chunk_rows, chunks
from genrst.outputs.summary import count_words
from genrst.trees.binarise import binarise, flatten
from genrst.trees.node import SPAN, Leaf, Tree, Unit
from tests.outputs.samples import DEEP, FERRY, chain, ferry, one_edu, textless, wild_documents
from tests.strategies import documents

BUDGETS = st.integers(1, 25)
COUNTS = st.sampled_from([count_words, len])


def size(document: Document, start: int, stop: int, count: Callable[[str], int]) -> int:
    assert document.text is not None
    return count(document.text[document.edus[start].start : document.edus[stop - 1].end])


def cut(document: Document, tree: Tree, budget: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """The largest subtrees that fit, by recursion from the top."""
    if isinstance(tree, Leaf) or size(document, tree.start, tree.stop, count) <= budget:
        return [(tree.start, tree.stop)]
    return [part for child in tree.children for part in cut(document, child, budget, count)]


def paths(tree: Tree, path: RelationPath = ()) -> dict[tuple[int, int], RelationPath]:
    """The way from the root to every node, by recursion."""
    found = {(tree.start, tree.stop): path}
    if isinstance(tree, Unit):
        for child, letter, relation in zip(tree.children, tree.nuclearity, tree.relations, strict=True):
            found |= paths(child, (*path, (tree.relation if relation == SPAN else relation, letter)))
    return found


def parents(tree: Tree) -> dict[tuple[int, int], Unit]:
    """The parent of every node but the root, by recursion."""
    if isinstance(tree, Leaf):
        return {}
    found = {(child.start, child.stop): tree for child in tree.children}
    return found | {edus: unit for child in tree.children for edus, unit in parents(child).items()}


def check_cover(
    document: Document, found: list[Chunk], budget: int, count: Callable[[str], int], first_edu: int = 0
) -> None:
    """Every EDU is in one chunk, in order; chunks fit, unless they are an EDU; they slice the text."""
    assert document.text is not None
    assert found[0].edus[0] == first_edu
    assert found[-1].edus[1] == len(document.edus)
    assert all(left.edus[1] == right.edus[0] for left, right in pairwise(found))
    for chunk in found:
        start, stop = chunk.edus
        assert (chunk.start, chunk.end) == (document.edus[start].start, document.edus[stop - 1].end)
        assert document.text[chunk.start : chunk.end] == chunk.text
        assert count(chunk.text) <= budget or stop == start + 1


@given(wild_documents(), BUDGETS, COUNTS)
def test_without_merging_chunks_are_the_largest_subtrees(document: Document, budget: int, count: Callable[[str], int]):
    assert document.tree is not None
    found = chunks(document, budget, count, merge=False)
    check_cover(document, found, budget, count)
    assert [chunk.edus for chunk in found] == cut(document, document.tree, budget, count)
    assert [chunk.relation_path for chunk in found] == [paths(document.tree)[chunk.edus] for chunk in found]


def parts(tree: Tree, chunk: Chunk) -> list[tuple[int, int]]:
    """The neighbours under one unit that a chunk consists of."""
    nodes = {(0, tree.stop): [tree]} | {edus: [*unit.children] for edus, unit in parents(tree).items()}
    if chunk.edus in nodes:
        return [chunk.edus]
    runs = [
        [(child.start, child.stop) for child in unit if chunk.edus[0] <= child.start and child.stop <= chunk.edus[1]]
        for unit in nodes.values()
    ]
    return next(run for run in runs if run and (run[0][0], run[-1][1]) == chunk.edus)


@given(wild_documents(), BUDGETS, COUNTS)
def test_with_merging_chunks_are_neighbours_under_one_unit(
    document: Document, budget: int, count: Callable[[str], int]
):
    assert document.tree is not None
    tree = flatten(document.tree)
    found = chunks(document, budget, count, min_tokens=0)
    check_cover(document, found, budget, count)
    for chunk in found:
        ways = [paths(tree)[part] for part in parts(tree, chunk)]
        assert chunk.relation_path == (ways[0] if len(set(ways)) == 1 else ways[0][:-1])


@given(wild_documents(), BUDGETS, COUNTS)
def test_neighbours_that_fit_are_merged(document: Document, budget: int, count: Callable[[str], int]):
    """No chunk could take up the next part of the same unit, and merging never makes more chunks."""
    assert document.tree is not None
    tree = flatten(document.tree)
    found = chunks(document, budget, count, min_tokens=0)
    unit_of = parents(tree)
    for left, right in pairwise(found):
        first, second = parts(tree, left)[-1], parts(tree, right)[0]
        if unit_of[first] is unit_of[second]:
            assert size(document, left.edus[0], second[1], count) > budget
    assert len(found) <= len(chunks(document, budget, count, merge=False))


@given(documents(), BUDGETS, BUDGETS)
def test_a_larger_budget_cuts_at_fewer_places(document: Document, one: int, other: int):
    few, many = (chunks(document, budget, merge=False) for budget in (max(one, other), min(one, other)))
    assert {chunk.start for chunk in few} <= {chunk.start for chunk in many}


@given(documents(), BUDGETS)
def test_binarised_lists_are_cut_like_lists(document: Document, budget: int):
    """A parser gives binary trees; where they stand for lists, chunks are the same."""
    tree = Unit("joint", "N" * 9, tuple(map(Leaf, range(9))))
    texts = (document.edu_texts * 9)[:9]
    lists = [Document.from_edus("list", texts, shape) for shape in (tree, binarise(tree))]
    assert chunks(lists[0], budget) == chunks(lists[1], budget)


def test_an_example():
    assert [(chunk.edus, chunk.relation_path) for chunk in chunks(ferry(), 14)] == [
        ((0, 1), (("circumstance", "N"), ("reason", "N"))),
        ((1, 3), (("circumstance", "N"), ("reason", "S"), ("elaboration-additional", "N"))),
        ((3, 5), (("circumstance", "N"), ("reason", "S"), ("elaboration-additional", "S"))),
        ((5, 7), (("circumstance", "S"), ("disjunction", "N"))),
        ((7, 8), (("circumstance", "S"), ("disjunction", "N"))),
    ]
    [chunk] = chunks(ferry())
    assert (chunk.text, chunk.edus, chunk.relation_path) == (ferry().text, (0, 8), ())


def test_a_long_list_becomes_few_chunks():
    tree = Unit("list", "N" * 7, tuple(map(Leaf, range(7))))
    document = Document.from_edus("list", ["two words"] * 7, tree)
    assert [chunk.edus for chunk in chunks(document, 6)] == [(0, 3), (3, 6), (6, 7)]
    assert {chunk.relation_path for chunk in chunks(document, 6)} == {(("list", "N"),)}
    assert len(chunks(document, 6, merge=False)) == 7


def test_merged_satellites_of_different_relations_end_their_path_at_the_unit():
    tree = Unit.from_relations([SPAN, "example", "evidence", "evidence"], "NSSS", tuple(map(Leaf, range(4))))
    document = Document.from_edus("several", ["one"] * 4, tree)
    assert [chunk.relation_path for chunk in chunks(document, 2)] == [(), (("evidence", "S"),)]


def test_an_edu_over_the_budget_is_a_chunk():
    assert [chunk.edus for chunk in chunks(ferry(), 1)] == [(edu, edu + 1) for edu in range(8)]
    assert [chunk.text for chunk in chunks(one_edu(), 1)] == ["All is well."]


def test_rows():
    rows = chunk_rows(ferry(), 14)
    assert rows[1] == {
        "document": "ferry",
        "chunk": 1,
        "start": 33,
        "end": 114,
        "first_edu": 1,
        "last_edu": 2,
        "relation_path": "circumstance:N > reason:S > elaboration-additional:N",
        "text": f"{FERRY[1]} {FERRY[2]}",
    }
    assert [row["start"] for row in rows] == [chunk.start for chunk in chunks(ferry(), 14)]


def test_without_text_six_characters_are_a_word():
    document = textless(ferry())
    found = chunks(document, 14)
    assert [chunk.edus for chunk in found] == [
        chunk.edus for chunk in chunks(ferry(), 14, count=lambda text: -(-len(text) // 6))
    ]
    assert {chunk.text for chunk in found} == {None}
    assert found[-1].end == document.edus[-1].end


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEEP)
def test_deep_trees(kind: str):
    document = chain(2000, *DEEP[kind])
    start = process_time()
    found = chunks(document, 40)
    assert process_time() - start < 5
    check_cover(document, found, 40, count_words)


def test_a_costly_count_is_asked_about_small_texts_only():
    """In a deep tree, counting the whole text once per level would take minutes with a real tokeniser."""
    asked: list[int] = []

    def count(text: str) -> int:
        asked.append(len(text.split()))
        return asked[-1]

    chunks(chain(2000, "NS", True), 40, count)
    assert max(asked) <= 44
    assert len(asked) <= 4000


def test_wrong_budget():
    with pytest.raises(UsageError, match="must be 1 or more, got 0"):
        chunks(ferry(), 0)


HEADED = [(3, "head"), (30, "p"), (4, "head"), (3, "head"), (12, "p"), (12, "p"), (2, "p"), (25, "p"), (3, "head")]


def headed(sizes: list[tuple[int, str]]) -> Document:
    """A right-branching tree over EDUs of so many words, each a paragraph of its own."""
    tree: Tree = Leaf(len(sizes) - 1)
    for edu in reversed(range(len(sizes) - 1)):
        tree = Unit("joint" if edu % 2 else "list", "NN", (Leaf(edu), tree))
    edus = [" ".join(["word"] * size) for size, _ in sizes]
    document = Document.from_edus("headed", edus, tree, range(len(edus)))
    labels = [label for _, label in sizes]
    paragraphs = tuple(Span(one.start, one.end, label) for one, label in zip(document.edus, labels, strict=True))
    return replace(document, paragraphs=paragraphs)


def test_no_heading_is_alone_and_no_chunk_too_small():
    document = headed(HEADED)
    found = chunks(document, 32, min_tokens=8)
    check_cover(document, found[1:], 32, count_words, first_edu=2)
    sizes = [[HEADED[edu] for edu in range(*chunk.edus)] for chunk in found]
    assert sizes[0] == HEADED[:2], "a heading takes an EDU even if both do not fit"
    assert sizes[-1] == HEADED[-3:], "one at the end goes with what stands before"
    assert not any(all(label == "head" for _, label in chunk) for chunk in sizes)
    assert all(sum(size for size, _ in chunk) >= 8 for chunk in sizes)


@given(wild_documents(), BUDGETS, COUNTS)
def test_small_chunks_stay_only_where_there_is_no_room(document: Document, budget: int, count: Callable[[str], int]):
    found = chunks(document, budget, count, min_tokens=(budget + 1) // 2)
    check_cover(document, found, budget, count)
    for left, right in pairwise(found):
        if min(size(document, *chunk.edus, count) for chunk in (left, right)) < (budget + 1) // 2:
            assert size(document, left.edus[0], right.edus[1], count) > budget


def test_a_least_size_beyond_the_most():
    with pytest.raises(UsageError, match="minimum number of tokens per chunk must be between 0 and 5, got 6"):
        chunks(ferry(), 5, min_tokens=6)


@given(wild_documents(), BUDGETS)
def test_a_chunk_that_is_a_unit_has_the_way_to_it(document: Document, budget: int):
    """However it came about: also where chunks that were too small have been cut elsewhere."""
    assert document.tree is not None
    ways = paths(flatten(document.tree))
    for chunk in chunks(document, budget, min_tokens=budget // 2):
        assert chunk.relation_path == ways.get(chunk.edus, chunk.relation_path)


def test_a_unit_that_a_new_cut_leaves_has_the_way_to_it():
    """The last EDU is too short alone and takes one from the contrast; what that leaves is a unit, too."""
    pair = Unit("contrast", "NN", (Leaf(0), Leaf(1)))
    tree = Unit("cause", "NS", (Unit("elaboration", "NS", (pair, Leaf(2))), Leaf(3)))
    document = Document.from_edus("short", [" ".join(["word"] * n) for n in (3, 3, 3, 2)], tree)
    first, second = chunks(document, 9, min_tokens=4)
    assert (first.edus, second.edus) == ((0, 2), (2, 4))
    assert (first.relation_path, second.relation_path) == ((("cause", "N"), ("elaboration", "N")), ())


def test_marks_of_whole_paragraphs_are_in_their_chunk():
    text = "# The ferry\n\n- It runs.\n- It is new.\n\n```\nls\n```\n"
    edus = ("The ferry", "It runs.", "It is new.", "ls")
    spans = tuple(Span(text.index(edu), text.index(edu) + len(edu)) for edu in edus)
    blocks = (Span(0, 11, "head"), Span(13, 23, "item"), Span(24, 36, "item"), Span(38, 48, "code"))
    tree = Unit("joint", "NNN", (Unit("span", "SN", (Leaf(0), Leaf(1))), Leaf(2), Leaf(3)))
    document = Document("marks", text, spans, tree, paragraphs=blocks)
    found = [chunk.text for chunk in chunks(document, 6, min_tokens=0)]
    assert found == ["# The ferry\n\n- It runs.", "- It is new.", "```\nls\n```"]
    assert [chunk.text for chunk in chunks(document, 20)] == [text.strip()]


def test_headings_go_with_what_follows():
    """The last heading of the first two paragraphs, and all headers of an e-mail."""
    tree = Unit("contrast", "NN", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Unit("list", "NN", (Leaf(2), Leaf(3)))))
    for labels, expected in ((("p", "head", "p", "p"), [(0, 1), (1, 4)]), (("header", "header", "p", "p"), [(0, 4)])):
        document = Document.from_edus("last", ["four words are here."] * 4, tree, range(4))
        spans = tuple(Span(edu.start, edu.end, label) for edu, label in zip(document.edus, labels, strict=True))
        found = chunks(replace(document, paragraphs=spans), 16 if labels[0] == "header" else 12, min_tokens=2)
        assert [chunk.edus for chunk in found] == expected


def in_paragraphs(document: Document, starts: Iterable[int]) -> Document:
    """The same with paragraphs that start at these EDUs."""
    borders = sorted({0, *starts, len(document.edus)})
    spans = tuple(Span(*document.offsets(start, stop), "p") for start, stop in pairwise(borders))
    return replace(document, paragraphs=spans)


def mixes(chunk: Chunk, paragraphs: list[int]) -> bool:
    """Whether a chunk has a part of a paragraph and more."""
    start, stop = chunk.edus
    borders = [number for number in range(1, len(paragraphs)) if paragraphs[number] != paragraphs[number - 1]]
    borders += [0, len(paragraphs)]
    return paragraphs[start] != paragraphs[stop - 1] and not {start, stop} <= {*borders}


@given(documents(), st.sets(st.integers(0, 30)), BUDGETS)
def test_a_part_of_a_paragraph_stays_with_its_paragraph(document: Document, starts: set[int], budget: int):
    document = in_paragraphs(document, {start for start in starts if start < len(document.edus)})
    found = chunks(document, budget, min_tokens=0)
    check_cover(document, found, budget, count_words)
    assert not any(mixes(chunk, document.paragraph_of_edus()) for chunk in found)


def test_a_list_is_cut_where_a_paragraph_ends():
    tree = Unit("list", "N" * 6, tuple(map(Leaf, range(6))))
    document = in_paragraphs(Document.from_edus("list", ["two words"] * 6, tree), [3, 5])
    assert [chunk.edus for chunk in chunks(document, 8)] == [(0, 3), (3, 6)], "the last two paragraphs fit"
    assert [chunk.edus for chunk in chunks(document, 4)] == [(0, 2), (2, 3), (3, 5), (5, 6)]
    assert [chunk.edus for chunk in chunks(document, 100)] == [(0, 6)]
    assert len(chunks(document, 8, merge=False)) == 6


def test_a_unit_with_a_part_of_the_next_paragraph_is_cut():
    across = Unit("elaboration", "NS", (Leaf(1), Leaf(2)))
    tree = Unit("joint", "NNN", (Leaf(0), across, Leaf(3)))
    document = in_paragraphs(Document.from_edus("across", ["two words"] * 4, tree), [2])
    assert [chunk.edus for chunk in chunks(document, 6)] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [chunk.edus for chunk in chunks(document, 6, min_tokens=3)] == [(0, 2), (2, 4)]
    assert [chunk.edus for chunk in chunks(document, 8)] == [(0, 4)], "both paragraphs are whole"


def test_the_short_end_of_a_paragraph_goes_with_its_paragraph():
    rest = Unit("contrast", "NN", (Leaf(1), Unit("joint", "NN", (Leaf(2), Leaf(3)))))
    tree = Unit("cause", "NS", (Leaf(0), rest))
    edus = [" ".join(["word"] * n) for n in (9, 1, 5, 9)]
    document = Document.from_edus("end", edus, tree)
    assert [chunk.edus for chunk in chunks(document, 10, min_tokens=2)] == [(0, 1), (1, 3), (3, 4)]
    document = in_paragraphs(document, [2])
    assert [chunk.edus for chunk in chunks(document, 10, min_tokens=2)] == [(0, 2), (2, 3), (3, 4)]
