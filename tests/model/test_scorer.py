"""One action at a time against whole batches: both must be the same network."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from genrst.model.example import Example
from genrst.model.scorer import NetworkScorer
from genrst.search.beam import search_greedily
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


def follow(scorer: Scorer, examples: list[Example]) -> tuple[list[list[float]], list[list[float]]]:
    """The log-probabilities of the actions and EDUs of each document, all in step, so that calls take several."""
    followers = [Follower(example) for example in examples]
    actions: list[list[float]] = [[] for _ in examples]
    words: list[list[float]] = [[] for _ in examples]
    while active := [number for number, one in enumerate(followers) if len(actions[number]) < len(one.actions)]:
        now = [followers[number] for number in active]
        generates = [one.actions[len(actions[number])] == 0 for number, one in zip(active, now, strict=True)]
        logp, word_logp = scorer.score(
            torch.tensor(active),
            torch.tensor([one.stacks[-1] for one in now]),
            torch.tensor([one.start(-2) for one in now]),
            torch.tensor([one.start(-1) for one in now]),
            torch.tensor([one.n_generated for one in now]),
            torch.tensor(generates),
        )
        assert torch.allclose(logp.exp().sum(dim=1), torch.ones(len(active)).to(logp), atol=1e-5)
        assert (word_logp[~torch.tensor(generates)] == 0).all(), "words that are not needed"
        for number, one, row, of_words in zip(active, now, logp, word_logp, strict=True):
            assert bool(row[0].isinf()) == (one.n_generated == examples[number].n_edus)
            assert (row[1:].isinf() == (len(one.units) < 2)).all()
            action = one.actions[len(actions[number])]
            actions[number].append(float(row[action]))
            words[number] += [float(of_words)] * (action == 0)
            act(scorer, number, one, action)
    return actions, words


def act(scorer: Scorer, document: int, one: Follower, action: int) -> None:
    if action == 0:
        units = scorer.leaves(torch.tensor([document]), torch.tensor([one.n_generated]))
        one.starts.append(one.n_generated)
        one.n_generated += 1
    else:
        right, left = one.units.pop(), one.units.pop()
        units = scorer.compose(torch.tensor([left]), torch.tensor([right]), torch.tensor([action - 1]))
        del one.starts[-1], one.stacks[-2:]
    one.units.append(int(units[0]))
    one.stacks.append(int(scorer.push(torch.tensor([one.stacks[-1]]), units)[0]))


def own_words(network_words: Tensor, examples: list[Example]) -> list[float]:
    """The network's log-probabilities of words, summed up to those of EDUs."""
    lengths = [int(length) + 1 for example in examples for length in example.edu_lengths]
    return [part.sum().item() for part in torch.split(network_words, lengths)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "is_double"), [(0, True), (1, False), (2, False), (3, False)])
def test_single_actions_score_as_the_batch_does(kind: str, seed: int, is_double: bool):
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
        self.leaves = self.scorer.leaves(torch.tensor([0, 0]), torch.tensor([0, 1]))
        self.one = self.scorer.push(torch.tensor([EMPTY_STACK]), self.leaves[:1])
        self.both = self.scorer.push(self.one, self.leaves[1:])

    def score(self) -> list[float]:
        """With both EDUs on the stack."""
        return self._score(self.both, second=0, top=1)

    def score_joined(self, unit: Tensor) -> list[float]:
        """With nothing but one unit of both."""
        return self._score(self.scorer.push(torch.tensor([EMPTY_STACK]), unit), second=NO_UNIT, top=0)

    def _score(self, stack: Tensor, second: int, top: int) -> list[float]:
        document, below, above, n_generated = (torch.tensor([number]) for number in (0, second, top, 2))
        actions, words = self.scorer.score(document, stack, below, above, n_generated, torch.tensor([True]))
        return [*actions[0].tolist(), *words.tolist()]

    def parts(self, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.leaves[:1].repeat(len(labels)), self.leaves[1:].repeat(len(labels)), labels

    def join(self, labels: Tensor) -> Tensor:
        return self.scorer.compose(*self.parts(labels))


def test_tables_grow_and_keep_what_they_hold():
    """Hundreds of stacks more than there was room for; the first ones stay, and so does the network."""
    pair = Pair()
    weights = {name: tensor.clone() for name, tensor in pair.network.state_dict().items()}
    before = pair.score()
    stacks = {EMPTY_STACK, int(pair.one), int(pair.both)}
    for size in (1, 3, 200):
        new = pair.join(torch.arange(size) % N_LABELS)
        pushed = pair.scorer.push(torch.full((size,), EMPTY_STACK), new)
        assert len(stacks & set(pushed.tolist())) == 0, "numbers are handed out once"
        stacks |= set(pushed.tolist())
        assert pair.score() == before
    assert len(stacks) == 207
    for name, tensor in pair.network.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def test_a_unit_is_computed_once():
    """However often it is built, in one call or in several; other labels and other parts make other units."""
    pair = Pair()
    first = pair.join(torch.tensor([2, 0, 2]))
    assert first[0] == first[2] != first[1]
    assert pair.join(torch.tensor([0, 2])).tolist() == [int(first[1]), int(first[0])]
    swapped = pair.scorer.compose(pair.leaves[1:], pair.leaves[:1], torch.tensor([2]))
    assert int(swapped) not in {*first.tolist(), *pair.leaves.tolist()}


def test_units_shared_within_a_step_are_the_same():
    """The way of a GPU, which works anywhere."""
    one, other = Pair(), Pair()
    labels = torch.tensor([3, 0, 3, 5, 0])
    with torch.inference_mode():
        found = one.scorer._compose_distinct(*one.parts(labels))
    expected = other.join(labels)
    assert len(set(found.tolist())) == 3
    for unit, same in zip(found, expected, strict=True):
        assert one.score_joined(unit[None]) == pytest.approx(other.score_joined(same[None]), abs=1e-6)


def test_what_is_forgotten_can_be_built_again():
    pair = Pair()
    before, unit = pair.score(), pair.join(torch.tensor([1]))
    scores = pair.score_joined(unit)
    pair.scorer.forget(pair.leaves, torch.cat([torch.tensor([EMPTY_STACK]), pair.one, pair.both]))
    assert pair.score() == before
    again = pair.join(torch.tensor([1]))
    assert again != unit, "numbers are handed out once"
    assert pair.score_joined(again) == scores
    third = pair.scorer.leaves(torch.tensor([0]), torch.tensor([2]))
    assert len(pair.scorer.push(pair.both, third)) == 1, "leaves are never forgotten"
    with pytest.raises((IndexError, RuntimeError)):
        pair.scorer.push(torch.tensor([EMPTY_STACK]), unit)


def test_what_a_scorer_says_of_itself():
    scorer = NetworkScorer(make_network("generative"), [random_example(3), random_example(5)], NUCLEUS_IS_RIGHT)
    assert scorer.n_edus == (3, 5)
    assert scorer.n_labels == N_LABELS
    assert scorer.device == torch.device("cpu")
    assert scorer.leaves(torch.tensor([0, 1, 1]), torch.tensor([2, 0, 4])).tolist() == [2, 3, 7]
