"""Runs `genrst bulk` in a process of its own and kills it at random moments, again and again; then lets it finish.

    python -m tests.bulk.kill_driver ENGINE KILLS FOLDER

Compares the result with that of an uninterrupted run, but for the seconds that documents took, and prints how many
parts were there after each kill. The tests do it a few times; `KILLS 20` is for patient people.
"""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bulk.samples import content, write_lines, write_model
from tests.seed import SEED

PART = 20


def n_parts(n_kills: int) -> int:
    """Enough of them that the last kill still interrupts something."""
    return 10 + 2 * n_kills


def command(engine: str, folder: Path, out: Path) -> list[str]:
    """The run."""
    program = [sys.executable, "-W", "ignore", "-m", "genrst.cli.main", "bulk", str(folder / "texts.jsonl"), str(out)]
    options = ["--model", str(folder / "model"), "--engine", engine, "--workers", "2", "--device", "cpu"]
    return [*program, *options, "--part-documents", str(PART), "--timeout", "1", "--max-characters", "5000"]


def n_finished(out: Path) -> int:
    """How many parts are there."""
    return len(list((out / "checksums").glob("[0-9]*")))


def kill_once(engine: str, folder: Path, out: Path, rng: random.Random, share_after: float = 0.8) -> int:
    """Start a run and kill it after another part, or before in some cases, some moments later; the number of parts."""
    before = n_finished(out)
    process = subprocess.Popen(command(engine, folder, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if rng.random() < share_after:
        while n_finished(out) == before and process.poll() is None:
            time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.1))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return n_finished(out)


def main(engine: str, n_kills: int, folder: Path) -> list[int]:
    """Kill, finish, compare."""
    with pytest.MonkeyPatch.context() as patch:
        write_model(folder, patch)
        write_lines(folder / "texts.jsonl", PART * n_parts(n_kills))
        subprocess.run(command("local", folder, folder / "whole"), check=True, stdout=subprocess.DEVNULL)
        rng = random.Random(SEED)
        counts = [kill_once(engine, folder, folder / "killed", rng) for _ in range(n_kills - 1)]
        # At least one kill comes after a part.
        counts.append(kill_once(engine, folder, folder / "killed", rng, share_after=1.0))
        subprocess.run(command(engine, folder, folder / "killed"), check=True, stdout=subprocess.DEVNULL)
    assert content(folder / "whole") == content(folder / "killed")
    left = [path for path in (folder / "killed").rglob(".*") if path.is_file()]
    assert not left, left
    return counts


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
