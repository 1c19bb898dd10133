"""Pretrained encoders in a network, and low-rank changes of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from genrst.encoder import pretrained as pretrained_encoder
from genrst.encoder.pretrained import LowRank, PretrainedEncoder, add_low_rank, merged
from genrst.encoder.windows import pack_pieces, pack_windows
from genrst.errors import ConfigError
from genrst.rnng.batch import Batch, make_batch
from genrst.rnng.examples import Example, derive
from genrst.rnng.model_config import ModelConfig
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from tests.encoder.tiny_encoders import KINDS, N_POSITIONS, make_pretrained, piece_example
from tests.rnng.random_examples import N_DEPRELS, N_LABELS, N_WORDS, NUCLEUS_IS_RIGHT
from tests.training.samples import SMALL

GENERATIVE = replace(SMALL, encoder="tiny")
DISCRIMINATIVE = replace(GENERATIVE, kind="discriminative")
LENGTHS = [1, 2, 30]
"""Numbers of EDUs; the last need several windows."""


def make_network(config: ModelConfig, kind: str) -> Network:
    torch.manual_seed(1)
    network = Network(config, N_WORDS, N_DEPRELS, N_LABELS, make_pretrained(config, kind)).eval()
    if network.document is not None:
        for parameter in network.document.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return network


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
    assert len(pack_windows([example], network.window_shape).pieces) > 5
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
def test_documents_together_are_documents_alone(kind: str, config: ModelConfig):
    network = make_network(replace(config, document_size=7), kind)
    examples = [piece_example(n_edus, n_edus) for n_edus in LENGTHS]
    alone = torch.cat([network.encode_edus([example]) for example in examples])
    torch.testing.assert_close(network.encode_edus(examples), alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
def test_training_and_search_see_the_same_vectors(kind: str, config: ModelConfig, monkeypatch: pytest.MonkeyPatch):
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
    example = replace(piece_example(2), pieces=np.array([10, 11, 12, 13, 14]), piece_lengths=np.array([3, 2]))
    found = encoder(pack_windows([example], encoder.shape))
    ids = torch.tensor([[*encoder.shape.prefix, *example.pieces, *encoder.shape.suffix]])
    mask = torch.zeros(1, 1, ids.shape[1], ids.shape[1])
    first = len(encoder.shape.prefix)
    states = encoder.encoder(input_ids=ids, attention_mask=mask).last_hidden_state[0, first : first + 5]
    pooled = [torch.cat([part.mean(dim=0), part[0], part[-1]]) for part in torch.split(states, [3, 2])]
    torch.testing.assert_close(found, encoder.project(encoder.norm(torch.stack(pooled))), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
@torch.inference_mode()
def test_an_encoder_in_bfloat16_gives_nearly_the_same_vectors(kind: str, config: ModelConfig):
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
    example = piece_example(30, 3)
    states = pretrained.read(pack_pieces([example.pieces], pretrained.shape))
    assert states.dtype == torch.bfloat16
    lengths = torch.from_numpy(example.piece_lengths)
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
def test_edus_of_any_length(kind: str, config: ModelConfig):
    network = make_network(config, kind)
    for lengths in ([1], [500], [1, 500, 1], [22, 22, 22], [23, 1, 21]):
        example = piece_example(len(lengths))
        example = replace(example, pieces=np.full(sum(lengths), 7), piece_lengths=np.array(lengths))
        assert network.encode_edus([example]).isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [GENERATIVE, DISCRIMINATIVE])
def test_mixed_precision_and_gradients(kind: str, config: ModelConfig):
    network = make_network(replace(config, document_size=7), kind).train()
    batch = batch_of(network, [piece_example(n_edus, n_edus) for n_edus in LENGTHS])
    with torch.autocast("cpu", torch.bfloat16):
        found = network(batch)
    torch.autograd.backward(-found.actions.sum() - found.words.sum())
    assert found.actions.isfinite().all()
    for name, parameter in network.edu_encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


CONFIG = replace(SMALL, encoder="tiny", document_size=8)
EXAMPLES = [piece_example(n_edus, n_edus) for n_edus in (1, 5, 30)]


def make_plain(kind: str, seed: int = 1) -> Network:
    torch.manual_seed(seed)
    return Network(CONFIG, N_WORDS, N_DEPRELS, N_LABELS, make_pretrained(CONFIG, kind, seed)).eval()


def with_low_rank(kind: str, rank: int = 3) -> Network:
    network = make_plain(kind)
    assert isinstance(network.edu_encoder, PretrainedEncoder)
    add_low_rank(network.edu_encoder.encoder, rank)
    return network


def disturb(network: nn.Module) -> None:
    """Give factors values that change the result a lot."""
    for module in network.modules():
        if isinstance(module, LowRank):
            nn.init.normal_(module.narrow)
            nn.init.normal_(module.widen)


@torch.inference_mode()
def read(network: Network) -> Tensor:
    return network.encode_edus(EXAMPLES)


sizes = st.integers(1, 6)


@given(sizes, sizes, sizes, st.booleans(), st.integers(0, 1000))
def test_what_it_computes(n_in: int, n_out: int, rank: int, has_bias: bool, seed: int):
    torch.manual_seed(seed)
    linear = nn.Linear(n_in, n_out, has_bias, dtype=torch.float64)
    inputs = torch.randn(2, 3, n_in, dtype=torch.float64)
    expected = linear(inputs)
    low_rank = LowRank(linear, rank)
    assert torch.equal(low_rank(inputs), expected), "nothing is changed at first"
    disturb(low_rank)
    change = torch.einsum("or,ri,bti->bto", low_rank.widen, low_rank.narrow, inputs)
    torch.testing.assert_close(low_rank(inputs), expected + 2 * change)
    plain = nn.functional.linear(inputs, low_rank.merged_weight(), low_rank.bias)
    torch.testing.assert_close(low_rank(inputs), plain)
    low_rank(inputs).sum().backward()
    assert (low_rank.weight.grad, has_bias and low_rank.bias.grad) == (None, None if has_bias else False)
    assert low_rank.narrow.grad is not None
    assert low_rank.widen.grad is not None


@pytest.mark.parametrize("kind", KINDS)
def test_at_first_an_encoder_is_what_it_was(kind: str):
    assert torch.equal(read(with_low_rank(kind)), read(make_plain(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_learns(kind: str):
    """Six matrices in each of the two layers: queries, keys, values, what becomes of them, and two of feed-forward.

    Qwen has three of these.
    """
    network = with_low_rank(kind)
    assert isinstance(network.edu_encoder, PretrainedEncoder)
    found = [name for name, p in network.edu_encoder.encoder.named_parameters() if p.requires_grad]
    assert len(found) == len(set(found)) == 2 * (7 if kind == "qwen2" else 6) * 2
    layers = "layers." if kind == "qwen2" else ".layer."
    assert all(layers in name and name.endswith((".narrow", ".widen")) for name in found)
    others = [p for name, p in network.named_parameters() if not name.startswith("edu_encoder.encoder.")]
    assert others
    assert all(parameter.requires_grad for parameter in others)


def test_layers_are_what_is_in_lists():
    """Lists in lists, too, each map once; and no others."""
    inner = nn.ModuleList([nn.Linear(2, 2)])
    layer = nn.ModuleDict({"map": nn.Linear(2, 2), "inner": inner, "norm": nn.LayerNorm(2)})
    encoder = nn.ModuleDict({"embeddings": nn.Linear(2, 2), "layers": nn.ModuleList([layer])})
    weight = inner[0].weight
    add_low_rank(encoder, 1)
    assert [name for name, module in encoder.named_modules() if isinstance(module, LowRank)] == [
        "layers.0.map",
        "layers.0.inner.0",
    ]
    assert inner[0].weight is weight
    assert isinstance(encoder["embeddings"], nn.Linear)
    learning = [name.split(".")[-1] for name, parameter in encoder.named_parameters() if parameter.requires_grad]
    assert learning == ["narrow", "widen"] * 2
    with pytest.raises(ConfigError, match="the layers of the encoder must have linear maps, was: none"):
        add_low_rank(nn.ModuleDict({"embeddings": nn.Linear(2, 2)}), 1)


def test_a_rank_is_no_more_than_the_encoder_has():
    layers = [nn.Linear(5, 3), nn.Linear(3, 4)]
    add_low_rank(nn.ModuleList(layers), 3)
    with pytest.raises(ConfigError, match=r"^training.encoder_rank: .* no more than the encoder's 3, was: 10{20}$"):
        add_low_rank(nn.ModuleList(layers), 10**20)


@pytest.mark.parametrize("kind", KINDS)
def test_merged_weights_are_those_of_an_ordinary_network_that_does_the_same(kind: str):
    """In float64, where what is the same can be told from what is only similar."""
    network, plain = with_low_rank(kind).double(), make_plain(kind, seed=2).double()
    disturb(network)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    weights = merged(network)
    assert list(weights) == list(plain.state_dict())
    plain.load_state_dict(weights)
    expected = read(network)
    torch.testing.assert_close(read(plain), expected, atol=1e-9, rtol=0)
    assert (read(make_plain(kind).double()) - expected).abs().max() > 1e-2, "a change that shows"
    assert network.state_dict().keys() == before.keys()
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_without_factors_there_is_nothing_to_merge():
    network = make_plain("bert")
    weights = merged(network)
    assert weights.keys() == network.state_dict().keys()
    for name, tensor in network.state_dict().items():
        assert torch.equal(weights[name], tensor), name
