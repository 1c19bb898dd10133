"""The factorised softmax against the plain one of the language model."""

import pytest
import torch
from torch import Tensor

from genrst.rnng.batch import pack_words
from genrst.rnng.config import EOS_ID, FIRST_OUTPUT_ID, UNK_ID
from genrst.rnng.examples import Example
from genrst.rnng.network import Network
from genrst.rnng.scoring import words as word_scores
from genrst.rnng.scoring.words import WordScores
from tests.rnng.random_examples import random_example
from tests.rnng.test_network import make_network

torch.set_num_threads(1)

EXAMPLES = [random_example(n_edus, n_edus) for n_edus in (5, 1, 8)]
N_EDUS = 14


def plain(network: Network, examples: list[Example], queries: Tensor, edus: Tensor) -> Tensor:
    """A softmax for every stack and word."""
    model = network.language_model
    assert model is not None
    lengths = [int(length) for example in examples for length in example.edu_lengths]
    assert len(set(lengths)) > 3
    words = torch.split(torch.cat([torch.from_numpy(example.edu_words) for example in examples]), lengths)
    packed = pack_words(examples)
    decoded = model.from_decoder(model.decode(network.embed_packed(packed)))
    rows = torch.split(1 + packed.rows, lengths)
    found = []
    for query, edu in zip(queries, edus.tolist(), strict=True):
        before = decoded[torch.cat([torch.tensor([0]), rows[edu]])]
        logp = model(query + before, network.embeddings.weight, None, network.embeddings.weight[UNK_ID])
        targets = torch.cat([words[edu], torch.tensor([EOS_ID])]) - FIRST_OUTPUT_ID
        found.append(logp.gather(1, targets[:, None]).sum())
    return torch.stack(found)


def scaled_network(seed: int, largest: float) -> tuple[Network, Tensor]:
    """Queries and decoder states whose scores reach from −largest to largest."""
    network = make_network("generative", seed)
    model = network.language_model
    assert model is not None
    torch.nn.init.uniform_(model.bias, -0.1, 0.1)
    output = network.embeddings.weight[FIRST_OUTPUT_ID:].T
    decoded = model.from_decoder(model.decode(network.embed_packed(pack_words(EXAMPLES)))) @ output
    model.from_decoder.weight *= (largest - 0.1) / decoded.abs().max()
    queries = torch.randn(3 * N_EDUS, network.config.word_size, dtype=torch.double)
    queries *= largest / (queries @ output).abs().amax(dim=1, keepdim=True)
    return network, queries


def n_words_of(edus: Tensor) -> Tensor:
    """With the end of each EDU."""
    return torch.tensor([length + 1 for example in EXAMPLES for length in example.edu_lengths.tolist()])[edus]


def random_edus(count: int, n_alike: int, seed: int) -> Tensor:
    """Several stacks for some EDUs, none for others, in any order, as many alike as is said."""
    edus = torch.randint(0, N_EDUS, (count // n_alike,), generator=torch.Generator().manual_seed(seed))
    edus[edus == 5] = 9
    return edus.repeat_interleave(n_alike)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("largest", "tolerance"), [(1.0, 1e-6), (10.0, 5e-6), (25.0, 1e-5), (34.0, 1.5e-5), (45.0, 2e-5)]
)
@pytest.mark.parametrize(("way", "n_alike"), [("logp", 1), ("_padded", 1), ("_padded", 3), ("_padded", 42)])
@torch.inference_mode()
def test_factors_give_the_softmax(seed, largest, tolerance, way, n_alike):
    """To a few times what float32 resolves, a word. Padded products may give up beyond ±34, but only there."""
    network, queries = scaled_network(seed, largest)
    edus = random_edus(len(queries), n_alike, seed)
    expected = plain(network, EXAMPLES, queries, edus)
    assert (expected < 0).all()
    in_double = getattr(WordScores(network, EXAMPLES), way)(queries, edus, n_alike)
    torch.testing.assert_close(in_double, expected, atol=1e-9, rtol=1e-12)
    in_float = getattr(WordScores(network.float(), EXAMPLES), way)(queries.float(), edus, n_alike)
    assert in_float.dtype == torch.float32
    rounded = plain(network.double(), EXAMPLES, queries.float().double(), edus)
    is_number = in_float < torch.inf
    assert is_number.all() or (way == "_padded" and largest > 34)
    assert ((in_float - rounded).abs() / n_words_of(edus))[is_number].max() < tolerance


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """A list that grows with every call of a method."""
    calls, method = list[str](), getattr(WordScores, name)

    def count(*given: object) -> Tensor:
        calls.append(name)
        found: Tensor = method(*given)
        return found

    monkeypatch.setattr(WordScores, name, count)
    return calls


@pytest.mark.parametrize(("n_alike", "most_entries"), [(1, 1), (1, 900), (2, 900), (6, 1), (6, 700)])
@torch.inference_mode()
def test_padded_products_are_the_same_in_parts(n_alike, most_entries, monkeypatch):
    """However few numbers may be worked on at once."""
    network, queries = scaled_network(1, 9.0)
    edus = random_edus(len(queries), n_alike, 1)
    scores = WordScores(network, EXAMPLES)
    expected = scores._padded(queries, edus, n_alike)
    monkeypatch.setattr(word_scores, "MOST_ENTRIES", most_entries)
    calls = counted(monkeypatch, "_padded_part")
    torch.testing.assert_close(scores._padded(queries, edus, n_alike), expected)
    n_groups = len(queries) // n_alike
    assert (len(calls) == n_groups) if most_entries == 1 else 1 < len(calls) < n_groups


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("largest", [70.0, 150.0, 400.0])
@torch.inference_mode()
def test_scores_far_apart_are_exact_too(seed, largest, monkeypatch):
    """Where the product is too small for a number in float32 it is not used."""
    network, queries = scaled_network(seed, largest)
    edus = random_edus(len(queries), 1, seed)
    calls = counted(monkeypatch, "_exact_log_z")
    found = WordScores(network.float(), EXAMPLES).logp(queries.float(), edus)
    expected = plain(network.double(), EXAMPLES, queries.float().double(), edus)
    assert expected.min() < -largest
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)
    assert calls


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("largest", [70.0, 150.0, 400.0])
@pytest.mark.parametrize("n_alike", [1, 3])
@torch.inference_mode()
def test_padded_products_are_right_or_infinite(seed, largest, n_alike):
    """So a search on a GPU never goes on with a number that is wrong."""
    network, queries = scaled_network(seed, largest)
    edus = random_edus(len(queries), n_alike, seed)
    found = WordScores(network.float(), EXAMPLES)._padded(queries.float(), edus, n_alike)
    expected = plain(network.double(), EXAMPLES, queries.float().double(), edus)
    is_infinite = found == torch.inf
    assert is_infinite.any()
    torch.testing.assert_close(found[~is_infinite].double(), expected[~is_infinite], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_one_stack_for_one_edu():
    network, queries = scaled_network(0, 5.0)
    scores = WordScores(network, EXAMPLES)
    for edu in range(N_EDUS):
        wanted = torch.tensor([edu])
        torch.testing.assert_close(scores.logp(queries[:1], wanted), plain(network, EXAMPLES, queries[:1], wanted))
