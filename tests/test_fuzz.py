"""The fuzzer: what it found stays mended, a short run finds nothing, and what it should find it does."""

import hashlib
import json
import multiprocessing
import random
from pathlib import Path

import pytest

from fuzz.run import KEPT, Crash, Options, attempt, fuzz, keep, scratch
from fuzz.targets import TARGETS
from tests.fuzz_samples import TARGETS as FAILING
from tests.seed import SEED

SLOW = {"pictures", "checkpoint", "constraints", *(name for name in TARGETS if name.startswith("model-"))}
"""They load PyTorch, or draw."""
READERS = {"dis", "rs3", "rs4", "json", "jsonl", "edus", "txt"}
"""What people damage most, and what is quick."""


@pytest.mark.parametrize("path", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_once(path: Path):
    _, crash = attempt(TARGETS[path.parent.name], path.read_bytes(), 30, 2048)
    assert crash is None


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in TARGETS],
)
def test_a_short_run(name: str):
    """Nothing crashes, and neither is everything refused nor nothing."""
    target = TARGETS[name]
    n_cases = 10 if name.startswith("model-") else 400 if name in READERS else 100
    outcomes = []
    for number in range(n_cases):
        content = target.make(random.Random(f"{SEED}-{name}-{number}"))
        is_refused, crash = attempt(target, content, 30, 4096)
        assert crash is None, content
        outcomes.append(is_refused)
    assert name.startswith("model-") or set(outcomes) == {True, False}


def digests(seed: int) -> dict[str, str]:
    """Not of folders, which take long to make."""
    names = [name for name in TARGETS if not name.startswith("model-")]
    return {name: hashlib.sha256(TARGETS[name].make(random.Random(seed))).hexdigest() for name in names}


@pytest.mark.slow
def test_a_seed_makes_the_same_cases_in_another_process():
    """Where a process has died, its case must be made again."""
    with scratch(), multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(digests, (3,)) == digests(3)


@pytest.mark.slow
def test_every_way_to_fail_is_noticed_and_the_run_goes_on(tmp_path: Path):
    names, module = tuple(FAILING), "tests.fuzz_samples"
    # Among the first eight cases of this seed are all of them.
    options = Options(300, 8, 2, seed=152, case_seconds=1, case_mib=256, names=names, module=module)
    summary, crashes = fuzz(options)
    kinds = {crash.target: crash.kind for crash in crashes}
    assert kinds == {
        "crash": "KeyError in tests/fuzz_samples.py, crash",
        "hang": "TimeLimitError in tests/fuzz_samples.py, hang",
        "eat": "MemoryError in tests/fuzz_samples.py, eat",
        "die": "process died with status -6",
        "block": "case could not be stopped",
    }
    refused = summary["targets"]["refuse"]
    assert refused["executions"] == refused["refused"] > 0
    assert summary["crashes"] == 8 - refused["executions"]
    keep(crashes, tmp_path)
    assert {path.parent.name for path in tmp_path.glob("*/*")} == kinds.keys()
    json.dumps(summary)


def test_the_shortest_case_is_kept(tmp_path: Path):
    for content in (b"long", b"s", b"longer"):
        keep([Crash("dis", "KeyError in x", content)], tmp_path)
    (path,) = tmp_path.glob("dis/*")
    assert path.read_bytes() == b"s"
