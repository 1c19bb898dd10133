import math
from dataclasses import replace

import pytest
import torch
from genrst.rnng.storage import make_network
from genrst.training.dev import (
    Likelihood,
    evaluate_bags,
    evaluate_greedily,
    evaluate_parses,
    gold_likelihood,
    parseval_f1,
)

from genrst.evaluation.report import evaluate
from genrst.rnng.examples import derive
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import search_greedily
from genrst.rnng.search.literal import search_bags_literally
from genrst.rnng.transitions.features import Syntax
from genrst.rnng.transitions.oracle import tree_of
from genrst.trees.relations import OPEN
from tests.rnng.reference import Reference
from tests.training.samples import SMALL, make_document, prepare_samples

torch.set_num_threads(1)
PREPARED = prepare_samples()
SYMBOLS = PREPARED.symbols
GOLD = [derive(example, SYMBOLS.nucleus_is_right) for example in PREPARED.dev]


def random_network(kind: str, seed: int = 1):
    torch.manual_seed(seed)
    return make_network(replace(SMALL, kind=kind), SYMBOLS).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["generative", "discriminative"])
@pytest.mark.parametrize("batch_documents", [1, 2, 3, 100])
@torch.no_grad()
def test_likelihood_is_the_reference_s_whatever_the_batches(kind: str, batch_documents: int):
    network = random_network(kind)
    actions, words = [], []
    for example in PREPARED.dev:
        found = Reference(network, example).score(SYMBOLS.nucleus_is_right)
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
    parses = search_greedily(NetworkScorer(network, PREPARED.dev, SYMBOLS.nucleus_is_right))
    gold = [make_document(number) for number in range(3)]
    found = [
        replace(document, tree=tree_of(SYMBOLS.actions[number] for number in parse.actions))
        for document, parse in zip(gold, parses, strict=True)
    ]
    expected = evaluate(gold, found, labels="fine", inventory=OPEN).micro("parseval")
    scores = parseval_f1(evaluate_greedily(network, SYMBOLS, PREPARED.dev))
    assert scores == {aspect: 100 * expected[aspect].f1 for aspect in "SNRF"}
    assert 0 <= scores["F"] <= scores["S"] < 100, "a random network does not know the trees"


@pytest.mark.parametrize("beam", [1, 3])
def test_bag_level_scores_are_those_of_the_literal_search(beam: int):
    network = random_network("generative", 1)
    found = []
    for example in PREPARED.dev:
        beams = search_bags_literally(NetworkScorer(network, [example], SYMBOLS.nucleus_is_right), beam)
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
    scores = parseval_f1(evaluate_greedily(random_network("generative"), SYMBOLS, [alone]))
    assert scores.keys() == {"S", "N", "R", "F"}
    assert not any(math.isnan(score) for score in scores.values())
