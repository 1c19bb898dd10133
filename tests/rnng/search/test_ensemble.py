"""Ensembles against the sums that they stand for, and against their only member."""

import pytest
import torch
from torch import Tensor

from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.scorer import Ensemble, Scorer
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.transitions.actions import NO_UNIT, States
from tests.rnng.search.gpu_way import take_gpu_way
from tests.rnng.search.networks import RandomModel, random_model

SIZES = [9, 1, 14]


def models() -> list[RandomModel]:
    return [random_model(kind, SIZES, seed) for kind, seed in (("generative", 1), ("discriminative", 2))]


def test_scores_are_weighted_sums():
    scorers = [model.scorer() for model in models()]
    ensemble = Ensemble(scorers, [0.7, 0.0])
    one = torch.tensor([0])

    def score(scorer: Scorer) -> tuple[Tensor, Tensor]:
        stacks = scorer.push(scorer.empty_stack(), [column[:1] for column in scorer.leaves()])
        return scorer.score(States(one, stacks, one + NO_UNIT, one, one + 1), n_words=1)

    (actions, words), (expected, expected_words) = score(ensemble), score(scorers[0])
    assert torch.isneginf(actions[0, 1:]).all(), "what is impossible stays so, whatever its weight"
    assert torch.allclose(actions[:, 0], 0.7 * expected[:, 0])
    assert torch.allclose(words, 0.7 * expected_words)


@pytest.mark.parametrize("is_gpu_way", [False, True])
@pytest.mark.parametrize("search", ["bag", "word"])
def test_a_model_twice_with_half_weight_is_the_model(is_gpu_way, search, monkeypatch):
    """Also when units and stacks are dropped on the way."""
    if is_gpu_way:
        take_gpu_way(monkeypatch)
    model = models()[0]
    monkeypatch.setattr("genrst.rnng.search.hypotheses.COLLECT_STACKS", {"cpu": 50})
    both = Ensemble([model.scorer(), model.scorer()], [0.5, 0.5])
    found, expected = (
        search_words(scorer, WordOptions(5)) if search == "word" else search_beams(scorer, BeamOptions(5))
        for scorer in (both, model.scorer())
    )
    for one, other in zip(found, expected, strict=True):
        assert [parse.actions for parse in one.parses] == [parse.actions for parse in other.parses]
        assert one.parses[0].logp == pytest.approx(other.parses[0].logp)


def test_a_generative_and_a_discriminative_model_choose_together():
    """A tree scores the weighted sum of what both say about it, and no tree of either alone scores more."""
    generative, discriminative = models()
    options = BeamOptions(200, word_weight=0.5)
    weights = (1.0, 0.6)
    ensemble = Ensemble([generative.scorer(0), discriminative.scorer(0)], weights)
    (found,) = search_beams(ensemble, options)

    def score(actions: tuple[int, ...]) -> float:
        parts = [model.own_logp(0, actions) for model in (generative, discriminative)]
        return sum(weight * (action + 0.5 * word) for weight, (action, word) in zip(weights, parts, strict=True))

    best = found.parses[0]
    assert best.action_logp + 0.5 * best.word_logp == pytest.approx(score(best.actions))
    for model in (generative, discriminative):
        (alone,) = search_beams(model.scorer(0), options)
        assert score(alone.parses[0].actions) <= score(best.actions) + 1e-9
