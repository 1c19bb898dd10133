"""The tables against the definition of what they hold. That lookups use them rightly is tested with the model."""

import random
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.rnng.transitions.features import (
    NOTHING,
    Comparison,
    DominanceTables,
    Syntax,
    dominance_tables,
    head_word_tables,
)
from tests.rnng.transitions.definition import compare, dominance, head_words

# "Acme closed plants [.] The CEO said [they lost money .]": EDUs 0 | 1 2, the last two share a sentence.
ACME = Syntax(
    heads=[1, 1, 1, 1, 5, 6, 6, 8, 6, 8, 6],
    deprels=[1, 0, 2, 3, 4, 1, 0, 1, 5, 2, 3],
    edu_tokens=[0, 4, 7, 11],
    sentences=[0, 1, 1],
    paragraphs=[0, 0, 0],
)


def test_the_definition_by_hand():
    assert head_words(ACME, 0, 1) == (1, NOTHING, NOTHING)
    assert (head_words(ACME, 1, 2), head_words(ACME, 2, 3)) == ((6, NOTHING, NOTHING), (8, 10, NOTHING))
    assert (dominance(ACME, 1, 2, 3), dominance(ACME, 0, 1, 3)) == ((8, 6, 5), (NOTHING,) * 3)
    found = [compare(ACME.sentences, *places) for places in ((1, 2, 3), (0, 1, 3), (0, 2, 3))]
    assert found == [Comparison.SAME, Comparison.DIFFERENT, Comparison.INCOMPARABLE]
    assert_defined_head_words(ACME)
    assert_defined_dominance(ACME)


@st.composite
def syntaxes(draw: st.DrawFn) -> Syntax:
    """Sentences of several EDUs, some of them without a token; heads anywhere in the sentence, or all roots."""
    heads: list[int] = []
    edu_tokens, sentences, paragraphs = [0], list[int](), list[int]()
    for sentence in range(draw(st.integers(1, 4))):
        sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
        paragraph = paragraphs[-1] + draw(st.integers(0, 1)) if paragraphs else 0
        first, last = len(heads), len(heads) + sum(sizes)
        for size in sizes:
            edu_tokens.append(edu_tokens[-1] + size)
            sentences.append(sentence)
            paragraphs.append(paragraph)
        is_tree = draw(st.booleans())
        heads += [draw(st.integers(first, last - 1)) if is_tree else token for token in range(first, last)]
    deprels = [head % 7 for head in heads]
    return Syntax(heads, deprels, edu_tokens, sentences, paragraphs)


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


@given(syntaxes())
def test_every_unit_s_head_words_come_from_the_tables(syntax):
    assert_defined_head_words(syntax)


def assert_defined_head_words(syntax: Syntax) -> None:
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
            assert (*words, NOTHING, NOTHING)[:3] == head_words(syntax, start, stop)


def first_between(tables: DominanceTables, start: int, middle: int, stop: int) -> tuple[int, ...]:
    """The first crossing of the border that lies inside both units together."""
    names = ("low", "high", "words", "heads", "deprels")
    for low, high, *entry in zip(*(getattr(tables, name)[middle].tolist() for name in names), strict=True):
        if low >= start and high < stop:
            return tuple(entry)
    return NOTHING, NOTHING, NOTHING


def assert_defined_dominance(syntax: Syntax) -> None:
    tables = dominance_tables(syntax)
    n_edus = len(syntax.sentences)
    for middle in range(1, n_edus):
        for start in range(middle):
            for stop in range(middle + 1, n_edus + 1):
                assert first_between(tables, start, middle, stop) == dominance(syntax, start, middle, stop)


@given(syntaxes())
def test_every_pair_s_dominance_comes_from_the_tables(syntax):
    assert_defined_dominance(syntax)


def one_sentence(n_edus: int, is_tree: bool, seed: int = 0) -> Syntax:
    """A sentence with a projective tree, as in real text, or with heads anywhere."""
    rng = random.Random(seed)
    edu_tokens = [0, *accumulate(rng.randint(1, 6) for _ in range(n_edus))]
    n_tokens = edu_tokens[-1]
    heads = [rng.randrange(n_tokens) for _ in range(n_tokens)]
    pending = [(0, n_tokens, -1)] if is_tree else []
    while pending:
        first, stop, head = pending.pop()
        if first < stop:
            token = rng.randrange(first, stop)
            heads[token] = token if head < 0 else head
            pending += [(first, token, token), (token + 1, stop, token)]
    return Syntax(heads, [head % 7 for head in heads], edu_tokens, [0] * n_edus, [0] * n_edus)


def nested(n_edus: int) -> Syntax:
    """Each dependency lies inside the one before it, so none can be left out at the border in the middle."""
    heads = list(reversed(range(n_edus)))
    return Syntax(heads, heads, list(range(n_edus + 1)), [0] * n_edus, [0] * n_edus)


@pytest.mark.parametrize("is_tree", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_long_sentences_are_no_exception(is_tree, seed):
    assert_defined_dominance(one_sentence(40, is_tree, seed))
    assert_defined_head_words(one_sentence(40, is_tree, seed))


def test_nested_dependencies_are_all_kept():
    assert_defined_head_words(nested(40))
    assert_defined_dominance(nested(40))
    assert dominance_tables(nested(40)).low.shape == (40, 20)


def n_crossings(tables: DominanceTables) -> int:
    return int((tables.low != NOTHING).sum())


@pytest.mark.slow
def test_tables_of_endless_sentences_stay_small():
    """A table by triples would have a million entries for 200 EDUs."""
    short, long = (dominance_tables(one_sentence(n_edus, is_tree=True)) for n_edus in (50, 200))
    assert n_crossings(long) < 6 * 200
    assert n_crossings(long) < 2 * 4 * n_crossings(short)
    assert long.low.shape[1] < 12, "to which all are filled up"
    assert dominance_tables(one_sentence(200, is_tree=False)).low.size < 200**2


def test_one_edu_without_dependencies():
    syntax = Syntax([0], [1], [0, 1], [0], [0])
    assert head_word_tables(syntax).inside.tolist() == [[0, NOTHING, NOTHING]]
    tables = dominance_tables(syntax)
    for column in (tables.low, tables.high, tables.words, tables.heads, tables.deprels):
        assert column.tolist() == [[NOTHING]]
