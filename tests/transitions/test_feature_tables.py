"""The tables against `Syntax`, which defines what they hold. That lookups use them rightly is tested with the model."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.transitions.feature_tables import dominance_place, dominance_tables, head_word_tables
from genrst.transitions.features import NOTHING, Syntax


@st.composite
def syntaxes(draw: st.DrawFn) -> Syntax:
    """Sentences of several EDUs, some of them without a token; heads anywhere in the sentence, or all roots."""
    heads: list[int] = []
    edu_tokens, sentences = [0], list[int]()
    for sentence in range(draw(st.integers(1, 4))):
        sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
        first, last = len(heads), len(heads) + sum(sizes)
        for size in sizes:
            edu_tokens.append(edu_tokens[-1] + size)
            sentences.append(sentence)
        is_tree = draw(st.booleans())
        heads += [draw(st.integers(first, last - 1)) if is_tree else token for token in range(first, last)]
    deprels = [head % 7 for head in heads]
    return Syntax(heads, deprels, edu_tokens, sentences, [0] * len(sentences))


@settings(deadline=None)
@given(syntaxes())
def test_blocks_are_the_smallest_runs_that_no_dependency_leaves(syntax):
    tables = head_word_tables(syntax)
    n_edus = len(syntax.sentences)
    blocks = tables.blocks[:-1].tolist()
    assert len(blocks) == n_edus
    edu_of = [edu for edu, (first, stop) in enumerate(pairwise(syntax.edu_tokens)) for _ in range(first, stop)]
    crossed = {
        border
        for token, head in enumerate(syntax.heads)
        for border in range(min(edu_of[token], edu_of[head]), max(edu_of[token], edu_of[head]))
    }
    assert [border for border in range(n_edus - 1) if blocks[border] == blocks[border + 1]] == sorted(crossed)
    assert tables.blocks[-1] == blocks[-1] + 1
    assert tables.block_start.tolist() == [blocks.index(block) for block in blocks]


@settings(deadline=None)
@given(syntaxes())
def test_every_unit_s_head_words_come_from_the_tables(syntax):
    tables = head_word_tables(syntax)
    n_edus = len(syntax.sentences)
    for start in range(n_edus):
        for stop in range(start + 1, n_edus + 1):
            block, last_block = tables.blocks[start], tables.blocks[stop - 1]
            if block == last_block:
                begin, size = tables.block_start[start], tables.block_size[block]
                place = tables.inside_offset[block] + (start - begin) * size + (stop - 1 - begin)
                words = tables.inside[place].tolist()
            else:
                words = tables.first[start][: tables.n_first[start]].tolist()
                words += tables.roots[tables.first_root[block + 1] : tables.first_root[last_block]].tolist()
                words += tables.last[stop].tolist()
            assert (*words, NOTHING, NOTHING)[:3] == syntax.head_words(start, stop)


@settings(deadline=None)
@given(syntaxes())
def test_every_pair_s_dominance_comes_from_the_tables(syntax):
    tables = dominance_tables(syntax)
    n_edus = len(syntax.sentences)
    for middle in range(1, n_edus):
        first, last = int(tables.sentence_start[middle]), int(tables.sentence_stop[middle])
        assert {syntax.sentences[edu] for edu in range(first, last)} == {syntax.sentences[middle]}
        for start in range(middle):
            for stop in range(middle + 1, n_edus + 1):
                expected = syntax.dominance(start, middle, stop)
                if first == middle:
                    assert expected[0] == NOTHING
                    continue
                place = dominance_place(
                    *(np.array(edu - first) for edu in (max(start, first), middle, min(stop, last), last))
                )
                assert tuple(tables.entries[tables.offset[middle] + place].tolist()) == expected


@pytest.mark.parametrize("size", range(1, 9))
def test_places_are_numbered_without_gaps(size):
    places = [
        int(dominance_place(np.array(begin), np.array(middle), np.array(end), np.array(size)))
        for middle in range(1, size)
        for begin in range(middle)
        for end in range(middle + 1, size + 1)
    ]
    assert places == list(range(len(places)))


def test_one_edu_without_dependencies():
    syntax = Syntax([0], [1], [0, 1], [0], [0])
    assert head_word_tables(syntax).inside.tolist() == [[0, NOTHING, NOTHING]]
    assert dominance_tables(syntax).entries.tolist() == [[NOTHING] * 3]
