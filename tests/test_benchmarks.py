"""What the benchmarks make of documents; what they measure is no matter of tests."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.search import join_examples, measure
from genrst.encoder.model import Model
from genrst.rnng.examples import Example
from genrst.rnng.finder import make_network
from tests.rnng.random_examples import random_example
from tests.training.samples import SMALL, prepare_samples


def edus(example: Example, kinds: Sequence[int]) -> list[tuple[list[int], list[int], int]]:
    """The words, the tokens' words and the kind of each EDU."""
    words = np.split(example.edu_words, np.cumsum(example.edu_lengths)[:-1])
    tokens = np.split(example.token_words, example.syntax.edu_tokens[1:-1])
    return [(w.tolist(), t.tolist(), kind) for w, t, kind in zip(words, tokens, kinds, strict=True)]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(1, 15))
def test_documents_are_joined_to_any_length(sizes: list[int], n_edus: int):
    examples = [random_example(size, seed) for seed, size in enumerate(sizes)]
    joined = join_examples(examples, n_edus)
    repeated = [edu for example in examples * 15 for edu in edus(example, example.syntax.kinds)]
    assert edus(joined, joined.syntax.kinds) == repeated[:n_edus]
    assert all(0 <= head < len(joined.token_words) for head in joined.syntax.heads)


@pytest.mark.parametrize("search", ["bag", "word", "action"])
def test_a_model_with_kinds_is_measured(search: str):
    prepared = prepare_samples()
    network = make_network(replace(SMALL, layout_size=4, layout_kinds=True), prepared.symbols).eval()
    with torch.inference_mode():
        row = measure(Model(network, prepared.symbols), [join_examples(prepared.dev, 9)], search, 2, rate=1e9)
    assert (row["edus"], row["documents"], row["beam"]) == (9, 1, 2)
