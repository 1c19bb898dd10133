"""The batched network, with and without what we add to the paper's state, against the plain equations."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from genrst.errors import ConfigError
from genrst.rnng.batch import derive, make_batch
from genrst.rnng.config import FIRST_OUTPUT_ID, SPECIALS, RnngConfig
from genrst.rnng.examples import Example
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams
from tests.rnng.random_examples import N_DEPRELS, N_LABELS, N_WORDS, NUCLEUS_IS_RIGHT, random_example
from tests.rnng.reference import Reference

KINDS = ("generative", "discriminative")


def small_config(kind: str) -> RnngConfig:
    return RnngConfig(
        kind=kind,  # type: ignore[arg-type]
        word_size=6,
        edu_size=5,
        unit_size=7,
        relation_size=4,
        stack_size=8,
        decoder_size=5,
        lookahead_size=6,
        boundary_size=2,
        deprel_size=3,
    )


def make_network(kind: str, seed: int = 0) -> Network:
    torch.manual_seed(seed)
    network = Network(small_config(kind), N_WORDS, N_DEPRELS, N_LABELS).double()
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    return network


def batch_of(examples: list[Example], has_kinds: bool = False):
    return make_batch(examples, [derive(example, NUCLEUS_IS_RIGHT, has_kinds) for example in examples])


def random_blanks(n_documents: int, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    is_blank = torch.rand(n_documents, N_WORDS) < 0.4
    is_blank[:, : len(SPECIALS)] = False
    return is_blank


def gradients(network: Network) -> dict[str, torch.Tensor]:
    found = {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}
    network.zero_grad()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_blanks", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_batched_network_is_the_paper_s(kind, with_blanks, seed):
    """Log-probabilities and gradients equal those of the plain equations, for documents of several sizes at once."""
    network = make_network(kind, seed)
    examples = [random_example(n_edus, seed * 10 + n_edus) for n_edus in (1, 2, 5, 9)]
    is_blank = random_blanks(len(examples)) if with_blanks else None
    found = network(batch_of(examples), is_blank)
    (found.actions.sum() + 0.7 * found.words.sum()).backward()
    found_gradients = gradients(network)

    actions, words = [], []
    for number, example in enumerate(examples):
        blank = None if is_blank is None else is_blank[number]
        scored = Reference(network, example, blank).score(NUCLEUS_IS_RIGHT)
        actions += scored[0]
        words += scored[1]
    torch.testing.assert_close(found.actions, torch.stack(actions), atol=1e-9, rtol=1e-9)
    total = torch.stack(actions).sum()
    if words:
        torch.testing.assert_close(found.words, torch.stack(words), atol=1e-9, rtol=1e-9)
        total = total + 0.7 * torch.stack(words).sum()
    assert len(words) == len(found.words)
    torch.autograd.backward(total)
    expected_gradients = gradients(network)
    assert found_gradients.keys() == expected_gradients.keys()
    for name, gradient in expected_gradients.items():
        torch.testing.assert_close(found_gradients[name], gradient, atol=1e-9, rtol=1e-7, msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_its_documents_one_by_one(kind):
    network = make_network(kind)
    examples = [random_example(n_edus, n_edus) for n_edus in (3, 1, 12, 7)]
    together = network(batch_of(examples))
    apart = [network(batch_of([example])) for example in examples]
    torch.testing.assert_close(together.actions, torch.cat([one.actions for one in apart]))
    torch.testing.assert_close(together.words, torch.cat([one.words for one in apart]))


@pytest.mark.parametrize("kind", KINDS)
def test_legal_actions_sum_to_one_in_every_state(kind):
    network = make_network(kind)
    batch = batch_of([random_example(8, 3), random_example(2, 4)])
    edus = network.edu_encoder(network.embed_packed(batch.words))
    states = network.state_vectors(batch, edus)
    steps = batch.steps
    probabilities = network.action_head(states, steps.can_generate, steps.can_reduce, steps.features.boundaries).exp()
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(len(states)).double())
    assert (probabilities[~batch.steps.can_generate, 0] == 0).all()
    assert (probabilities[~batch.steps.can_reduce, 1:] == 0).all()
    assert batch.steps.can_generate.any()
    assert batch.steps.can_reduce.any()


def test_the_language_model_is_a_distribution_over_strings():
    """The next words sum to one after every prefix, the end of the EDU among them."""
    network = make_network("generative")
    example = random_example(3, 5)
    reference = Reference(network, example, random_blanks(1)[0])
    state = torch.randn(network.config.stack_size + network.features.size, dtype=torch.double)
    for edu in range(3):
        for distribution in reference.word_distributions(state, edu):
            assert len(distribution) == N_WORDS - FIRST_OUTPUT_ID
            torch.testing.assert_close(distribution.exp().sum(), torch.tensor(1.0).double())


def changed_after(example: Example, edu: int) -> Example:
    """The same document with other words from an EDU on."""
    first = int(example.edu_lengths[:edu].sum())
    words = example.edu_words.copy()
    words[first:] = (words[first:] - 1) % (N_WORDS - 2) + 2
    return Example(example.id, words, example.edu_lengths, words, example.syntax, example.actions)


@pytest.mark.parametrize("edu", range(1, 8))
def test_a_generative_model_never_sees_later_edus(edu):
    """Changing the words from an EDU on changes nothing that was decided before it was generated."""
    network = make_network("generative")
    example = random_example(8, 9)
    step = [step for step, action in enumerate(example.actions) if action == 0][edu]
    n_words = int(example.edu_lengths[:edu].sum()) + edu
    before, after = (network(batch_of([one])) for one in (example, changed_after(example, edu)))
    torch.testing.assert_close(before.actions[: step + 1], after.actions[: step + 1], atol=0, rtol=0)
    torch.testing.assert_close(before.words[:n_words], after.words[:n_words], atol=0, rtol=0)
    assert not torch.equal(before.words[n_words:], after.words[n_words:])


def test_a_discriminative_model_does():
    network = make_network("discriminative")
    example = random_example(8, 9)
    before, after = (network(batch_of([one])).actions for one in (example, changed_after(example, 5)))
    assert not torch.allclose(before[2:5], after[2:5])


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


@pytest.mark.slow
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


def test_words_have_a_dropout_of_their_own():
    network, batch = extended("generative", "layout"), batch_of([random_example(9, 9)])
    network.word_dropout.p = 0.5
    quiet = network(batch)
    network.train()
    found = network(batch)
    assert torch.equal(found.actions, quiet.actions)
    assert not torch.equal(found.words, quiet.words)


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
    assert str(error.value) == (
        "model.layout_kinds: the features were prepared without kinds of layout; prepare them again"
    )
