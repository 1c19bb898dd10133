"""Runs `genrst train ARGUMENTS --output FOLDER` in a child and kills it, several times; then lets it finish.

Prints the number of epochs in the log after each kill. A program of its own, so that Python and what training imports
are loaded once and children start at once.
"""

import contextlib
import importlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
from safetensors import safe_open

from genrst.cli.main import main
from genrst.rnng.finder import load_rnng
from genrst.storage import WEIGHTS
from genrst.training.run import CHECKPOINT, CONFIG, LOG, MODEL, read_log
from genrst.training.run_config import load_config

EPOCHS_BETWEEN = (0, 2, 2)
"""How many epochs each child may add to the log before it is killed, a random moment later."""


def start(arguments: list[str]) -> int:
    """Train in a child; its process number."""
    child = os.fork()
    if child == 0:
        os._exit(main(["train", *arguments, "--resume", "auto"]))
    return child


def check_readable(folder: Path) -> int:
    """Read whatever is there; the number of epochs in the log."""
    if (folder / CONFIG).exists():
        load_config(folder / CONFIG)
    if (folder / CHECKPOINT).exists():
        with safe_open(folder / CHECKPOINT, framework="pt") as file:
            assert json.loads(file.metadata()["progress"])["epoch"] > 0
            assert all(file.get_tensor(name).isfinite().all() for name in file.keys())  # noqa: SIM118 - no mapping
    if (folder / MODEL / WEIGHTS).exists():
        load_rnng(folder / MODEL)
    return len(read_log(folder / LOG))


def kill_repeatedly(arguments: list[str], folder: Path) -> list[int]:
    """Start, wait, kill; the number of epochs after each kill."""
    epochs = [0]
    for n_more in EPOCHS_BETWEEN:
        child = start(arguments)
        while check_readable(folder) < epochs[-1] + n_more:
            time.sleep(0.02)
        time.sleep(random.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, "it must still be at work"
        epochs.append(check_readable(folder))
    return epochs[1:]


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in ("genrst.cli.verbs.train", "matplotlib.backends.backend_svg", "torch.utils.tensorboard"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    output = Path(sys.argv[-1])
    print(json.dumps(kill_repeatedly(sys.argv[1:], output)))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(start(sys.argv[1:]), 0)[1]))
