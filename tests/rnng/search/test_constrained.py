"""Searches with constraints against the enumeration of all trees, of which only those are kept that are as demanded."""

import random
from collections.abc import Callable, Sequence

import pytest
import torch

from genrst.errors import ConstraintError
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.results import Parse, SearchResult
from genrst.rnng.search.scorer import Constrained, Scorer
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.transitions.actions import ActionSet, Reduce, tree_of
from genrst.rnng.transitions.legal import LegalActions
from genrst.trees.constraints import UNCONSTRAINED, Constraint, ResolvedConstraints, frozen, resolve_constraints
from genrst.trees.node import units
from tests.chart.enumeration import fits
from tests.rnng.search.gpu_way import DenseScorer, take_gpu_way
from tests.rnng.search.literal import enumerate_all
from tests.rnng.search.networks import random_model
from tests.rnng.search.tables import TableScorer, fixed, wild
from tests.rnng.search.test_searches import assert_same
from tests.rnng.test_network import KINDS

torch.set_num_threads(1)

UNLIMITED = 10**6
ACTIONS = ActionSet((Reduce("cause", "NS"), Reduce("joint", "NN")))
LABELS = [(label.relation, label.nuclearity) for label in ACTIONS.labels]

Search = Callable[[Scorer, int, Sequence[ResolvedConstraints]], list[SearchResult]]
SEARCHES: dict[str, Search] = {
    "bag": lambda scorer, k, constraints: search_beams(scorer, BeamOptions(k, "bag"), constraints=constraints),
    "action": lambda scorer, k, constraints: search_beams(scorer, BeamOptions(k, "action"), constraints=constraints),
    "word": lambda scorer, k, constraints: search_words(scorer, WordOptions(k), constraints=constraints),
}
NARROW: dict[str, Search] = SEARCHES | {
    "greedy": lambda scorer, _, constraints: search_beams(
        scorer, BeamOptions(1, "action", None, 0.0), constraints=constraints
    ),
    "tight": lambda scorer, k, constraints: search_beams(scorer, BeamOptions(k, "bag", 2), constraints=constraints),
    "tight action": lambda scorer, k, constraints: search_beams(
        scorer, BeamOptions(k, "action", 2), constraints=constraints
    ),
}
every_search = pytest.mark.parametrize("search", NARROW.values(), ids=NARROW.keys())


class Case:
    """Random constraints of every kind on a document, at least one tree of which is as they demand."""

    def __init__(self, n_edus: int, seed: int) -> None:
        self.n_edus, rng = n_edus, random.Random(seed)
        while True:
            self.constraints = [self._draw(rng) for _ in range(rng.randint(0, 4))]
            self.sentences = sorted(rng.choices(range(3), k=n_edus)) if rng.random() < 0.4 else None
            try:
                groups = [] if self.sentences is None else [self.sentences]
                self.resolved = resolve_constraints(n_edus, self.constraints, LABELS, groups)
                LegalActions(n_edus, self.resolved)
            except ConstraintError:
                continue
            return

    def _draw(self, rng: random.Random) -> Constraint:
        start = rng.randrange(self.n_edus)
        stop = rng.randint(start + 1, self.n_edus)
        if rng.random() < 0.5:
            return Constraint(start, stop, is_unit=False)
        relation, nuclearity = rng.choice([(None, None), (None, None), ("cause", None), (None, "NN"), *LABELS])
        return Constraint(start, stop, True, relation, nuclearity)

    def has(self, parse: Parse) -> bool:
        """Whether a tree is as demanded, by the words of the documentation."""
        found = list(units(tree_of(ACTIONS[action] for action in parse.actions)))
        structure = tuple((unit.start, unit.children[1].start, unit.stop) for unit in found)
        label_of = {(unit.start, unit.stop): (unit.relation, unit.nuclearity) for unit in found}
        for one in self.constraints:
            relation, nuclearity = label_of.get(one.span, (None, None))
            if one.relation not in (None, relation) or one.nuclearity not in (None, nuclearity):
                return False
        return fits(structure, self.constraints, self.sentences, self.n_edus)


@pytest.mark.slow
@pytest.mark.parametrize(("n_edus", "n_cases"), [(1, 2), (2, 5), (3, 6), (4, 5), (5, 3), (6, 1)])
def test_unlimited_beams_find_all_trees_that_are_as_demanded(n_edus, n_cases):
    table = wild(seed=n_edus)
    every = enumerate_all(TableScorer([n_edus], table))
    n_kept = set()
    for seed in range(n_cases):
        case = Case(n_edus, seed)
        expected = [parse for parse in every if case.has(parse)]
        n_kept.add(len(expected))
        for search in SEARCHES.values():
            (found,) = search(TableScorer([n_edus], table), UNLIMITED, [case.resolved])
            assert_same(found.parses, expected)
    assert len(n_kept) > 1 or n_cases < 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_unlimited_beams_of_networks_find_all_trees_that_are_as_demanded(kind):
    model = random_model(kind, [4], seed=4)
    every = enumerate_all(model.scorer())
    for seed in range(2):
        case = Case(4, 50 + seed)
        expected = [parse for parse in every if case.has(parse)]
        for search in SEARCHES.values():
            assert_same(search(model.scorer(), UNLIMITED, [case.resolved])[0].parses, expected)


@pytest.mark.slow
@every_search
def test_narrow_beams_find_trees_that_are_as_demanded_and_never_none(search):
    """Of several documents at once, each with constraints of its own."""
    sizes = [1, 2, 6, 12, 9]
    for seed in range(2):
        cases = [Case(size, 10 * seed + number) for number, size in enumerate(sizes)]
        constraints = [case.resolved for case in cases]
        for k in (1, 3):
            for case, found in zip(cases, search(TableScorer(sizes, wild(seed=seed)), k, constraints), strict=True):
                assert 1 <= len(found.parses) <= k
                assert all(case.has(parse) for parse in found.parses)


@pytest.mark.slow
@every_search
def test_the_way_of_a_gpu_finds_the_same(search, monkeypatch):
    sizes = [4, 1, 12, 2, 7]
    constraints = [Case(size, 7 + size).resolved for size in sizes]
    expected = search(TableScorer(sizes, wild()), 3, constraints)
    take_gpu_way(monkeypatch)
    for found, before in zip(search(DenseScorer(sizes, wild()), 3, constraints), expected, strict=True):
        assert_same(found.parses, before.parses)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@every_search
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same(search, kind):
    sizes = [12, 1, 30, 5]
    model = random_model(kind, sizes, seed=8)
    constraints = [Case(size, size).resolved for size in sizes]
    expected = search(model.scorer(), 6, constraints)
    model.network.cuda()
    for found, before in zip(search(model.scorer(), 6, constraints), expected, strict=True):
        assert_same(found.parses, before.parses)


@every_search
def test_no_demands_change_nothing(search):
    sizes = [4, 9, 1]
    free = {
        "greedy": lambda scorer: search_beams(scorer, BeamOptions(1, "action", None, 0.0)),
        "word": lambda scorer: search_words(scorer, WordOptions(3)),
        "bag": lambda scorer: search_beams(scorer, BeamOptions(3)),
        "action": lambda scorer: search_beams(scorer, BeamOptions(3, "action")),
        "tight": lambda scorer: search_beams(scorer, BeamOptions(3, "bag", 2)),
        "tight action": lambda scorer: search_beams(scorer, BeamOptions(3, "action", 2)),
    }
    (name,) = [name for name, one in NARROW.items() if one is search]
    expected = free[name](TableScorer(sizes, wild()))
    assert search(TableScorer(sizes, wild()), 3, [UNCONSTRAINED] * 3) == expected


@every_search
def test_a_frozen_tree_is_the_only_one_left(search):
    gold = (0, 0, 1, 0, 0, 0, 2, 1, 0, 2, 2)
    tree = tree_of(ACTIONS[action] for action in gold)
    (found,) = search(TableScorer([6], wild()), 5, [resolve_constraints(6, frozen(tree), LABELS)])
    assert [parse.actions for parse in found.parses] == [gold]


def test_a_bound_is_raised_only_where_demands_need_it():
    """All EDUs would be generated first; one document must be so, and the other one may not."""
    constraints = [ResolvedConstraints(tuple((start, 8) for start in range(7))), UNCONSTRAINED]
    for level in ("bag", "action"):
        options = BeamOptions(4, level, max_stack=3)
        first, second = search_beams(TableScorer([8, 8], fixed(3.0, 0.0, 0.1)), options, constraints=constraints)
        assert first.parses[0].actions[:8] == (0,) * 8
        assert first.is_bounded
        assert second.parses == search_beams(TableScorer([8], fixed(3.0, 0.0, 0.1)), options)[0].parses
        assert second.is_bounded


def test_what_leaves_no_tree_is_an_error():
    with pytest.raises(ConstraintError, match="no tree is possible"):
        Constrained(TableScorer([3], wild()), [ResolvedConstraints(forbidden=frozenset({(0, 2), (1, 3)}))])
