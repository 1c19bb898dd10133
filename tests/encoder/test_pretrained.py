"""Pretrained encoders in a network."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genrst.encoder import pretrained as pretrained_encoder
from genrst.encoder.batch import pack_pieces, pack_windows
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.errors import ConfigError
from genrst.rnng.batch import Batch, derive, make_batch, pack_examples
from genrst.rnng.config import RnngConfig
from genrst.rnng.examples import Example
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from tests.encoder.tiny_encoders import KINDS, N_POSITIONS, make_pretrained, random_pieces
from tests.rnng.random_examples import N_DEPRELS, N_LABELS, N_WORDS, NUCLEUS_IS_RIGHT, random_example
from tests.training.samples import SMALL

GENERATIVE = replace(SMALL, encoder="tiny")
DISCRIMINATIVE = replace(GENERATIVE, kind="discriminative")
LENGTHS = [1, 2, 30]
"""Numbers of EDUs; the last need several windows."""


def make_network(config: RnngConfig, kind: str) -> Network:
    torch.manual_seed(1)
    network = Network(config, N_WORDS, N_DEPRELS, N_LABELS, make_pretrained(config, kind)).eval()
    if network.document is not None:
        for parameter in network.document.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return network


def piece_example(n_edus: int, seed: int = 0, longest: int = 6) -> Example:
    """A random document whose EDUs have random pieces."""
    pieces, lengths = random_pieces(n_edus, seed, longest)
    return replace(random_example(n_edus, seed), pieces=pieces, piece_lengths=lengths)


def batch_of(network: Network, examples: list[Example]) -> Batch:
    gold = [derive(example, NUCLEUS_IS_RIGHT) for example in examples]
    return make_batch(examples, gold, network.window_shape)


def change_from(example: Example, edu: int, seed: int) -> Example:
    """Other EDUs from a place on, more or fewer, longer or shorter."""
    other = piece_example(edu + 1 + seed % 7, seed, longest=8)
    lengths = np.concatenate([example.piece_lengths[:edu], other.piece_lengths[edu:]])
    first, changed = example.piece_lengths[:edu].sum(), other.piece_lengths[:edu].sum()
    pieces = np.concatenate([example.pieces[:first], other.pieces[changed:]])
    return replace(other, pieces=pieces, piece_lengths=lengths)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("document_size", [None, 7])
@torch.inference_mode()
def test_an_edu_never_sees_later_ones_in_a_generative_model(kind: str, document_size: int | None):
    network = make_network(replace(GENERATIVE, document_size=document_size), kind)
    example = piece_example(40, 1)
    assert network.window_shape is not None
    assert len(pack_examples([example], network.window_shape).pieces) > 5
    vectors = network.encode_edus([example])
    for edu in range(1, 40):
        changed = network.encode_edus([change_from(example, edu, edu)])
        torch.testing.assert_close(changed[:edu], vectors[:edu], atol=1e-6, rtol=0)
        assert (changed[edu] - vectors[edu]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_other_pieces_of_later_edus_change_no_bit(kind: str):
    """As long as the lengths stay, so do the shapes of all products, and rounding with them."""
    network = make_network(replace(GENERATIVE, document_size=7), kind)
    example = piece_example(40, 2)
    vectors = network.encode_edus([example])
    starts = np.cumsum(example.piece_lengths) - example.piece_lengths
    for edu in range(1, 40):
        pieces = np.where(np.arange(len(example.pieces)) < starts[edu], example.pieces, example.pieces % 50 + 5)
        changed = network.encode_edus([replace(example, pieces=pieces)])
        assert torch.equal(changed[:edu], vectors[:edu])
        assert not torch.equal(changed[edu], vectors[edu])


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_an_edu_sees_its_neighbours(kind: str):
    """Those before it always, those after it in a discriminative model."""
    example = piece_example(6, 3, longest=3)
    last = replace(example, pieces=np.append(example.pieces[:-1], 4 + (example.pieces[-1] - 3) % 50))
    first = replace(example, pieces=np.insert(example.pieces[1:], 0, 4 + (example.pieces[0] - 3) % 50))
    for config, sees_later in ((GENERATIVE, False), (DISCRIMINATIVE, True)):
        network = make_network(config, kind)
        vectors = network.encode_edus([example])
        is_changed = (network.encode_edus([last]) - vectors).abs().amax(dim=1) > 1e-5
        assert is_changed.tolist() == [sees_later] * 5 + [True]
        is_changed = (network.encode_edus([first]) - vectors).abs().amax(dim=1) > 1e-5
        assert is_changed.all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
@torch.inference_mode()
def test_documents_together_are_documents_alone(kind: str, config: RnngConfig):
    network = make_network(replace(config, document_size=7), kind)
    examples = [piece_example(n_edus, n_edus) for n_edus in LENGTHS]
    alone = torch.cat([network.encode_edus([example]) for example in examples])
    torch.testing.assert_close(network.encode_edus(examples), alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
def test_training_and_search_see_the_same_vectors(kind: str, config: RnngConfig, monkeypatch: pytest.MonkeyPatch):
    """Search reads a few windows at a time."""
    monkeypatch.setattr(pretrained_encoder, "AT_ONCE", {"cpu": 30})
    network = make_network(replace(config, document_size=7), kind)
    examples = [piece_example(n_edus, n_edus) for n_edus in LENGTHS]
    batch = batch_of(network, examples)
    assert batch.windows is not None
    expected = network._encode(batch.windows, batch.n_edus)
    with torch.inference_mode():
        found = network.encode_edus(examples)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert NetworkScorer(network, examples, NUCLEUS_IS_RIGHT).n_edus == tuple(LENGTHS)


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_vectors_are_pooled_from_what_the_encoder_itself_gives(kind: str):
    """One window, discriminative: just what transformers would compute of that text."""
    encoder = make_network(DISCRIMINATIVE, kind).edu_encoder
    assert isinstance(encoder, PretrainedEncoder)
    pieces = np.array([10, 11, 12, 13, 14])
    found = encoder(pack_windows([(pieces, np.array([3, 2]))], encoder.shape))
    ids = torch.tensor([[*encoder.shape.prefix, *pieces, *encoder.shape.suffix]])
    mask = torch.zeros(1, 1, ids.shape[1], ids.shape[1])
    first = len(encoder.shape.prefix)
    states = encoder.encoder(input_ids=ids, attention_mask=mask).last_hidden_state[0, first : first + 5]
    pooled = [torch.cat([part.mean(dim=0), part[0], part[-1]]) for part in torch.split(states, [3, 2])]
    torch.testing.assert_close(found, encoder.project(encoder.norm(torch.stack(pooled))), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
@torch.inference_mode()
def test_an_encoder_in_bfloat16_gives_nearly_the_same_vectors(kind: str, config: RnngConfig):
    network = make_network(replace(config, document_size=7), kind)
    encoder = network.edu_encoder
    assert isinstance(encoder, PretrainedEncoder)
    examples = [piece_example(n_edus, n_edus) for n_edus in LENGTHS]
    expected = network.encode_edus(examples)
    encoder.encoder.to(torch.bfloat16)
    found = network.encode_edus(examples)
    assert found.dtype == torch.float32
    assert not torch.equal(found, expected)
    assert (found - expected).norm() < 0.05 * expected.norm()


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_states_are_as_precise_as_the_encoder_and_vectors_are_not_less(kind: str):
    """What is kept of a long text takes no more memory than it is worth, and nothing is lost when it is pooled."""
    pretrained = make_pretrained(DISCRIMINATIVE, kind).eval()
    pretrained.encoder.bfloat16()
    pieces, n_pieces = random_pieces(30, 3)
    states = pretrained.read(pack_pieces([pieces], pretrained.shape))
    assert states.dtype == torch.bfloat16
    lengths = torch.from_numpy(n_pieces)
    vectors = pretrained.pool(states, lengths)
    assert vectors.dtype == torch.float32
    torch.testing.assert_close(vectors, pretrained.pool(states.float(), lengths), rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_as_long_as_the_encoder_has_positions(kind: str):
    assert make_pretrained(GENERATIVE, kind).shape.size == N_POSITIONS
    assert make_pretrained(replace(GENERATIVE, encoder_window=10), kind).shape.size == 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
@torch.inference_mode()
def test_edus_of_any_length(kind: str, config: RnngConfig):
    network = make_network(config, kind)
    for lengths in ([1], [500], [1, 500, 1], [22, 22, 22], [23, 1, 21]):
        example = piece_example(len(lengths))
        example = replace(example, pieces=np.full(sum(lengths), 7), piece_lengths=np.array(lengths))
        assert network.encode_edus([example]).isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
def test_mixed_precision_and_gradients(kind: str, config: RnngConfig):
    network = make_network(replace(config, document_size=7), kind).train()
    batch = batch_of(network, [piece_example(n_edus, n_edus) for n_edus in LENGTHS])
    with torch.autocast("cpu", torch.bfloat16):
        found = network(batch)
    torch.autograd.backward(-found.actions.sum() - found.words.sum())
    assert found.actions.isfinite().all()
    for name, parameter in network.edu_encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_documents_without_pieces():
    shape = make_pretrained(GENERATIVE).shape
    with pytest.raises(ConfigError, match="random-0: the document must be prepared with the encoder's tokenizer"):
        pack_examples([random_example(3)], shape)
