"""What we add to the paper's state: the batched network and the scorer against the plain equations."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from genrst.errors import ConfigError
from genrst.model.examples import Example
from genrst.model.network import Network
from genrst.model.scoring.scorer import NetworkScorer
from genrst.search.beam import BeamOptions, search_beams
from tests.model.random_examples import N_DEPRELS, N_LABELS, N_WORDS, NUCLEUS_IS_RIGHT, random_example
from tests.model.reference import Reference
from tests.model.test_network import KINDS, batch_of, small_config

torch.set_num_threads(1)

EXTENSIONS: dict[str, dict[str, Any]] = {
    "layout": {"layout_size": 3},
    "kinds": {"layout_size": 3, "layout_kinds": True},
    "direct": {"direct_size": 4},
    "hidden": {"hidden_size": 9},
    "shortlist": {"output_words": 5},
    "all": {
        "layout_size": 3,
        "layout_kinds": True,
        "direct_size": 4,
        "hidden_size": 9,
        "output_words": 5,
        "dropout": 0.5,
    },
}
every_extension = pytest.mark.parametrize("extension", EXTENSIONS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def extended(kind: str, extension: str) -> Network:
    torch.manual_seed(7)
    config = replace(small_config(kind), **EXTENSIONS[extension])
    network = Network(config, N_WORDS, N_DEPRELS, N_LABELS).double().eval()
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    return network


@every_kind
@every_extension
def test_the_batched_network_is_the_plain_one(kind, extension):
    network = extended(kind, extension)
    examples = [random_example(n_edus, n_edus) for n_edus in (1, 2, 5, 14)]
    found = network(batch_of(examples, network.has_kinds))
    scored = [Reference(network, example).score(NUCLEUS_IS_RIGHT) for example in examples]
    torch.testing.assert_close(found.actions, torch.stack([a for actions, _ in scored for a in actions]))
    if kind == "generative":
        torch.testing.assert_close(found.words, torch.stack([w for _, words in scored for w in words]))


@every_kind
@every_extension
def test_single_actions_score_as_the_batch_does(kind, extension):
    """Hundreds of trees of a search, each with the network's own score."""
    network = extended(kind, extension)
    examples = [random_example(n_edus, n_edus) for n_edus in (1, 9, 20)]
    scorer = NetworkScorer(network, examples, NUCLEUS_IS_RIGHT)
    for example, found in zip(examples, search_beams(scorer, BeamOptions(40)), strict=True):
        trees = [replace(example, actions=parse.actions) for parse in found.parses]
        own = network(batch_of(trees, network.has_kinds))
        n_actions = 2 * example.n_edus - 1
        assert [parse.action_logp for parse in found.parses] == pytest.approx(
            own.actions.view(-1, n_actions).sum(dim=1).tolist(), abs=1e-9
        )
        if kind == "generative":
            words = own.words.view(len(trees), -1).sum(dim=1).tolist()
            assert [parse.word_logp for parse in found.parses] == pytest.approx(words, abs=1e-9)
    assert len(trees) == 40


def test_a_shortlist_leaves_probabilities_that_sum_to_one():
    """Words that are not on it are all generated as the unknown one."""
    network = extended("generative", "shortlist")
    assert network.language_model is not None
    queries = torch.randn(3, network.config.word_size, dtype=torch.double)
    logp = network.language_model(queries, network.embeddings.weight, None, network.embeddings.weight[2])
    assert logp.shape == (3, 2 + 5)
    torch.testing.assert_close(logp.exp().sum(dim=1), torch.ones(3, dtype=torch.double))
    assert network.language_model.targets(torch.tensor([2, 3, 4, 8, 9, 22])).tolist() == [0, 1, 2, 6, 0, 0]


@pytest.mark.parametrize(("extension", "n_kinds"), [("layout", 3), ("kinds", 6)])
def test_kinds_of_gen_share_the_probability_of_gen(extension, n_kinds):
    """Over the three or six kinds and all labels, probabilities sum to one."""
    head = extended("generative", extension).action_head
    states = torch.randn(5, head.scores.in_features, dtype=torch.double)
    yes = torch.ones(5, dtype=torch.bool)
    found = [head(states, yes, yes, torch.full((5,), kind)) for kind in range(n_kinds)]
    total = sum(logp[:, 0].exp() for logp in found) + found[0][:, 1:].exp().sum(dim=1)
    torch.testing.assert_close(total, torch.ones(5, dtype=torch.double))


def test_dropout_is_only_for_training():
    network = extended("generative", "all")
    batch = batch_of([random_example(9, 9)], network.has_kinds)
    quiet = network(batch).actions
    assert torch.equal(network(batch).actions, quiet)
    network.train()
    assert not torch.equal(network(batch).actions, quiet)


def with_kinds(example: Example, kinds: list[int]) -> Example:
    return replace(example, syntax=replace(example.syntax, kinds=kinds))


@every_kind
def test_a_model_without_kinds_does_not_see_them(kind):
    network, example = extended(kind, "layout"), random_example(9, 9)
    expected = network(batch_of([example]))
    for kinds in ([], [5] * 9):
        found = network(batch_of([with_kinds(example, kinds)]))
        assert torch.equal(found.actions, expected.actions)
        assert torch.equal(found.words, expected.words)


@pytest.mark.parametrize("edu", range(1, 9))
def test_a_generative_model_never_sees_later_kinds(edu):
    """What an EDU begins changes the probability of GEN for it, and nothing before that, not even its words."""
    network, example = extended("generative", "kinds"), random_example(9, 9)
    kinds = list(example.syntax.kinds)
    other = with_kinds(example, [*kinds[:edu], *((kind + 1) % 6 for kind in kinds[edu:])])
    before, after = (network(batch_of([one], True)) for one in (example, other))
    step = [step for step, action in enumerate(example.actions) if action == 0][edu]
    n_words = int(example.edu_lengths[: edu + 1].sum()) + edu + 1
    assert torch.equal(before.actions[:step], after.actions[:step])
    assert torch.equal(before.words[:n_words], after.words[:n_words])
    assert before.actions[step] != after.actions[step]


def test_a_model_with_kinds_needs_them():
    network, example = extended("discriminative", "kinds"), with_kinds(random_example(3), [])
    with pytest.raises(ConfigError) as error:
        NetworkScorer(network, [example], NUCLEUS_IS_RIGHT)
    assert str(error.value) == ("model.layout_kinds: the features must be prepared again, with kinds of layout")
