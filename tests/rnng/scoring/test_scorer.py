"""One action at a time against whole batches: both must be the same network."""

from dataclasses import replace
from itertools import accumulate

import pytest
import torch
from torch import Tensor

from genrst.rnng.examples import Example
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.scoring.words import WordScores
from genrst.rnng.search.beam import BeamOptions, search_beams, search_greedily
from genrst.rnng.search.scorer import Columns, Scorer
from genrst.rnng.transitions.actions import NO_UNIT, ActionSet, Reduce, States, tree_of
from tests.rnng.random_examples import N_LABELS, NUCLEUS_IS_RIGHT, random_example
from tests.rnng.test_network import KINDS, batch_of, make_network

torch.set_num_threads(1)


def leaf(scorer: Scorer, edu: int) -> Columns:
    """An EDU, numbered over all documents, as a unit."""
    return [column[edu : edu + 1] for column in scorer.leaves()]


def join(rows: list[Columns]) -> Columns:
    return [torch.cat(column) for column in zip(*rows, strict=True)]


class Walker:
    """The state of one document that does given actions."""

    def __init__(self, scorer: Scorer, example: Example, first_leaf: int) -> None:
        self._scorer, self._first_leaf = scorer, first_leaf
        self.actions = list(example.actions)
        self.n_done = self.n_generated = 0
        self.units: list[Columns] = []
        self.starts: list[int] = []
        self.stacks = [scorer.empty_stack()]

    @property
    def next_action(self) -> int | None:
        return self.actions[self.n_done] if self.n_done < len(self.actions) else None

    def act(self) -> None:
        """Do the next action."""
        action = self.actions[self.n_done]
        if action == 0:
            self.units.append(leaf(self._scorer, self._first_leaf + self.n_generated))
            self.starts.append(self.n_generated)
            self.n_generated += 1
        else:
            right, left = self.units.pop(), self.units.pop()
            self.units.append(self._scorer.compose(left, right, torch.tensor([action - 1])))
            del self.starts[-1], self.stacks[-2:]
        self.stacks.append(self._scorer.push(self.stacks[-1], self.units[-1]))
        self.n_done += 1


def walk(scorer: Scorer, examples: list[Example]) -> tuple[list[list[float]], list[list[float]]]:
    """The log-probabilities of the actions and EDUs of each document, all in step, so that calls take several."""
    firsts = accumulate((example.n_edus for example in examples), initial=0)
    walkers = [Walker(scorer, example, first) for example, first in zip(examples, firsts, strict=False)]
    actions: list[list[float]] = [[] for _ in examples]
    words: list[list[float]] = [[] for _ in examples]
    while active := [number for number, one in enumerate(walkers) if one.next_action is not None]:
        active.sort(key=lambda number: walkers[number].next_action != 0)
        n_words = sum(walkers[number].next_action == 0 for number in active)
        logp, word_logp = scorer.score(states_of(walkers, active), n_words)
        assert torch.allclose(logp.exp().sum(dim=1), torch.ones(len(active)).to(logp), atol=1e-5)
        assert len(word_logp) == n_words
        for row_number, (number, row) in enumerate(zip(active, logp, strict=True)):
            one = walkers[number]
            assert bool(row[0].isinf()) == (one.n_generated == examples[number].n_edus)
            assert (row[1:].isinf() == (len(one.units) < 2)).all()
            actions[number].append(float(row[one.actions[one.n_done]]))
            words[number] += word_logp[row_number : row_number + 1].tolist()
            one.act()
    return actions, words


def states_of(walkers: list[Walker], active: list[int]) -> States[Tensor]:
    rows = [
        (number, *[NO_UNIT, NO_UNIT, *walkers[number].starts][-2:], walkers[number].n_generated) for number in active
    ]
    documents, second, top, n_generated = torch.tensor(rows).T
    return States(documents, join([walkers[number].stacks[-1] for number in active]), second, top, n_generated)


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
    actions, words = walk(NetworkScorer(network, examples, NUCLEUS_IS_RIGHT), examples)
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
        self.scorer = NetworkScorer(make_network("generative", 3).float(), [random_example(3, 1)], NUCLEUS_IS_RIGHT)
        self.one = self.scorer.push(self.scorer.empty_stack(), leaf(self.scorer, 0))
        self.both = self.scorer.push(self.one, leaf(self.scorer, 1))

    def score_joined(self, left: int, right: int, labels: list[int]) -> list[list[float]]:
        """With nothing but one unit of two EDUs on the stack, for each of the labels."""
        parts = [join([leaf(self.scorer, edu)] * len(labels)) for edu in (left, right)]
        units = self.scorer.compose(parts[0], parts[1], torch.tensor(labels))
        stacks = self.scorer.push(join([self.scorer.empty_stack()] * len(labels)), units)
        zeros = torch.zeros(len(labels), dtype=torch.long)
        actions, words = self.scorer.score(States(zeros, stacks, zeros + NO_UNIT, zeros, zeros + 2), len(labels))
        return torch.cat([actions, words[:, None]], dim=1).tolist()


def test_a_unit_is_the_same_however_it_is_composed():
    """Alone or with others; other labels make other units, and so do the same parts the other way round."""
    pair = Pair()
    scores = pair.score_joined(0, 1, [2, 0, 2])
    assert scores[0] == pytest.approx(scores[2], abs=1e-6)
    assert scores[0] != pytest.approx(scores[1], abs=1e-3)
    assert pair.score_joined(0, 1, [2])[0] == pytest.approx(scores[0], abs=1e-6)
    assert pair.score_joined(1, 0, [2])[0] != pytest.approx(scores[0], abs=1e-3)


def test_a_search_leaves_the_network_and_the_scorer_as_they_are():
    """So a scorer can be searched again."""
    network = make_network("generative", 3).float()
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    scorer = NetworkScorer(network, [random_example(9, 1)], NUCLEUS_IS_RIGHT)
    assert search_greedily(scorer) == search_greedily(scorer)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def test_words_are_scored_of_as_many_states_as_are_wanted():
    """The first ones; actions do not depend on it."""
    pair = Pair()
    documents, second, top, n_generated = torch.tensor([[0, NO_UNIT, NO_UNIT, 0], [0, NO_UNIT, 0, 1], [0, 0, 1, 2]]).T
    stacks = join([pair.scorer.empty_stack(), pair.one, pair.both])
    states = States(documents, stacks, second, top, n_generated)
    actions, words = pair.scorer.score(states, 3)
    assert (words < 0).all()
    for n_words in range(3):
        same_actions, some = pair.scorer.score(states, n_words)
        assert torch.equal(same_actions, actions)
        torch.testing.assert_close(some, words[:n_words])


def test_words_that_nobody_asks_for_take_no_memory(monkeypatch: pytest.MonkeyPatch):
    """Greedy search does not: a long text would take gigabytes."""
    monkeypatch.delattr(WordScores, "__init__")
    scorer = NetworkScorer(make_network("generative"), [random_example(5)], NUCLEUS_IS_RIGHT)
    search_greedily(scorer)
    with pytest.raises(TypeError):
        search_beams(scorer, BeamOptions(word_weight=1.0))


def test_what_a_scorer_says_of_itself():
    scorer: Scorer = NetworkScorer(make_network("generative"), [random_example(3), random_example(5)], NUCLEUS_IS_RIGHT)
    assert scorer.n_edus == (3, 5)
    assert scorer.n_labels == N_LABELS
    assert scorer.device == torch.device("cpu")
    assert {len(column) for column in scorer.leaves()} == {8}, "the EDUs of both"
    assert {len(column) for column in scorer.empty_stack()} == {1}
