"""One action at a time against whole batches: both must be the same network."""

from dataclasses import replace
from itertools import accumulate

import pytest
import torch
from torch import Tensor

from genrst.model.examples import Example
from genrst.model.scoring.scorer import NetworkScorer
from genrst.model.scoring.words import WordScores
from genrst.search.beam import search_greedily
from genrst.search.scorer import EMPTY_STACK, NO_UNIT, Scorer, States
from genrst.transitions.actions import ActionSet, Reduce
from genrst.transitions.oracle import tree_of
from tests.model.random_examples import N_LABELS, NUCLEUS_IS_RIGHT, random_example
from tests.model.test_network import KINDS, batch_of, make_network

torch.set_num_threads(1)


class Follower:
    """The state of one document that does given actions."""

    def __init__(self, example: Example, first_leaf: int) -> None:
        self.actions = list(example.actions)
        self.first_leaf = first_leaf
        self.n_done = self.n_generated = 0
        self.units: list[int] = []
        self.starts: list[int] = []
        self.stacks = [EMPTY_STACK]

    @property
    def next_action(self) -> int | None:
        return self.actions[self.n_done] if self.n_done < len(self.actions) else None

    @property
    def state(self) -> tuple[int, int, int, int]:
        """All that a scorer is told, besides the document."""
        second, top = [NO_UNIT, NO_UNIT, *self.starts][-2:]
        return self.stacks[-1], second, top, self.n_generated

    def act(self, scorer: Scorer) -> None:
        """Do the next action."""
        action = self.actions[self.n_done]
        if action == 0:
            self.units.append(self.first_leaf + self.n_generated)
            self.starts.append(self.n_generated)
            self.n_generated += 1
        else:
            right, left = self.units.pop(), self.units.pop()
            self.units.append(int(scorer.compose(*torch.tensor([[left], [right], [action - 1]]))))
            del self.starts[-1], self.stacks[-2:]
        self.stacks.append(int(scorer.push(*torch.tensor([self.stacks[-1:], self.units[-1:]]))))
        self.n_done += 1


def follow(scorer: Scorer, examples: list[Example]) -> tuple[list[list[float]], list[list[float]]]:
    """The log-probabilities of the actions and EDUs of each document, all in step, so that calls take several."""
    firsts = accumulate((example.n_edus for example in examples), initial=0)
    followers = [Follower(example, first) for example, first in zip(examples, firsts, strict=False)]
    actions: list[list[float]] = [[] for _ in examples]
    words: list[list[float]] = [[] for _ in examples]
    while active := [number for number, one in enumerate(followers) if one.next_action is not None]:
        active.sort(key=lambda number: followers[number].next_action != 0)
        n_words = sum(followers[number].next_action == 0 for number in active)
        states = States(*torch.tensor([(number, *followers[number].state) for number in active]).T)
        logp, word_logp = scorer.score(states, n_words)
        assert torch.allclose(logp.exp().sum(dim=1), torch.ones(len(active)).to(logp), atol=1e-5)
        assert len(word_logp) == n_words
        for place, (number, row) in enumerate(zip(active, logp, strict=True)):
            one = followers[number]
            assert bool(row[0].isinf()) == (one.n_generated == examples[number].n_edus)
            assert (row[1:].isinf() == (len(one.units) < 2)).all()
            actions[number].append(float(row[one.actions[one.n_done]]))
            words[number] += word_logp[place : place + 1].tolist()
            one.act(scorer)
    return actions, words


def own_words(network_words: Tensor, examples: list[Example]) -> list[float]:
    """The network's log-probabilities of words, summed up to those of EDUs."""
    lengths = [int(length) + 1 for example in examples for length in example.edu_lengths]
    return [part.sum().item() for part in torch.split(network_words, lengths)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "is_double"), [(0, True), (1, False), (2, False), (3, False)])
@pytest.mark.parametrize("is_padded", [False, True])
def test_single_actions_score_as_the_batch_does(kind, seed, is_double, is_padded, monkeypatch):
    """Also with words as on a GPU."""
    if is_padded:
        monkeypatch.setattr(WordScores, "logp", WordScores._padded)
    network = make_network(kind, seed)
    if not is_double:
        network.float()
    examples = [random_example(n_edus, 100 * seed + n_edus) for n_edus in (7, 1, 12, 2)]
    actions, words = follow(NetworkScorer(network, examples, NUCLEUS_IS_RIGHT), examples)
    expected = network(batch_of(examples))
    tolerance = 1e-12 if is_double else 1e-5
    assert [logp for one in actions for logp in one] == pytest.approx(expected.actions.tolist(), abs=tolerance)
    of_edus = own_words(expected.words, examples) if kind == "generative" else [0.0] * 22
    assert [logp for one in words for logp in one] == pytest.approx(of_edus, abs=tolerance)


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
        assert parse.word_logp == 0
    assert len({parse.actions for parse in parses}) == 4


def test_documents_side_by_side_parse_as_alone():
    network = make_network("discriminative", 2).float()
    examples = [random_example(n_edus, n_edus) for n_edus in (3, 8, 5)]
    together = search_greedily(NetworkScorer(network, examples, NUCLEUS_IS_RIGHT))
    alone = [search_greedily(NetworkScorer(network, [one], NUCLEUS_IS_RIGHT))[0] for one in examples]
    assert [parse.actions for parse in together] == [parse.actions for parse in alone]


class Pair:
    """A scorer of one document of three EDUs with two of them on a stack."""

    def __init__(self) -> None:
        self.network = make_network("generative", 3).float()
        self.scorer = NetworkScorer(self.network, [random_example(3, 1)], NUCLEUS_IS_RIGHT)
        self.one = self.push(EMPTY_STACK, 0)
        self.both = self.push(self.one, 1)

    def push(self, stack: int, unit: int) -> int:
        return int(self.scorer.push(torch.tensor([stack]), torch.tensor([unit])))

    def score(self) -> list[float]:
        """With both EDUs on the stack."""
        return self._score(self.both, second=0, top=1)

    def score_joined(self, unit: int) -> list[float]:
        """With nothing but one unit of both."""
        return self._score(self.push(EMPTY_STACK, unit), second=NO_UNIT, top=0)

    def _score(self, stack: int, second: int, top: int) -> list[float]:
        states = States(*torch.tensor([0, stack, second, top, 2])[:, None])
        actions, words = self.scorer.score(states, n_words=1)
        return [*actions[0].tolist(), *words.tolist()]

    def join(self, labels: Tensor) -> int:
        return int(self.scorer.compose(torch.zeros_like(labels), torch.ones_like(labels), labels))


def test_numbers_follow_each_other():
    """Units after all EDUs, stacks after the empty one, whatever is forgotten in between."""
    pair = Pair()
    assert (pair.one, pair.both) == (1, 2)
    assert pair.join(torch.tensor([0, 1, 2])) == 3
    assert pair.join(torch.tensor([1])) == 6
    pair.scorer.forget(torch.tensor([0, 6]), torch.tensor([EMPTY_STACK, pair.both]))
    assert pair.join(torch.tensor([4, 5])) == 7
    assert pair.scorer.push(torch.tensor([EMPTY_STACK] * 3), torch.tensor([2, 6, 8])) == 3
    assert pair.push(EMPTY_STACK, 7) == 6


def test_tables_grow_and_keep_what_they_hold():
    """Hundreds of stacks more than there was room for; the first ones stay, and so does the network."""
    pair = Pair()
    weights = {name: tensor.clone() for name, tensor in pair.network.state_dict().items()}
    before, n_stacks = pair.score(), 3
    for size in (1, 3, 200):
        units = torch.arange(size) + pair.join(torch.arange(size) % N_LABELS)
        assert pair.scorer.push(torch.full((size,), EMPTY_STACK), units) == n_stacks, "numbers are handed out once"
        n_stacks += size
        assert pair.score() == before
    for name, tensor in pair.network.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def test_a_unit_is_the_same_however_it_is_composed():
    """Alone or with others; other labels make other units, and so do the same parts the other way round."""
    pair = Pair()
    first = pair.join(torch.tensor([2, 0, 2]))
    scores = [pair.score_joined(first + number) for number in range(3)]
    assert scores[0] == pytest.approx(scores[2], abs=1e-6)
    assert scores[0] != pytest.approx(scores[1], abs=1e-3)
    assert pair.score_joined(pair.join(torch.tensor([2]))) == pytest.approx(scores[0], abs=1e-6)
    swapped = int(pair.scorer.compose(torch.tensor([1]), torch.tensor([0]), torch.tensor([2])))
    assert pair.score_joined(swapped) != pytest.approx(scores[0], abs=1e-3)


def test_what_is_forgotten_can_be_built_again():
    pair = Pair()
    before, unit = pair.score(), pair.join(torch.tensor([1]))
    scores = pair.score_joined(unit)
    pair.scorer.forget(torch.tensor([0, 1]), torch.tensor([EMPTY_STACK, pair.one, pair.both]))
    assert pair.score() == before
    again = pair.join(torch.tensor([1]))
    assert again != unit, "numbers are handed out once"
    assert pair.score_joined(again) == scores
    assert pair.push(pair.both, 2) > pair.both, "leaves are never forgotten"
    with pytest.raises((IndexError, RuntimeError)):
        pair.push(EMPTY_STACK, unit)


def test_what_is_not_forgotten_stays():
    pair = Pair()
    unit = pair.join(torch.tensor([4]))
    scores = pair.score_joined(unit)
    pair.join(torch.arange(5))
    pair.scorer.forget(torch.tensor([unit]), torch.tensor([EMPTY_STACK]))
    assert pair.score_joined(unit) == scores
    with pytest.raises((IndexError, RuntimeError)):
        pair.push(pair.both, 2)


def test_words_are_scored_of_as_many_states_as_are_wanted():
    """The first ones; actions do not depend on it."""
    pair = Pair()
    states = States(*torch.tensor([[0, EMPTY_STACK, NO_UNIT, NO_UNIT, 0], [0, pair.one, NO_UNIT, 0, 1],
                                   [0, pair.both, 0, 1, 2]]).T)  # fmt: skip
    actions, words = pair.scorer.score(states, 3)
    assert (words < 0).all()
    for n_words in range(3):
        same_actions, some = pair.scorer.score(states, n_words)
        assert torch.equal(same_actions, actions)
        torch.testing.assert_close(some, words[:n_words])


def test_what_a_scorer_says_of_itself():
    scorer = NetworkScorer(make_network("generative"), [random_example(3), random_example(5)], NUCLEUS_IS_RIGHT)
    assert scorer.n_edus == (3, 5)
    assert scorer.n_labels == N_LABELS
    assert scorer.device == torch.device("cpu")
    same: Scorer = scorer
    assert same.compose(torch.tensor([7]), torch.tensor([7]), torch.tensor([0])) == 8, "after the EDUs of both"
