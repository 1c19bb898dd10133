import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document
from genrst.segmenter.features import Tokens, read_tokens, structure
from genrst.segmenter.network import WindowedText, cut
from tests.segmenter.samples import annotated_documents, count_symbols


def make_tokens(lengths: list[int]) -> Tokens:
    """Sentences of these lengths."""
    starts = np.zeros(sum(lengths), dtype=np.bool_)
    starts[np.cumsum([0, *lengths[:-1]])] = True
    return Tokens(np.zeros((len(starts), 8), np.int32), np.arange(len(starts)), starts)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 20))
def test_windows_are_whole_sentences_as_many_as_fit(lengths: list[int], window: int):
    """Or parts of sentences that are longer than a window, the last of them with what follows."""
    expected: list[list[int]] = []
    for length in lengths:
        sizes = [min(window, length - done) for done in range(0, length, window)]
        for size in sizes:
            if expected and sum(expected[-1]) + size <= window:
                expected[-1].append(size)
            else:
                expected.append([size])
    stops = np.cumsum([sum(sizes) for sizes in expected])
    assert cut(make_tokens(lengths), window).tolist() == [list(pair) for pair in pairwise([0, *stops])]


@pytest.mark.slow
@given(st.lists(annotated_documents(), min_size=1, max_size=3), st.integers(1, 12), st.integers(1, 5))
def test_batches_hold_every_token_once_as_it_is(documents: list[Document], window: int, size: int):
    symbols = count_symbols(documents)
    tokens = [read_tokens(document, symbols) for document in documents]
    text = WindowedText(tokens, window)
    offsets = np.cumsum([0, *map(len, tokens)])
    assert len(text) == offsets[-1]
    structures = [structure(one) for one in tokens]
    numbers = np.concatenate([one.symbols for one in tokens])
    measures = np.concatenate([found for _, found in structures])
    pointers = np.concatenate([found + start for (found, _), start in zip(structures, offsets, strict=False)])
    document_of = np.repeat(np.arange(len(tokens)), list(map(len, tokens)))
    seen = []
    for batch in text.batches(size):
        assert len(batch.symbols) <= size
        assert batch.is_token.sum(dim=1).tolist() == batch.lengths.tolist()
        at = 0
        for row, length in enumerate(batch.lengths.tolist()):
            places = batch.places[at : at + length].numpy()
            at += length
            assert places.tolist() == list(range(places[0], places[0] + length))
            assert len(set(document_of[places])) == 1
            np.testing.assert_array_equal(batch.symbols[row, :length], numbers[places])
            np.testing.assert_array_equal(batch.measures[row, :length], measures[places])
            expected = np.clip(pointers[places], places[0], places[-1]) - places[0]
            np.testing.assert_array_equal(batch.pointers[row, :length], expected)
            assert (batch.pointers[row] < length).all(), "padding points to tokens too"
            seen += places.tolist()
    assert sorted(seen) == list(range(len(text)))


@pytest.mark.parametrize("seed", range(3))
def test_any_windows_make_a_batch(seed: int):
    rng = random.Random(seed)
    text = WindowedText([make_tokens([rng.randint(1, 9) for _ in range(10)])], 10)
    chosen = rng.sample(range(len(text.windows)), 3)
    batch = text.batch(text.windows[chosen])
    assert batch.lengths.tolist() == [text.windows[row, 1] - text.windows[row, 0] for row in chosen]
    assert torch.equal(batch.places, torch.cat([torch.arange(*text.windows[row].tolist()) for row in chosen]))
