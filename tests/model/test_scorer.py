"""One action at a time against whole batches: both must be the same network."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genrst.model.example import Example
from genrst.model.scorer import NetworkScorer
from genrst.search.greedy import search_greedily
from genrst.search.scorer import EMPTY_STACK, NO_UNIT, Scorer
from genrst.transitions.actions import ActionSet, Reduce
from genrst.transitions.oracle import tree_of
from tests.model.random_examples import N_LABELS, NUCLEUS_IS_RIGHT, random_example
from tests.model.test_network import KINDS, batch_of, make_network

torch.set_num_threads(1)


class Follower:
    """The state of one document that does given actions."""

    def __init__(self, example: Example) -> None:
        self.actions = list(example.actions)
        self.n_generated = 0
        self.units: list[int] = []
        self.starts: list[int] = []
        self.stacks = [EMPTY_STACK]

    def start(self, place: int) -> int:
        return self.starts[place] if len(self.starts) >= -place else NO_UNIT


def follow(scorer: Scorer, examples: list[Example]) -> list[list[float]]:
    """The log-probabilities of the actions of each document, all documents in step, so that calls take several."""
    followers = [Follower(example) for example in examples]
    found: list[list[float]] = [[] for _ in examples]
    while active := [number for number, one in enumerate(followers) if len(found[number]) < len(one.actions)]:
        now = [followers[number] for number in active]
        logp = scorer.action_logp(
            np.array(active),
            np.array([one.stacks[-1] for one in now]),
            np.array([one.start(-2) for one in now]),
            np.array([one.start(-1) for one in now]),
            np.array([one.n_generated for one in now]),
        )
        assert np.allclose(np.exp(logp).sum(axis=1), 1, atol=1e-5)
        for number, one, row in zip(active, now, logp, strict=True):
            assert np.isinf(row[0]) == (one.n_generated == examples[number].n_edus)
            assert (np.isinf(row[1:]) == (len(one.units) < 2)).all()
            action = one.actions[len(found[number])]
            found[number].append(float(row[action]))
            act(scorer, number, one, action)
    return found


def act(scorer: Scorer, document: int, one: Follower, action: int) -> None:
    if action == 0:
        units = scorer.leaves(np.array([document]), np.array([one.n_generated]))
        one.starts.append(one.n_generated)
        one.n_generated += 1
    else:
        right, left = one.units.pop(), one.units.pop()
        units = scorer.compose(np.array([left]), np.array([right]), np.array([action - 1]))
        del one.starts[-1], one.stacks[-2:]
    one.units.append(int(units[0]))
    one.stacks.append(int(scorer.push(np.array([one.stacks[-1]]), units)[0]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_single_actions_score_as_the_batch_does(kind: str, seed: int):
    network = make_network(kind, seed).float()
    examples = [random_example(n_edus, 100 * seed + n_edus) for n_edus in (7, 1, 12, 2)]
    found = follow(NetworkScorer(network, examples, NUCLEUS_IS_RIGHT), examples)
    expected = network(batch_of(examples)).actions.tolist()
    assert [logp for document in found for logp in document] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_trees_are_legal_and_their_scores_the_network_s_own(kind: str):
    network = make_network(kind, 5).float()
    examples = [random_example(n_edus, n_edus) for n_edus in (1, 2, 9, 30)]
    parses = search_greedily(NetworkScorer(network, examples, NUCLEUS_IS_RIGHT))
    labels = ActionSet(tuple(Reduce(f"r{label}", "NN") for label in range(N_LABELS)))
    for example, parse in zip(examples, parses, strict=True):
        tree = tree_of(labels[action] for action in parse.actions)
        assert (tree.start, tree.stop) == (0, example.n_edus)
        own = network(batch_of([replace(example, actions=parse.actions)])).actions
        assert parse.action_logp == pytest.approx(own.sum().item(), abs=1e-4)
    assert len({parse.actions for parse in parses}) == 4


def test_documents_side_by_side_parse_as_alone():
    network = make_network("discriminative", 2).float()
    examples = [random_example(n_edus, n_edus) for n_edus in (3, 8, 5)]
    together = search_greedily(NetworkScorer(network, examples, NUCLEUS_IS_RIGHT))
    alone = [search_greedily(NetworkScorer(network, [one], NUCLEUS_IS_RIGHT))[0] for one in examples]
    assert [parse.actions for parse in together] == [parse.actions for parse in alone]


def test_tables_grow_and_keep_what_they_hold():
    """Hundreds of units and stacks more than there was room for; the first ones stay, and so does the network."""
    network = make_network("generative", 3).float()
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    scorer = NetworkScorer(network, [random_example(3, 1)], NUCLEUS_IS_RIGHT)
    zero = np.array([0])
    leaves = scorer.leaves(np.array([0, 0]), np.array([0, 1]))
    stack = scorer.push(np.array([EMPTY_STACK]), leaves[:1])
    pair = scorer.push(stack, leaves[1:])

    def score() -> np.ndarray:
        return scorer.action_logp(zero, pair, zero, np.array([1]), np.array([2]))

    before = score()
    units = {int(unit) for unit in leaves}
    stacks = {EMPTY_STACK, int(stack[0]), int(pair[0])}
    for size in (1, 3, 200):
        new = scorer.compose(np.repeat(leaves[:1], size), np.repeat(leaves[1:], size), np.arange(size) % N_LABELS)
        pushed = scorer.push(np.repeat(EMPTY_STACK, size), new)
        assert len(units & set(new.tolist())) == len(stacks & set(pushed.tolist())) == 0, "numbers are handed out once"
        units |= set(new.tolist())
        stacks |= set(pushed.tolist())
        assert (score() == before).all()
    assert len(units) == 206
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def test_what_a_scorer_says_of_itself():
    scorer = NetworkScorer(make_network("generative"), [random_example(3), random_example(5)], NUCLEUS_IS_RIGHT)
    assert scorer.n_edus == (3, 5)
    assert scorer.n_labels == N_LABELS
    assert scorer.leaves(np.array([0, 1, 1]), np.array([2, 0, 4])).tolist() == [2, 3, 7]
