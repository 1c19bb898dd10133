import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.errors import GenrstError
from genrst.search.hypotheses import Forest, start
from genrst.search.successors import build, expand, rank
from tests.search.tables import Place, Scores, TableScorer, wild

torch.set_num_threads(1)

ROWS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-math.inf, -2.5, -1.0, 0.0, 3.0])), max_size=30)


def columns(rows: list[tuple[int, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    groups, scores = ([row[place] for row in rows] for place in (0, 1))
    return torch.tensor(groups, dtype=torch.long), torch.tensor(scores, dtype=torch.double)


@settings(deadline=None)
@given(ROWS)
def test_ranks_are_places_in_the_sorted_group(rows):
    expected = [0] * len(rows)
    for group in {group for group, _ in rows}:
        members = [number for number, row in enumerate(rows) if row[0] == group]
        for place, number in enumerate(sorted(members, key=lambda number: -rows[number][1])):
            expected[number] = place
    assert rank(*columns(rows)).tolist() == expected, "equal scores keep their order"


@settings(deadline=None)
@given(ROWS, st.integers(0, 1000))
def test_random_ranks_change_only_ties(rows, seed):
    groups, scores = columns(rows)
    drawn = rank(groups, scores, torch.Generator().manual_seed(seed)).tolist()
    for group in {group for group, _ in rows}:
        members = [number for number, row in enumerate(rows) if row[0] == group]
        assert sorted(drawn[number] for number in members) == list(range(len(members)))
        in_order = sorted(members, key=lambda number: drawn[number])
        assert [rows[number][1] for number in in_order] == sorted((rows[number][1] for number in members), reverse=True)


def test_random_ties_are_uniform():
    """Every order of four equal rows, beside a better one and another group; χ² with 23 degrees of freedom."""
    groups, scores = torch.tensor([0, 0, 1, 0, 0, 0, 1]), torch.tensor([1.0, 1.0, 5.0, 2.0, 1.0, 1.0, 5.0])
    generator = torch.Generator().manual_seed(0)
    n_draws, counts = 4800, dict[tuple[int, ...], int]()
    for _ in range(n_draws):
        drawn = rank(groups, scores, generator)
        assert int(drawn[3]) == 0
        order = tuple(drawn[[0, 1, 4, 5]].tolist())
        counts[order] = counts.get(order, 0) + 1
    expected = n_draws / 24
    assert len(counts) == 24
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 49.7, "p > 0.001"


def test_successors_are_all_legal_actions_with_their_scores():
    """Two documents after two EDUs each; the first has no more."""
    scorer = TableScorer([2, 3], wild())
    forest, n_edus = Forest(scorer), torch.tensor([2, 3])
    hypotheses, done = start(scorer), [0.0, 0.0]
    for _ in range(2):
        candidates = expand(forest, hypotheses, n_edus)
        is_generate = candidates.actions == 0
        hypotheses = build(forest, hypotheses, candidates, is_generate.nonzero()[:, 0])
        done = [float(logp) for logp in hypotheses.word_logp]
    candidates = expand(forest, hypotheses, n_edus, word_weight=0.5)
    rows = sorted(zip(candidates.documents.tolist(), candidates.actions.tolist(), strict=True))
    assert rows == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert len(candidates) == 5
    for number in range(5):
        document, action = int(candidates.documents[number]), int(candidates.actions[number])
        place = Place(document, (0, 0), (document == 1, True, True))
        actions, words = wild()(place)
        parent = int(candidates.parents[number])
        action_logp = float(hypotheses.action_logp[parent]) + actions[action]
        word_logp = done[parent] + (words if action == 0 else 0)
        assert float(candidates.action_logp[number]) == pytest.approx(action_logp)
        assert float(candidates.word_logp[number]) == pytest.approx(word_logp)
        assert float(candidates.scores[number]) == pytest.approx(action_logp + 0.5 * word_logp)
        assert int(candidates.sizes[number]) == (3 if action == 0 else 1)
        assert int(candidates.n_generated[number]) == (3 if action == 0 else 2)
    assert not (expand(forest, hypotheses, n_edus, max_stack=2).actions == 0).any(), "no room for a third unit"


def test_only_what_is_chosen_is_built():
    scorer = TableScorer([2], wild(), n_labels=50)
    forest, n_edus = Forest(scorer), torch.tensor([2])
    hypotheses = start(scorer)
    for _ in range(2):
        hypotheses = build(forest, hypotheses, expand(forest, hypotheses, n_edus), torch.tensor([0]))
    candidates = expand(forest, hypotheses, n_edus)
    assert len(candidates) == 50
    built = build(forest, hypotheses, candidates, torch.tensor([7, 30]))
    assert forest.actions(built.stacks) == [(0, 0, 8), (0, 0, 31)]
    assert len(scorer.units) == 4
    assert len(build(forest, hypotheses, candidates, torch.tensor([], dtype=torch.long))) == 0


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("is_word", [False, True])
def test_scores_that_are_no_numbers_are_an_error(number, is_word):
    scores = Scores([0.0] * 3, number) if is_word else Scores([number, 0.0, 0.0])
    scorer = TableScorer([2], lambda place: scores)
    with pytest.raises(GenrstError, match=f"log-probability of an action must be a number, was: {number}"):
        expand(Forest(scorer), start(scorer), torch.tensor([2]))
