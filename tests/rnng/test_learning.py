"""What the paper's model learns: the likelihood of dev, the scores of its trees, and exploration."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from genrst.evaluation.report import evaluate
from genrst.rnng.batch import derive, make_batch
from genrst.rnng.finder import make_network
from genrst.rnng.learning import (
    RnngLearning,
    RnngTask,
    evaluate_bags,
    evaluate_greedily,
    evaluate_parses,
    explore,
    gold_likelihood,
)
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import search_greedily
from genrst.rnng.transitions.actions import tree_of
from genrst.rnng.transitions.features import Syntax
from genrst.task import Likelihood
from genrst.training.tasks import make_task
from genrst.trees.relations import OPEN
from tests.rnng.reference import Reference
from tests.rnng.search.literal import search_bags_literally
from tests.training.samples import QUICK, SMALL, make_document, make_trainer, prepare_samples

torch.set_num_threads(1)
PREPARED = prepare_samples()
SYMBOLS = PREPARED.symbols
IS_RIGHT = SYMBOLS.nucleus_is_right
GOLD = [derive(example, IS_RIGHT) for example in PREPARED.dev]


def random_network(kind: str, seed: int = 1) -> Network:
    torch.manual_seed(seed)
    return make_network(replace(SMALL, kind=kind), SYMBOLS).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["generative", "discriminative"])
@pytest.mark.parametrize("batch_documents", [1, 2, 3, 100])
@torch.no_grad()
def test_likelihood_is_the_reference_s_whatever_the_batches(kind: str, batch_documents: int):
    network = random_network(kind)
    actions, words = [], []
    for example in PREPARED.dev:
        found = Reference(network, example).score(IS_RIGHT)
        actions += found[0]
        words += found[1]
    likelihood = gold_likelihood(network, PREPARED.dev, GOLD, batch_documents)
    assert likelihood.action_nll == pytest.approx(-float(sum(actions)), rel=1e-5)
    assert likelihood.word_nll == pytest.approx(-float(sum(words)), rel=1e-5)
    assert likelihood.n_edus == 11
    assert likelihood.n_words == len(words), "every word and the end of every EDU; none if discriminative"


def test_likelihoods_add_up():
    assert Likelihood(1.0, 2, 3.0, 4) + Likelihood(0.5, 1, 0.25, 2) == Likelihood(1.5, 3, 3.25, 6)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_trees_that_search_finds(seed: int):
    """By way of documents with text and their trees, as `genrst evaluate` does it."""
    network = random_network("discriminative", seed)
    parses = search_greedily(NetworkScorer(network, PREPARED.dev, IS_RIGHT))
    gold = [make_document(number) for number in range(3)]
    found = [
        replace(document, tree=tree_of(SYMBOLS.actions[number] for number in parse.actions))
        for document, parse in zip(gold, parses, strict=True)
    ]
    expected = evaluate(gold, found, labels="fine", inventory=OPEN).micro("parseval")
    scores = evaluate_greedily(network, SYMBOLS, PREPARED.dev).percentages()
    assert scores == {aspect: 100 * expected[aspect].f1 for aspect in "SNRF"}
    assert 0 <= scores["F"] <= scores["S"] < 100, "a random network does not know the trees"


@pytest.mark.parametrize("beam", [1, 3])
def test_bag_level_scores_are_those_of_the_literal_search(beam: int):
    network = random_network("generative", 1)
    found = []
    for example in PREPARED.dev:
        beams = search_bags_literally(NetworkScorer(network, [example], IS_RIGHT), beam)
        best = max(beams[example.n_edus, example.n_edus - 1], key=lambda state: state.logp)
        found.append(best.actions)
    assert evaluate_bags(network, SYMBOLS, PREPARED.dev, beam) == evaluate_parses(PREPARED.dev, found, SYMBOLS)


def test_a_single_edu_has_no_score_but_no_accident_either():
    example = PREPARED.dev[0]
    n_tokens, syntax = example.syntax.edu_tokens[1], example.syntax
    alone = replace(
        example,
        edu_words=example.edu_words[: example.edu_lengths[0]],
        edu_lengths=example.edu_lengths[:1],
        token_words=example.token_words[:n_tokens],
        syntax=Syntax(syntax.heads[:n_tokens], syntax.deprels[:n_tokens], [0, n_tokens], [0], [0]),
        actions=(0,),
    )
    scores = evaluate_greedily(random_network("generative"), SYMBOLS, [alone]).percentages()
    assert scores.keys() == {"S", "N", "R", "F"}
    assert not any(math.isnan(score) for score in scores.values())


def make_discriminative() -> Network:
    """A network in training."""
    return random_network("discriminative").train()


@pytest.mark.slow
def test_actions_are_drawn_from_the_network():
    """How often the commonest trees are drawn, against the network's own probabilities."""
    network, example = make_discriminative(), PREPARED.train[0]
    draws = explore(network, [example] * 4000, IS_RIGHT, seed=1)
    found = Counter(drawn.actions for drawn, _ in draws)
    assert len(found) > 20
    for actions, count in found.most_common(5):
        tree = replace(example, actions=actions)
        with torch.no_grad():
            logp = float(network(make_batch([tree], [derive(tree, IS_RIGHT)])).actions.sum())
        expected = 4000 * float(np.exp(logp))
        assert abs(count - expected) < 5 * expected**0.5


def test_right_actions_are_those_of_the_oracle_and_trees_are_complete():
    network = make_discriminative()
    for example, (drawn, right) in zip(PREPARED.train, explore(network, PREPARED.train, IS_RIGHT, seed=3), strict=True):
        assert tree_of(PREPARED.symbols.actions[action] for action in drawn.actions).stop == example.n_edus
        assert right.shape == (len(drawn.actions), 2)
        assert (right[0] == 0).all()
        assert (right[-1] > 0).all()
    assert explore(network, [], IS_RIGHT, seed=3) == []
    assert network.training


def test_lessons_of_an_epoch_are_explored_in_part():
    network, learning = make_discriminative(), RnngLearning(exploration=0.67)
    task = RnngTask(PREPARED.train, PREPARED.dev, SYMBOLS, network.has_kinds, learning=learning, seed=1)
    seen = set()
    for epoch in range(8):
        made = sorted(task.epoch(epoch, network), key=lambda lesson: lesson.number)
        gold = [lesson.example is PREPARED.train[lesson.number] for lesson in made]
        assert sum(gold) == 1
        seen.add(tuple(gold))
    assert len(seen) > 1, "not always the same documents"


@pytest.mark.slow
def test_a_model_learns_from_its_own_mistakes():
    trainer = make_trainer("discriminative", config=replace(QUICK, exploration=1.0))
    assert any(record.dev_scores["F"] == 100 for record in trainer.epochs())


@pytest.mark.slow
def test_documents_are_explored_in_groups(monkeypatch: pytest.MonkeyPatch):
    """Each is complete and in its place, and no group is drawn like another."""
    network = make_discriminative()
    monkeypatch.setattr("genrst.rnng.learning.MOST_EXPLORED", 8)
    found = explore(network, PREPARED.train * 12, IS_RIGHT, seed=1)
    assert [drawn.id for drawn, _ in found] == [example.id for example in PREPARED.train] * 12
    assert all(len(drawn.actions) == 2 * drawn.n_edus - 1 == len(right) for drawn, right in found)
    assert len({drawn.actions for drawn, _ in found[::3]}) > 5
    again = explore(network, PREPARED.train * 12, IS_RIGHT, seed=1)
    assert [drawn.actions for drawn, _ in again] == [drawn.actions for drawn, _ in found]


def test_lessons_are_counted_and_numbered_with_all_variations_at_once():
    """Schedules rely on the count, noise on the numbers."""
    prepared = prepare_samples()
    prepared = replace(prepared, silver=prepared.train[1:])
    network = make_discriminative()
    task = make_task(prepared, network, replace(QUICK, silver_epochs=2, exploration=0.67), seed=1)
    for epoch, n_silver in enumerate((2, 2, 0)):
        made = task.epoch(epoch, network)
        assert len(made) == task.count(epoch) == 3 + n_silver
        assert len({lesson.number for lesson in made}) == len(made)
        silver = [lesson.example for lesson in made if lesson.number >= 3]
        assert sorted(example.id for example in silver) == sorted(e.id for e in prepared.silver[:n_silver])
        gold = {lesson.number: lesson.example for lesson in made if lesson.number < 3}
        assert [gold[number].id for number in range(3)] == [example.id for example in prepared.train]
