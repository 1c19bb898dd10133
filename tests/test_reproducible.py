"""The same text has the same tree, to the last bit, whoever parses it beside what: with the model that users have.

Batches, threads and processes are in `tests.parser.test_neighbours`. The long version of all, with Ray and twenty
kills, is `python -m benchmarks.reproducible`.
"""

import os
import random
from collections.abc import Iterator

import pytest

from benchmarks.reproducible import (
    Facts,
    Trees,
    alone,
    by_clients,
    by_runs,
    collect,
)
from genrst.parser.parser import Text
from tests.seed import SEED

pytestmark = pytest.mark.slow
RNG = random.Random(SEED)


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    found = collect([], 40, (80, 400), RNG)
    assert len({text.text for text in found}) < len(found) == 40
    return found


@pytest.fixture(scope="module")
def expected(texts: list[Text]) -> Trees:
    """Each by itself."""
    return alone(texts, "en", 1)


def check(ways: Iterator[tuple[Facts, Trees]], expected: Trees) -> None:
    for facts, trees in ways:
        different = [id for id, tree in expected.items() if trees.get(id) != tree]
        assert not different, facts


def test_clients(texts: list[Text], expected: Trees):
    check(by_clients(texts, "en"), expected)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes")
def test_a_run_that_is_killed(texts: list[Text], expected: Trees):
    check(by_runs(texts, "en", 1, RNG, [("local", 2)]), expected)
