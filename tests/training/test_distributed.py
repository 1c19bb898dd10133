"""Two processes train as one does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import nn

from genrst.training.distributed import Processes

PROGRAM = """
import multiprocessing, os, socket, sys, torch
from dataclasses import replace
from safetensors.torch import save_file
from genrst.training.distributed import join_processes, leave_processes
from tests.training.samples import QUICK, make_trainer

def train(output, **environment):
    os.environ.update(environment)
    processes = join_processes(torch.device("cpu"))
    trainer = make_trainer(config=replace(QUICK, batch_documents=3, max_epochs=2, clip=1e9))
    trainer.processes = processes
    first = trainer._batches()[0]
    trainer._train_on(first)
    gradients = {name: p.grad for name, p in trainer.network.named_parameters()}
    losses = [record.train_loss for record in trainer.epochs()]
    assert processes.count == int(environment.get("WORLD_SIZE", 1))
    if processes.is_first:
        save_file({**gradients, "losses": torch.tensor(losses, dtype=torch.float64)}, output)
    leave_processes()

torch.set_num_threads(1)
with socket.create_server(("localhost", 0)) as server:
    port = server.getsockname()[1]
shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
start = multiprocessing.get_context("fork").Process
both = [start(target=train, args=[sys.argv[2]], kwargs={**shared, "RANK": rank}) for rank in "01"]
for process in both:
    process.start()
for process in both:
    process.join()
    assert process.exitcode == 0
train(sys.argv[1])
"""
"""A program of its own: PyTorch is loaded once, and forks are told who they are in the way of torchrun."""


@pytest.mark.slow
def test_two_processes_have_the_gradients_of_one(tmp_path: Path):
    files = [tmp_path / "alone.safetensors", tmp_path / "together.safetensors"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    subprocess.run([sys.executable, "-c", PROGRAM, *files], check=True, env=environment, timeout=300)
    alone, together = map(load_file, files)
    assert alone.keys() == together.keys()
    for name, gradient in alone.items():
        torch.testing.assert_close(together[name], gradient, atol=1e-6, rtol=1e-5, msg=name)
    assert any(gradient.abs().max() > 1e-4 for name, gradient in alone.items() if name != "losses")


def test_what_does_not_learn_has_no_gradient(monkeypatch: pytest.MonkeyPatch):
    """And what this process' share of a batch did not touch takes part in the sum with zeros."""
    monkeypatch.setattr(dist, "all_reduce", lambda flat: flat.add_(1))
    frozen, touched, untouched = nn.Linear(2, 3).requires_grad_(False), nn.Linear(2, 3), nn.Linear(2, 3)
    touched(torch.ones(1, 2)).sum().backward()
    Processes(0, 2).add_gradients(nn.ModuleList([frozen, touched, untouched]))
    for module, expected in ((touched, 2.0), (untouched, 1.0)):
        assert all(torch.equal(p.grad, torch.full_like(p, expected)) for p in module.parameters() if p.grad is not None)
        assert all(parameter.grad is not None for parameter in module.parameters())
    assert all(parameter.grad is None for parameter in frozen.parameters())
