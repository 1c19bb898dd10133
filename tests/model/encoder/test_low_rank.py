from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from genrst.errors import ConfigError
from genrst.model.encoder.pretrained import LowRank, PretrainedEncoder, add_low_rank, merged
from genrst.model.network import Network
from tests.model.random_examples import N_DEPRELS, N_LABELS, N_WORDS
from tests.model.tiny_encoders import KINDS, make_pretrained, piece_example
from tests.training.samples import SMALL

CONFIG = replace(SMALL, encoder="tiny", document_size=8)
EXAMPLES = [piece_example(n_edus, n_edus) for n_edus in (1, 5, 30)]


def make_network(kind: str, seed: int = 1) -> Network:
    torch.manual_seed(seed)
    return Network(CONFIG, N_WORDS, N_DEPRELS, N_LABELS, make_pretrained(CONFIG, kind, seed)).eval()


def with_low_rank(kind: str, rank: int = 3) -> Network:
    network = make_network(kind)
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
    assert torch.equal(read(with_low_rank(kind)), read(make_network(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_learns(kind: str):
    """Six matrices in each of the two layers: queries, keys, values, what becomes of them, and two of feed-forward."""
    network = with_low_rank(kind)
    assert isinstance(network.edu_encoder, PretrainedEncoder)
    found = [name for name, p in network.edu_encoder.encoder.named_parameters() if p.requires_grad]
    assert len(found) == len(set(found)) == 2 * 6 * 2
    assert all(".layer." in name and name.endswith((".narrow", ".widen")) for name in found)
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
    network, plain = with_low_rank(kind).double(), make_network(kind, seed=2).double()
    disturb(network)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    weights = merged(network)
    assert list(weights) == list(plain.state_dict())
    plain.load_state_dict(weights)
    expected = read(network)
    torch.testing.assert_close(read(plain), expected, atol=1e-9, rtol=0)
    assert (read(make_network(kind).double()) - expected).abs().max() > 1e-2, "a change that shows"
    assert network.state_dict().keys() == before.keys()
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_without_factors_there_is_nothing_to_merge():
    network = make_network("bert")
    weights = merged(network)
    assert weights.keys() == network.state_dict().keys()
    for name, tensor in network.state_dict().items():
        assert torch.equal(weights[name], tensor), name
