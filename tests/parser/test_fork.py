"""Processes that are forked from one that has a parser: they parse, or say what to do instead."""

import os
import subprocess
import sys

import pytest
import torch

from genrst.encoder.device import check_process, choose_device
from genrst.errors import UsageError

PROGRAM = """
import multiprocessing, genrst

def parse(text):
    return str(parser(text).tree)

text = "It rained, so we stayed in."
for model, search in (("en", "mbr"), ("en-generative", "greedy")):
    parser = genrst.load(model, device="cpu", search=search)
    own = parse(text)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(parse, [text]) == own
        assert str(pool.apply(parser, [text]).tree) == own
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_forked_processes_parse():
    """Without threads that are gone; a process that waits for them does so for ever."""
    program = [sys.executable, "-c", PROGRAM]
    subprocess.run(program, check=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "2"})


def test_a_gpu_is_lost_in_a_forked_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    check_process(torch.device("cpu"))
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(
        UsageError, match=r"^a process that uses a GPU must be started with spawn .*, but this one was forked"
    ):
        check_process(torch.device("cuda"))
