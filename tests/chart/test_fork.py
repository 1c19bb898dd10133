"""Processes that are forked from one that has parsed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parser.samples import TEXT, write_reading_chart

PROGRAM = """
import multiprocessing, sys, threading
import genrst

folder, text = sys.argv[1], sys.argv[2]
parser = genrst.load(folder, device="cpu")
expected = parser(text).tree
threads = [threading.Thread(target=parser, args=[text + str(n)]) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

def parse(queue):
    # One text that the parent knows, and one that is read anew.
    queue.put((parser(text).tree == expected, parser("Now " + text).tree is not None))

context = multiprocessing.get_context("fork")
for _ in range(2):
    queue = context.Queue()
    child = context.Process(target=parse, args=[queue])
    child.start()
    assert queue.get(timeout=60) == (True, True)
    child.join(60)
    assert child.exitcode == 0
assert parser("Then " + text).tree is not None, "the parent goes on"
print("parsed")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
@pytest.mark.parametrize("n_threads", ["1", "4"])
@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_a_forked_process_parses(tmp_path: Path, n_threads: str, precision: str):
    """After its parent has parsed, with several threads: none of these is there, and none is waited for."""
    folder = write_reading_chart(tmp_path, encoder_precision=precision)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), 4 * TEXT],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": n_threads},
    )
    assert result.stdout.strip() == "parsed", result.stderr
