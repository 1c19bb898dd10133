"""The factorised softmax against the plain one of the language model."""

import pytest
import torch
from torch import Tensor

from genrst.model.batch import pack_words
from genrst.model.example import Example
from genrst.model.network import Network
from genrst.model.vocabulary import EOS_ID, FIRST_OUTPUT_ID, UNK_ID
from genrst.model.word_scores import WordScores
from tests.model.random_examples import random_example
from tests.model.test_network import make_network

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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("largest", "tolerance"), [(1.0, 1e-6), (10.0, 5e-6), (25.0, 1e-5), (45.0, 2e-5)])
@pytest.mark.parametrize("way", ["_one_by_one", "_padded"])
@torch.inference_mode()
def test_factors_give_the_softmax(seed, largest, tolerance, way, monkeypatch):
    """Several stacks for some EDUs, none for others, in any order; to a few times what float32 resolves, a word."""
    network, queries = scaled_network(seed, largest)
    edus = torch.randint(0, N_EDUS, (len(queries),), generator=torch.Generator().manual_seed(seed))
    edus[edus == 5] = 9
    expected = plain(network, EXAMPLES, queries, edus)
    assert (expected < 0).all()
    monkeypatch.setattr(WordScores, "_one_by_one", getattr(WordScores, way))
    in_double = WordScores(network, EXAMPLES).logp(queries, edus)
    torch.testing.assert_close(in_double, expected, atol=1e-9, rtol=1e-12)
    in_float = WordScores(network.float(), EXAMPLES).logp(queries.float(), edus)
    assert in_float.dtype == torch.float32
    rounded = plain(network.double(), EXAMPLES, queries.float().double(), edus)
    n_words = torch.tensor([length + 1 for example in EXAMPLES for length in example.edu_lengths.tolist()])[edus]
    assert ((in_float - rounded).abs() / n_words).max() < tolerance


@torch.inference_mode()
def test_one_stack_for_one_edu():
    network, queries = scaled_network(0, 5.0)
    scores = WordScores(network, EXAMPLES)
    for edu in range(N_EDUS):
        wanted = torch.tensor([edu])
        torch.testing.assert_close(scores.logp(queries[:1], wanted), plain(network, EXAMPLES, queries[:1], wanted))
