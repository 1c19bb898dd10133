"""Recorded steps: their sources and, only where there is a GPU, searches on it against the same on the CPU."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.cuda import level_sources
from genrst.rnng.search.results import SearchResult
from genrst.rnng.search.successors import NOWHERE
from tests.rnng.search.networks import random_model


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4, unique=True), st.integers(1, 9), st.booleans())
def test_level_sources_are_the_stacks_of_a_unit_less_and_a_unit_more(documents, largest, is_odd):
    even, odd = range(0, largest + 1, 2), range(1, largest + 1, 2)
    sizes, before = (odd, even) if is_odd else (even, odd)
    sources = level_sources(documents, sizes, before, torch.device("cpu"))
    beams_before = [(document, size) for document in documents for size in before]
    expected = [(document, size) for document in documents for size in sizes]
    assert sources.documents.tolist() == [document for document, _ in expected]
    for column, step in ((sources.generates_from, -1), (sources.reduces_from, 1)):
        wanted = [(document, size + step) for document, size in expected]
        found = [beams_before[row] if row != NOWHERE else None for row in column.tolist()]
        assert found == [beam if beam in beams_before else None for beam in wanted]


def parses(found: list[SearchResult]) -> list[list[tuple[int, ...]]]:
    return [[parse.actions for parse in one.parses] for one in found]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", ["generative", "discriminative"])
@pytest.mark.parametrize("level", ["bag", "action"])
def test_a_gpu_finds_the_same(kind, level):
    """Also with recorded steps, which only bag-level search has, and with documents that end before others."""
    model = random_model(kind, [40, 3, 25, 1, 64], n_labels=3)
    options = BeamOptions(6, level)
    expected = search_beams(model.scorer(), options)
    model.network.to("cuda")
    found = search_beams(model.scorer(), options)
    assert parses(found) == parses(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.parses[0].logp == pytest.approx(other.parses[0].logp, abs=1e-4)
