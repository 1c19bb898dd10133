from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from genrst.rnng.storage import make_network
from genrst.training.lessons import TransitionLessons, explore

from genrst.rnng.batch import make_batch
from genrst.rnng.examples import derive
from genrst.rnng.transitions.oracle import tree_of
from tests.training.samples import SMALL, prepare_samples
from tests.training.test_trainer import QUICK, make_trainer

PREPARED = prepare_samples()
IS_RIGHT = PREPARED.symbols.nucleus_is_right


def make_discriminative(seed: int = 1):
    torch.manual_seed(seed)
    return make_network(replace(SMALL, kind="discriminative"), PREPARED.symbols)


@pytest.mark.slow
def test_actions_are_drawn_from_the_network():
    """How often the commonest trees are drawn, against the network's own probabilities."""
    network, example = make_discriminative(), PREPARED.train[0]
    draws = explore(network, [example] * 4000, IS_RIGHT, 1.0, seed=1)
    found = Counter(drawn.actions for drawn, _ in draws)
    assert len(found) > 20
    for actions, count in found.most_common(5):
        tree = replace(example, actions=actions)
        with torch.no_grad():
            logp = float(network(make_batch([tree], [derive(tree, IS_RIGHT)])).actions.sum())
        expected = 4000 * float(np.exp(logp))
        assert abs(count - expected) < 5 * expected**0.5


def test_high_temperatures_make_more_kinds_of_trees():
    network, example = make_discriminative(), PREPARED.train[1]
    for parameter in network.action_head.parameters():
        parameter.data *= 5
    kinds = [
        len({drawn.actions for drawn, _ in explore(network, [example] * 200, IS_RIGHT, temperature, seed=1)})
        for temperature in (0.01, 1.0, 100.0)
    ]
    assert kinds[0] == 1 < kinds[1] < kinds[2]


def test_right_actions_are_those_of_the_oracle_and_trees_are_complete():
    network = make_discriminative()
    for example, (drawn, right) in zip(
        PREPARED.train, explore(network, PREPARED.train, IS_RIGHT, 1.0, seed=3), strict=True
    ):
        assert tree_of(PREPARED.symbols.actions[action] for action in drawn.actions).stop == example.n_edus
        assert right.shape == (len(drawn.actions), 2)
        assert (right[0] == 0).all()
        assert (right[-1] > 0).all()
    assert explore(network, [], IS_RIGHT, 1.0, seed=3) == []
    assert network.training


def test_lessons_of_an_epoch_are_explored_in_part():
    config = replace(QUICK, exploration=0.67)
    network = make_discriminative()
    lessons = TransitionLessons(PREPARED, config, network, seed=1)
    seen = set()
    for epoch in range(8):
        made = sorted(lessons.epoch(epoch, network), key=lambda lesson: lesson.number)
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
    monkeypatch.setattr("genrst.training.lessons.MOST_EDUS", 8)
    found = explore(network, PREPARED.train * 12, IS_RIGHT, 1.0, seed=1)
    assert [drawn.id for drawn, _ in found] == [example.id for example in PREPARED.train] * 12
    assert all(len(drawn.actions) == 2 * drawn.n_edus - 1 == len(right) for drawn, right in found)
    assert len({drawn.actions for drawn, _ in found[::3]}) > 5
    again = explore(network, PREPARED.train * 12, IS_RIGHT, 1.0, seed=1)
    assert [drawn.actions for drawn, _ in again] == [drawn.actions for drawn, _ in found]


def test_lessons_are_counted_and_numbered_with_all_variations_at_once():
    """Schedules rely on the count, noise on the numbers."""
    prepared = prepare_samples()
    prepared = replace(prepared, silver=prepared.train[1:])
    network = make_discriminative()
    config = replace(QUICK, silver_epochs=2, exploration=0.67)
    lessons = TransitionLessons(prepared, config, network, seed=1)
    for epoch, n_silver in enumerate((2, 2, 0)):
        made = lessons.epoch(epoch, network)
        assert len(made) == lessons.count(epoch) == 3 + n_silver
        assert len({lesson.number for lesson in made}) == len(made)
        silver = [lesson.example for lesson in made if lesson.number >= 3]
        assert sorted(example.id for example in silver) == sorted(e.id for e in prepared.silver[:n_silver])
        gold = {lesson.number: lesson.example for lesson in made if lesson.number < 3}
        assert [gold[number].id for number in range(3)] == [example.id for example in prepared.train]
