"""Scores, search errors and tests of significance of hand-made results."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.command import Environment
from experiments.data import Split
from experiments.paper_tables.scores import Spread, System, choose_best, compare, count_errors, make_systems
from experiments.runs import FoundTree, Logp, Result, Search, list_searches
from genrst.document import Document, Span
from genrst.evaluation.report import evaluate
from genrst.rnng.examples import prepare
from genrst.rnng.transitions.actions import tree_of
from genrst.trees.relations import OPEN
from tests.training.samples import make_document, prepare_samples

PREPARED = prepare_samples()
SPLIT = Split("dev", PREPARED.dev, PREPARED.symbols)
GOLD = tuple(example.actions for example in PREPARED.dev)
WRONG = tuple(tuple(0 if action == 0 else 1 for action in sorted(actions)) for actions in GOLD)
"""Right-branching trees with one label; the gold ones all start with a reduction before the last EDU."""

BAG, WORD, GREEDY = Search("bag", 10, 1.0), Search("word", 10, 1.0), Search("greedy")
NOWHERE = Environment(None, "an abacus", "0")


def make_result(
    computations: tuple[tuple[int, ...], ...], search: Search = BAG, seed: int = 1, model: str = "generative"
) -> Result:
    pairs = zip(SPLIT.ids, computations, strict=True)
    trees = tuple(FoundTree(id, actions, Logp(-1.0, -1.0), Logp(-2.0, -2.0)) for id, actions in pairs)
    return Result(model, seed, search, trees, 1.0, 0, NOWHERE)


def with_logps(result: Result, *logps: Logp) -> Result:
    return replace(
        result, trees=tuple(replace(tree, logp=logp) for tree, logp in zip(result.trees, logps, strict=True))
    )


def with_paragraphs(document: Document) -> Document:
    """Two paragraphs, of which the second starts with the last EDU."""
    last = document.edus[-1]
    return replace(document, paragraphs=(Span(0, last.start), Span(last.start, last.end)))


@given(st.lists(st.randoms(use_true_random=False), min_size=3, max_size=3))
def test_levels_are_those_of_the_documents_themselves(randoms: list[Random]):
    documents = [with_paragraphs(make_document(number)) for number in range(3)]
    examples = [prepare(one, PREPARED.symbols, one.tree) for one in documents]
    found = []
    for example, random in zip(examples, randoms, strict=True):
        actions: list[int] = []
        while len(actions) < 2 * example.n_edus - 1:
            n_read = actions.count(0)
            can_reduce = 2 * n_read - len(actions) >= 2
            reduces = can_reduce and (n_read == example.n_edus or random.random() < 0.5)
            actions.append(random.randrange(1, len(PREPARED.symbols.actions)) if reduces else 0)
        found.append(actions)
    trees = [tree_of(PREPARED.symbols.actions[action] for action in actions) for actions in found]
    predicted = [replace(one, tree=tree) for one, tree in zip(documents, trees, strict=True)]
    expected = evaluate(documents, predicted, labels="fine", inventory=OPEN)
    evaluation = Split("dev", examples, PREPARED.symbols).evaluate(found)
    assert evaluation.levels() == expected.levels()
    assert evaluation.micro() == expected.micro()


def test_the_spread_is_the_sample_s():
    assert str(Spread.of([1.0, 2.0, 6.0])) == "3.0 ± 2.6"
    assert str(Spread.of([4.25])) == "4.2"


def test_scores_have_a_value_of_each_seed():
    """Gold in seed 1; in seed 2 gold but for the first document, of whose two units only the root is right in S."""
    (system,) = make_systems([make_result((WRONG[0], *GOLD[1:]), seed=2), make_result(GOLD, seed=1)], SPLIT)
    assert [result.seed for result in system.results] == [1, 2]
    assert system.scores["S"] == [100.0, pytest.approx(100 * 7 / 8)]
    assert system.scores["F"] == [100.0, pytest.approx(100 * 6 / 8)]
    assert system.levels["sentence"]["F"][0] == 100.0


def test_the_best_has_the_highest_mean_f():
    low, high = (replace(BAG, beam=beam) for beam in (10, 20))
    results = [make_result(GOLD, high, seed=1), make_result(WRONG, high, seed=2)]
    results = [*(make_result(WRONG, low, seed=seed) for seed in (1, 2)), *results]
    results += [make_result(WRONG, GREEDY, seed=seed) for seed in (1, 2)]
    systems = make_systems(results, SPLIT)
    assert [system.search for system in choose_best(systems, by_kind=True)] == [high, GREEDY]
    assert [system.search for system in choose_best(systems, by_kind=False)] == [high]
    equal = make_systems([make_result(GOLD, search) for search in (high, low)], SPLIT)
    assert [system.search for system in choose_best(equal, by_kind=False)] == [high], "the first of equals"


def test_a_search_error_is_a_tree_that_the_search_itself_would_prefer():
    """By the joint score word-level search knows a better tree of document 0 only; with weight 0.5 also of 1."""
    bag = with_logps(make_result(WRONG), Logp(-5, -5), Logp(-5, -5), Logp(-1, -1))
    word = with_logps(make_result(GOLD, WORD), Logp(-4, -5), Logp(-2, -9), Logp(-1.0005, -1))
    half = with_logps(make_result(WRONG, replace(BAG, word_weight=0.5)), Logp(-5, -5), Logp(-5, -5), Logp(-1, -1))
    greedy = with_logps(make_result(GOLD, GREEDY), Logp(-3, 0), Logp(-1, 0), Logp(-0.5, 0))
    systems = make_systems([bag, word, half, greedy], SPLIT)
    found = [count_errors(system, systems) for system in systems]
    assert [errors.another for errors in found] == [[1], [1], [2], [0]]
    assert [errors.gold for errors in found] == [[2], [2], [2], [1]], "the gold trees have −2 and −2"


def test_the_same_tree_is_no_search_error_however_it_is_rounded():
    first, second = make_result(GOLD), with_logps(make_result(GOLD, WORD), *[Logp(-0.9, -0.9)] * 3)
    systems = make_systems([first, second], SPLIT)
    assert count_errors(systems[0], systems).another == [0]


def test_an_impossible_gold_tree_is_never_likelier():
    result = make_result(WRONG)
    result = replace(result, trees=tuple(replace(tree, gold_logp=None) for tree in result.trees))
    assert count_errors(System([result], SPLIT), []).gold == [0]


def test_other_seeds_and_models_are_no_search_errors():
    mine = make_result(WRONG)
    better = [Logp(0.0, 0.0)] * 3
    others = [make_result(GOLD, WORD, seed=2), make_result(GOLD, WORD, model="discriminative")]
    systems = make_systems([mine, *(with_logps(other, *better) for other in others)], SPLIT)
    assert count_errors(systems[0], systems).another == [0]


def test_seeds_are_joined_document_by_document():
    """Three documents stay three, however many seeds: the exact p of a win in all of them is 2 / 2³."""
    good, bad = (
        System([make_result(computations, seed=seed) for seed in (1, 2)], SPLIT) for computations in (GOLD, WRONG)
    )
    comparison = compare(good, bad)
    assert comparison.joined["F"].randomisation_p == 0.25
    assert comparison.joined["F"].points == pytest.approx(100 - bad.scores["F"][0])
    assert comparison.seeds[2]["F"] == comparison.joined["F"]
    assert comparison.joined["F"].low > 0
    none = compare(good, good).joined["S"]
    assert (none.points, none.low, none.high, none.bootstrap_p, none.randomisation_p) == (0, 0, 0, 1, 1)


def test_the_joined_difference_weighs_all_seeds():
    mixed = System([make_result(GOLD, seed=1), make_result(WRONG, seed=2)], SPLIT)
    bad = System([make_result(WRONG, seed=seed) for seed in (1, 2)], SPLIT)
    comparison = compare(mixed, bad)
    assert comparison.joined["F"].points == pytest.approx(comparison.seeds[1]["F"].points / 2)
    assert comparison.seeds[2]["F"].points == 0


def test_searches_of_a_model():
    kinds, beams, weights = ("word", "bag", "action", "greedy"), (10, 20), (1.0, 0.5)
    names = [search.name for search in list_searches("generative", kinds, beams, weights)]
    assert names[:4] == ["word-10-weight-1", "word-10-weight-0.5", "word-20-weight-1", "word-20-weight-0.5"]
    assert (len(names), names[-1]) == (9, "greedy")
    names = [search.name for search in list_searches("discriminative", kinds, beams, weights)]
    assert names == ["action-10", "action-20", "greedy"]
    assert list_searches("generative", ("bag",), (5,), (1.0,)) == [Search("bag", 5, 1.0)]
    tuned = list_searches("generative", kinds, (10,), (1.0,), (5, None), (1,), (40, 60))
    assert [search.name for search in tuned] == [
        "word-10-weight-1-k_w-5-k_s-1",
        "word-10-weight-1-k_s-1",
        "bag-10-weight-1",
        "bag-10-weight-1-stack-60",
        "greedy",
    ]
