"""Which processor PyTorch computes on."""

import pytest
import torch

from genrst.encoder.device import choose_device
from genrst.errors import UsageError


def test_apples_gpus(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UsageError, match="got 'mps'"):
        choose_device("mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("mps").type == "mps"


@pytest.mark.parametrize("name", ["tpu", "cuda:99", "meta", ""])
def test_devices_that_are_not_there(name: str):
    with pytest.raises(UsageError, match="a device must be auto, cpu, or a GPU") as error:
        choose_device(name)
    assert repr(name) in str(error.value)


def test_a_gpu_only_if_there_is_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == choose_device("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: False)
    assert str(choose_device("auto")) == "cuda"
    assert str(choose_device("cuda:1")) == "cuda:1"
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    with pytest.raises(UsageError, match="must be started with spawn"):
        choose_device("cuda")
