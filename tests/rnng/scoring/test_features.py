"""Features by table against their definition, for every pair of units of random documents."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.rnng.config import NONE_ID
from genrst.rnng.examples import Example
from genrst.rnng.scoring.features import FeatureLookup, LookedUp, join_syntax
from genrst.rnng.transitions.features import boundaries
from tests.rnng.random_examples import random_example
from tests.rnng.transitions.definition import encode, unit_layout
from tests.rnng.transitions.test_feature_tables import syntaxes

CPU = torch.device("cpu")


class Span(NamedTuple):
    """The two topmost units of a document, [second, top) and [top, stop); −1 for one that is not there."""

    document: int
    second: int
    top: int
    stop: int


def spans(document: int, n_edus: int) -> Iterator[Span]:
    """All that a search can ask about."""
    yield Span(document, -1, -1, 0)
    for stop in range(1, n_edus + 1):
        yield Span(document, -1, 0, stop)
    for top in range(1, n_edus):
        for stop in range(top + 1, n_edus + 1):
            yield from (Span(document, second, top, stop) for second in range(top))


def all_spans(examples: list[Example]) -> list[Span]:
    return [span for document, example in enumerate(examples) for span in spans(document, example.n_edus)]


def look_up(examples: list[Example], wanted: list[Span], has_kinds: bool = False) -> LookedUp:
    """With EDUs numbered over all documents."""
    firsts = [0, *accumulate(example.n_edus for example in examples)]
    rows = [
        [edu + firsts[document] if edu >= 0 else -1 for edu in (second, top, stop)]
        for document, second, top, stop in wanted
    ]
    return FeatureLookup(examples, CPU, has_kinds).features(*torch.tensor(rows).T)


def with_sparse_heads(example: Example, seed: int) -> Example:
    """The same document with heads as in real trees: nearby, one root a sentence, no cycles."""
    rng = random.Random(seed)
    syntax = example.syntax
    heads: list[int] = []
    for edu in range(example.n_edus):
        first = syntax.edu_tokens[min(e for e in range(edu + 1) if syntax.sentences[e] == syntax.sentences[edu])]
        for token in range(syntax.edu_tokens[edu], syntax.edu_tokens[edu + 1]):
            heads.append(token if token == first else rng.randrange(first, token))
    return replace(example, syntax=replace(syntax, heads=heads))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_sparse", [False, True])
def test_tables_give_the_features_of_the_definition(seed, is_sparse):
    examples = [random_example(n_edus, 7 * seed + n_edus) for n_edus in (1, 2, 9, 14, 1)]
    if is_sparse:
        examples = [with_sparse_heads(example, seed) for example in examples]
    wanted = all_spans(examples)
    encoded = [encode(examples[document], *span) for document, *span in wanted]
    words, comparisons, deprels = zip(*encoded, strict=True)
    found = look_up(examples, wanted)
    assert torch.equal(found.words, torch.tensor(words))
    assert torch.equal(found.comparisons, torch.tensor(comparisons))
    assert torch.equal(found.deprels, torch.tensor(deprels))
    assert len(wanted) > 300


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("has_kinds", [False, True])
def test_tables_give_the_layout_of_the_definition(seed, has_kinds):
    """And what the next EDU begins, where there is one."""
    examples = [random_example(n_edus, 7 * seed + n_edus) for n_edus in (1, 2, 9, 30)]
    wanted = all_spans(examples)
    found = look_up(examples, wanted, has_kinds)
    of_documents = [boundaries(example.syntax, has_kinds) for example in examples]
    expected = [
        (*unit_layout(of_documents[document], top, stop), *unit_layout(of_documents[document], second, top))
        for document, second, top, stop in wanted
    ]
    assert [tuple(row) for row in found.layout.tolist()] == expected
    for span, boundary in zip(wanted, found.boundaries.tolist(), strict=True):
        if span.stop < examples[span.document].n_edus:
            assert boundary == of_documents[span.document][span.stop]
    assert {boundary for document in of_documents for boundary in document} == set(range(6 if has_kinds else 3))


@pytest.mark.parametrize("seed", range(3))
def test_documents_do_not_change_each_other_s_features(seed):
    """Whatever stands before and after them."""
    one = random_example(8, seed)
    alone = look_up([one], list(spans(0, 8)))
    around = [random_example(3, seed + 50), one, random_example(5, seed + 60)]
    together = look_up(around, list(spans(1, 8)))
    last = [span.stop == 8 for span in spans(0, 8)]
    for name, expected, found in zip(LookedUp._fields, alone, together, strict=True):
        if name == "boundaries":
            expected, found = (column[~torch.tensor(last)] for column in (expected, found))
        assert torch.equal(found, expected), name


def test_words_of_another_document_are_never_looked_up():
    """The first entry of all tables names a word that only the first document is long enough for."""
    long, short = random_example(14, 0), random_example(1, 2)
    head = long.syntax.edu_tokens[2] - 1
    syntax = replace(long.syntax, heads=[head] * len(long.token_words), sentences=[0] * 14)
    wanted = [Span(0, -1, -1, 0), Span(1, -1, -1, 0), Span(1, -1, 0, 1), Span(0, 0, 1, 2)]
    found = look_up([replace(long, syntax=syntax), short], wanted)
    expected = [[NONE_ID] * 2] * 3 + [[int(long.token_words[0]), int(long.token_words[head])]]
    assert found.words[:, 6:].tolist() == expected
    assert head > len(short.token_words)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(0, 10**6))
def test_places_without_a_hypothesis_can_be_looked_up(sizes, seed):
    """Where nothing waits, units come with any number of generated EDUs; what is found does not matter."""
    examples = [random_example(n_edus, seed + n_edus) for n_edus in sizes]
    n_edus = sum(sizes)
    pairs = [(-1, -1), (-1, 0), *((second, top) for top in range(n_edus) for second in range(top))]
    rows = torch.tensor([(*pair, stop) for pair in pairs for stop in range(n_edus + 1)])
    found = FeatureLookup(examples, CPU).features(*rows.T)
    for column in found:
        assert len(column) == len(rows)
        assert (column >= 0).all()


@given(st.lists(syntaxes(), min_size=2, max_size=3))
def test_documents_share_no_sentence_and_no_paragraph(parts):
    joined = join_syntax(parts)
    for border in accumulate(len(part.sentences) for part in parts[:-1]):
        for groups in (joined.sentences, joined.paragraphs):
            assert groups[border - 1] < groups[border]
    for column in (joined.sentences, joined.paragraphs, joined.edu_tokens):
        assert list(column) == sorted(column), "numbered in order"
