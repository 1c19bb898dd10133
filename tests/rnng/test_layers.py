import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from genrst.rnng import layers
from genrst.rnng.layers import DocumentEncoder, EduEncoder

SIZES = [3, 1, 7, 7]


def make_encoder(is_causal: bool) -> DocumentEncoder:
    torch.manual_seed(0)
    encoder = DocumentEncoder(6, 5, is_causal).double()
    for parameter in encoder.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    return encoder


@pytest.mark.parametrize("is_causal", [True, False])
def test_documents_do_not_see_each_other(is_causal: bool):
    encoder = make_encoder(is_causal)
    edus = torch.randn(sum(SIZES), 6, dtype=torch.double)
    apart = [encoder(part, [len(part)]) for part in torch.split(edus, SIZES)]
    torch.testing.assert_close(encoder(edus, SIZES), torch.cat(apart))


def by_hand(encoder: DocumentEncoder, edus: torch.Tensor, direction: int) -> torch.Tensor:
    """An LSTM over the EDUs of one document, step by step."""
    suffix = "_reverse" if direction else ""
    weights = {name: getattr(encoder.lstm, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh")}
    bias = getattr(encoder.lstm, f"bias_ih_l0{suffix}") + getattr(encoder.lstm, f"bias_hh_l0{suffix}")
    hidden, cell = encoder.initial_hidden[direction, 0], encoder.initial_cell[direction, 0]
    states = []
    for edu in edus.flip(0) if direction else edus:
        gates = weights["weight_ih"] @ edu + weights["weight_hh"] @ hidden + bias
        into, keep, new, out = gates.chunk(4)
        cell = keep.sigmoid() * cell + into.sigmoid() * new.tanh()
        hidden = out.sigmoid() * cell.tanh()
        states.append(hidden)
    return torch.stack(states[::-1] if direction else states)


@pytest.mark.parametrize("is_causal", [True, False])
def test_it_is_an_lstm_from_learned_states(is_causal: bool):
    encoder = make_encoder(is_causal)
    edus = torch.randn(5, 6, dtype=torch.double)
    directions = [by_hand(encoder, edus, direction) for direction in range(1 if is_causal else 2)]
    torch.testing.assert_close(encoder(edus, [5]), encoder.project(torch.cat(directions, dim=1)))


def test_an_edu_sees_later_ones_unless_causal():
    edus = torch.randn(7, 6, dtype=torch.double)
    for is_causal in (True, False):
        encoder = make_encoder(is_causal)
        changed = torch.cat([edus[:4], edus[4:] + 1])
        assert torch.equal(encoder(edus, [7])[:4], encoder(changed, [7])[:4]) == is_causal


@pytest.mark.parametrize("n_at_once", [1, 2, 3, 8])
def test_some_edus_at_a_time_are_all_of_them(n_at_once: int, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    encoder = EduEncoder(4, 3, 2).double()
    edus = pack_sequence([torch.randn(n, 4, dtype=torch.double) for n in (3, 1, 7, 7, 2, 3, 1)], enforce_sorted=False)
    expected = encoder(edus).detach()
    monkeypatch.setattr(layers, "EDUS_AT_ONCE", n_at_once)
    with torch.inference_mode():
        torch.testing.assert_close(encoder(edus), expected)
