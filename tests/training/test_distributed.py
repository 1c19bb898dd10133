"""Two processes under torchrun train as one does."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

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
