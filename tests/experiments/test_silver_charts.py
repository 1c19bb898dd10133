"""The recipe of silver trees with charts by one command, with tiny encoders on three tiny documents."""

import json
import shlex
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import genrst
from experiments import jobs
from experiments.command import scores_of
from experiments.silver_trees import chart_steps, soften
from experiments.silver_trees.recipe import FREE_GENRES, FREE_SILVER_GENRES, Recipe, make_recipe
from experiments.silver_trees.run import main, make_parser
from genrst.config import find_config
from genrst.evaluation.report import evaluate
from genrst.parser.options import ParserConfig
from genrst.storage import PARSER, write_config
from genrst.training.prepared import Prepared, load_prepared, save_prepared
from genrst.training.run_config import load_config
from genrst.trees.relations import OPEN
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.experiments.errors import ends_in_one_line
from tests.training.samples import make_document, prepare_chart_samples

torch.set_num_threads(1)

SIZES = ["edu_size=8", "span_size=16", "span_heads=2", "split_size=8", "label_size=8", "segment_size=8"]
CHANGES = [
    *(f"model.{size}" for size in ("encoder_window=24", *SIZES)),
    *(f"training.{name}" for name in ("precision=float32", "piece_noise=0", "averaging=0", "learning_rate=0.05")),
]
PEOPLE = [
    *("--teachers", "1", "2", "--student-set", "training.seeds=[1,2]"),
    *("--segment-teachers", "3", "--segment-set", "training.piece_noise=0"),
]


def words(folder: Path, *more: str) -> list[str]:
    changes = [*CHANGES, f"model.encoder={folder / 'encoder'}"]
    epochs = ["--teacher-set", "training.max_epochs=2", "--student-set", "training.max_epochs=3"]
    given = [word for change in changes for word in ("--set", change)]
    features = ["--prepared", str(folder / "students.npz"), str(folder / "teachers.npz")]
    output = ["--output", str(folder / "run"), "--teacher-config", "mpnet-chart", "--device", "cpu"]
    return [*output, *given, *epochs, *features, *more]


def write_features(folder: Path) -> Prepared:
    prepared = prepare_chart_samples(make_tokenizer())
    save_prepared(prepared, folder / "teachers.npz")
    silver = [replace(one, id=f"silver-{one.id}") for one in prepared.train]
    save_prepared(replace(prepared, silver=silver), folder / "students.npz")
    return prepared


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run, `run`, and of what it was given."""
    folder = tmp_path_factory.mktemp("charts")
    write_encoder(folder / "encoder")
    write_features(folder)
    main(words(folder, *PEOPLE))
    return folder


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run" / "results.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_every_step_has_its_row(finished: Path):
    rows = read_rows(finished)
    assert [(row.get("model"), row.get("seed") or row.get("seeds")) for row in rows] == [
        *(("teacher", 1), ("teacher", 2), ("teacher", [1, 2]), ("segment-teacher", 3)),
        (None, None),
        *(("mpnet-chart", 1), ("mpnet-chart", 2), ("mpnet-chart", [1, 2])),
    ]
    assert rows[4]["labelling"]["shard"] == [1, 1]
    assert all(row["documents"] == "dev" and row["torch"] and 0 <= row["F"] <= row["S"] <= 100 for row in rows)
    # Of a single chart, what it had when it was trained, with trees found by the training task.
    for row, folder in zip(rows, ("teachers/seed-1", "teachers/seed-2"), strict=False):
        dev = json.loads((finished / "run" / folder / "trained.json").read_text())["dev"]
        assert {name: row[name] for name in dev} == pytest.approx(dev, abs=0.01)


@pytest.mark.slow
def test_students_together_are_a_parser(finished: Path):
    """Their trees of dev have the scores of the row, which are those of full precision."""
    folder = finished / "run" / "students" / "mpnet-chart" / "seeds-1-2" / "model"
    write_config(ParserConfig(encoder_precision="float32"), folder / PARSER)
    together = genrst.load(folder, device="cpu")
    gold = [replace(make_document(number), tokens=()) for number in range(3)]
    found = [together.parse(replace(document, tree=None)) for document in gold]
    scores = scores_of(evaluate(gold, found, labels="fine", inventory=OPEN))
    row = read_rows(finished)[-1]
    assert {name: row[name] for name in scores} == scores
    assert (row["fine R"], row["fine F"]) == (row["R"], row["F"]), "these labels are in no classes"


@pytest.mark.slow
def test_students_learn_what_the_teachers_see(finished: Path):
    run = finished / "run"
    soft = load_prepared(run / "soft.npz")
    assert {one.id for one in soft.silver} == {"silver-tiny-0", "silver-tiny-1", "silver-tiny-2"}
    assert all(one.soft is not None and one.starts is not None for one in soft.silver)
    labelling = soft.notes["labelling"]
    assert labelling["teacher"] == [str(run / "teachers" / f"seed-{seed}" / "model") for seed in (1, 2)]
    assert labelling["segment_teacher"] == [str(run / "segment-teachers" / "seed-3" / "model")]
    assert labelling["temperature"] == soften.make_parser().get_default("temperature")
    training = load_config(run / "students" / "mpnet-chart" / "seed-2" / "config.toml").training
    assert (training.silver_epochs, training.max_epochs, training.silver_batch_documents) == (2, 3, 4)
    assert load_config(run / "segment-teachers" / "seed-3" / "config.toml").training.segment_weight == 3
    assert load_config(run / "teachers" / "seed-1" / "config.toml").training.segment_weight == 0.1


@pytest.mark.slow
def test_nothing_is_computed_twice(finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    before = (finished / "run" / "results.jsonl").read_text()
    for module, name in ((jobs, "train"), (chart_steps, "score"), (soften, "run")):
        monkeypatch.setattr(module, name, lambda *task: pytest.fail("everything is there"))
    main(words(finished, *PEOPLE))
    assert capsys.readouterr().out == before == (finished / "run" / "results.jsonl").read_text()


@pytest.mark.slow
def test_only_shards_that_are_missing_are_asked_for(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chart_steps, "start_workers", lambda n_jobs: nullcontext(jobs.Here()))
    arguments = make_parser().parse_args([*words(finished, *PEOPLE), "--jobs", "2"])
    vars(arguments).update(documents=10, min_edus=1, max_edus=400)
    recipe, soft = make_recipe(arguments), tmp_path / "soft.npz"
    tasks = chart_steps.list_tasks(recipe.teachers, recipe.segment_teachers, arguments.prepared[0], soft, arguments)
    soften.run(tasks[0])
    run, asked = soften.run, []

    def note(task: Namespace) -> None:
        asked.append(task.shard)
        run(task)

    monkeypatch.setattr(soften, "run", note)
    chart_steps.make_soft(tasks, soft)
    assert asked == [(2, 2)]
    assert {path.name for path in tmp_path.iterdir()} == {"soft.npz", "soft.jsonl"}
    whole, joined = (load_prepared(path).silver for path in (finished / "run" / "soft.npz", soft))
    assert [one.id for one in joined] == [one.id for one in whole]
    for one, other in zip(whole, joined, strict=True):
        assert one.soft is not None
        assert other.soft is not None
        np.testing.assert_allclose(one.soft.p, other.soft.p, atol=2e-3)


def recipe_of(*more: str) -> Recipe:
    given = ["--data", "GUM", "--silver", "AMALGUM", "--output", "nowhere", "--teacher-config", "mpnet-chart"]
    return make_recipe(make_parser().parse_args([*given, *more]))


def test_free_texts_alone():
    made = recipe_of("--free", "--segment-teachers", "7")
    assert [run.model for run in made.runs] == ["teacher", "segment-teacher", "mpnet-chart"]
    assert {run.config.data.genres for run in made.runs} == {FREE_GENRES}
    assert [run.config.data.silver_genres for run in made.runs] == [(), (), FREE_SILVER_GENRES]
    assert [run.config.data.silver for run in made.runs] == ["", "", "AMALGUM"]
    assert len({run.config.data.min_count for run in made.runs}) == 1


def test_settings_of_some_teachers():
    """Those of all also hold for teachers of segments, whose own are stronger."""
    clip, noise = "training.clip=0.5", "training.layout_noise=0.3"
    given = ["--teachers", "1", "2", "3", "--teacher-set", clip, "--teacher-set", f"2,3:{noise}"]
    given += ["--teacher-set", "3:training.clip=0.25", "--segment-teachers", "1", "2"]
    given += ["--teacher-set", "training.segment_weight=0", "--segment-set", "training.clip=2.0"]
    made = recipe_of(*given)
    teachers = [run.config.training for run in (*made.teachers, *made.segment_teachers)]
    assert [one.seeds for one in teachers] == [(1,), (2,), (3,), (1,), (2,)]
    assert [one.layout_noise for one in teachers] == [0, 0.3, 0.3, 0, 0]
    assert [one.clip for one in teachers] == [0.5, 0.5, 0.25, 2, 2]
    assert [one.segment_weight for one in teachers] == [0, 0, 0, 3, 3]
    assert {run.folder.parent.name for run in made.segment_teachers} == {"segment-teachers"}


def read_commands(program: str) -> list[list[str]]:
    """The words of the commands of the page that start so."""
    page = (Path(chart_steps.__file__).parent / "README.md").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in page.splitlines()]
    return [shlex.split(line.removeprefix(program)) for line in lines if line.startswith(program)]


def test_the_commands_of_the_page():
    """All can be read; that for free charts has the student of the steps by hand."""
    commands = read_commands("python -m experiments.silver_trees.run ")
    recipes = {given[given.index("--output") + 1]: make_recipe(make_parser().parse_args(given)) for given in commands}
    (student,) = recipes["runs/free-charts"].students
    noise = ["training.layout_noise=0.3", "training.punctuation_noise=0.1"]
    by_hand = next(given for given in read_commands("genrst train mpnet-chart ") if "SOFT.npz" in given)
    changes = [word for word in by_hand if word.startswith("training.")]
    assert student.config.training == load_config(find_config("mpnet-chart"), [*noise, *changes]).training
    research = recipes["runs/charts"]
    assert [run.config.training.layout_noise for run in research.teachers] == [0, 0, 0, 0.3, 0.3, 0.3]
    assert [run.seed for run in research.students] == [1, 2, 3]
    assert not any(run.config.training.rounded_epochs or run.config.data.genres for run in research.runs)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--label-beam", "4"], "--label-beam does not apply to chart teachers, got mpnet-chart"),
        (["--word-weights", "1"], "--word-weights does not apply to chart teachers"),
        (
            ["--teacher-config", "mpnet-discriminative", "--segment-teachers", "1"],
            "--segment-teachers applies only to chart teachers, got mpnet-discriminative",
        ),
        (
            ["--teacher-config", "mpnet-discriminative", "--segment-set", "training.clip=1"],
            "--segment-set applies only to chart teachers",
        ),
        (["--students", "minilm"], "--students must be of the same kind as the teachers (charts or not), got minilm"),
        (
            ["--teacher-config", "mpnet-discriminative", "--students", "mpnet-chart"],
            "--students must be of the same kind as the teachers (charts or not), got mpnet-chart",
        ),
        (["--segment-teachers", "1", "1"], "--segment-teachers: duplicate values, got [1, 1]"),
        (["--resegment", "0.5"], "--resegment needs --segment-teachers"),
        (["--teacher-set", "7,8:training.clip=1"], "--teacher-set: seeds must be among --teachers [1], got 7"),
        (["--teachers", "1", "2", "--teacher-set", "2:data.min_count=9"], "all models must have the same data"),
    ],
)
def test_errors_are_one_line(more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = ["--prepared", "A", "--output", str(tmp_path / "run"), "--teacher-config", "mpnet-chart", *more]
    ends_in_one_line(lambda: main(given), message, capsys)
    assert not (tmp_path / "run").exists()


def test_features_that_do_not_go_together_are_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    prepared = write_features(tmp_path)
    save_prepared(replace(prepared, tokenizer=make_tokenizer("mpnet").json), tmp_path / "teachers.npz")
    message = f"teachers must have the same labels and tokenizer as students ({tmp_path / 'students.npz'})"
    ends_in_one_line(lambda: main(words(tmp_path)), message, capsys)
    assert not (tmp_path / "run" / "teachers").exists()
