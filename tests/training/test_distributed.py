"""Two processes under torchrun train as one does."""

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
import sys, torch
from dataclasses import replace
from pathlib import Path
from genrst.training.checkpoint import save_checkpoint
from genrst.training.distributed import join_processes, leave_processes
from tests.training.test_trainer import QUICK, make_trainer

torch.set_num_threads(1)
processes = join_processes(torch.device("cpu"))
trainer = make_trainer(config=replace(QUICK, batch_documents=3, max_epochs=2, clip=1e9))
trainer.processes = processes
first = trainer._batches()[0]
trainer._train_on(first)
gradients = {name: p.grad for name, p in trainer.network.named_parameters()}
losses = [record.train_loss for record in trainer.epochs()]
if processes.is_first:
    from safetensors.torch import save_file
    save_file({**gradients, "losses": torch.tensor(losses, dtype=torch.float64)}, sys.argv[1])
leave_processes()
"""


def run(command: list[str], program: Path, output: Path) -> dict[str, torch.Tensor]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    subprocess.run([*command, str(program), str(output)], check=True, env=environment, capture_output=True, timeout=300)
    return load_file(output)


@pytest.mark.slow
def test_two_processes_have_the_gradients_of_one(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    alone = run([sys.executable], program, tmp_path / "one.safetensors")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    together = run(torchrun, program, tmp_path / "two.safetensors")
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
