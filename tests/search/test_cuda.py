"""Searches on a GPU against the same on the CPU; only where there is one."""

import pytest
import torch

from genrst.search.beam import BeamOptions, search_beams
from genrst.search.results import Found
from tests.search.networks import random_model

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def parses(found: list[Found]) -> list[list[tuple[int, ...]]]:
    return [[parse.actions for parse in one.parses] for one in found]


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
