import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.segmenter.features import largest_at, subtree_spans
from tests.segmenter.samples import make_heads


def ancestors(token: int, heads: list[int]) -> list[int]:
    """The token itself, its head, and so on up to the root."""
    found = [token]
    while heads[found[-1]] != found[-1]:
        found.append(heads[found[-1]])
    return found


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40))
def test_spans_against_the_definition(seed: int, n_tokens: int, second: int):
    rng = random.Random(seed)
    heads = make_heads(sorted({0, min(second, n_tokens - 1)}), n_tokens, rng)
    first, last = subtree_spans(np.array(heads))
    for token in range(n_tokens):
        subtree = [other for other in range(n_tokens) if token in ancestors(other, heads)]
        assert (first[token], last[token]) == (min(subtree), max(subtree))
    sizes = last - first
    for edges in (first, last):
        found = largest_at(edges, sizes)
        for token in range(n_tokens):
            candidates = [other for other in range(n_tokens) if edges[other] == token] or [token]
            assert found[token] in candidates
            assert sizes[found[token]] == max(sizes[candidates])


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_heads_in_a_circle_end_nothing(heads: list[int]):
    first, last = subtree_spans(np.array(heads))
    assert (first <= np.arange(10)).all()
    assert (last >= np.arange(10)).all()


@pytest.mark.parametrize("step", [1, -1])
def test_a_chain_as_long_as_a_book(step: int):
    n_tokens = 100_000
    heads = np.clip(np.arange(n_tokens) + step, 0, n_tokens - 1)
    first, last = subtree_spans(heads)
    ends = (first, last) if step > 0 else (last, first)
    assert (ends[0] == (0 if step > 0 else n_tokens - 1)).all()
    assert (ends[1] == np.arange(n_tokens)).all()
