"""What changes of a configuration give, from end to end, with tiny models on three tiny documents."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
import torch

from experiments.additions.run import main
from experiments.additions.table import compare_with_base
from experiments.paper_tables import schedule
from experiments.paper_tables.scores import difference_of, make_systems
from experiments.paper_tables.searches import Search
from experiments.paper_tables.train import Member, train
from genrst.training.data import load_prepared, save_prepared
from genrst.training.dev import evaluate_parses, parseval_f1
from genrst.training.run_config import load_config
from tests.experiments.errors import ends_in_one_line
from tests.experiments.test_paper_scores import GOLD, GREEDY, SPLIT, WRONG, make_result
from tests.experiments.test_paper_tables import CHANGES, row
from tests.training.samples import prepare_samples

torch.set_num_threads(1)

TWO = "training.exploration=0.5 training.subtrees=1"
ASKED = ["--change", f" {TWO} ", "--change", "model.kind=generative", "--word-weights", "0.5", "1"]


def words(output: Path, *more: str) -> list[str]:
    settings = [word for change in CHANGES for word in ("--set", change)]
    options = ["--output", str(output), "--config", "paper-discriminative", "--seeds", "1", "2", "--device", "cpu"]
    return [*options, *settings, *more]


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("features") / "features.npz"
    save_prepared(prepare_samples(), path)
    return ["--prepared", str(path)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, features: list[str]) -> Path:
    """The output of a whole run on a machine without spaCy."""
    output = tmp_path_factory.mktemp("run") / "additions"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "spacy", None)
        main(words(output, *features, *ASKED))
    return output


def read_rows(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "results.jsonl").read_text().splitlines()]


def test_every_change_has_a_row_for_each_search(finished: Path):
    rows = read_rows(finished)
    searches = [(one["change"], *one["search"].values()) for one in rows]
    assert searches == [
        ("base", "bag", 10, 0),
        (TWO, "bag", 10, 0),
        ("model.kind=generative", "bag", 10, 0.5),
        ("model.kind=generative", "bag", 10, 1),
        *((change, "greedy", 1, 0) for change in ("base", TWO, "model.kind=generative")),
    ]
    assert [sorted(one["over_base"]) for one in rows] == [[], ["F", "S"], ["F", "S"], [], [], ["F", "S"], ["F", "S"]]
    for one in rows:
        assert (one["seeds"], one["split"], one["documents"]) == ([1, 2], "dev", 3)
        (environment,) = one["environments"]
        assert environment["torch"] == torch.__version__
        assert "commit" in environment
        assert "CPU" in environment["hardware"]


def test_a_change_is_made_and_nothing_else(finished: Path):
    base, changed = (
        load_config(finished / name / "seed-2" / "config.toml") for name in ("base", TWO.replace(" ", "_"))
    )
    assert changed.model == base.model
    assert changed.training == replace(base.training, exploration=0.5, subtrees=1)
    assert base.training.seeds == (2,)


def test_scores_are_those_of_the_trees_that_were_written(finished: Path, features: list[str]):
    prepared = load_prepared(Path(features[1]))
    for one in read_rows(finished):
        search, folder = Search(**one["search"]), finished / one["change"].replace(" ", "_")
        paths = [folder / f"seed-{seed}" / "searches" / "dev" / f"{search.name}.json" for seed in (1, 2)]
        found = [[tree["actions"] for tree in json.loads(path.read_bytes())["trees"]] for path in paths]
        scores = [parseval_f1(evaluate_parses(prepared.dev, actions, prepared.symbols)) for actions in found]
        for aspect in "SNRF":
            values = [of_seed[aspect] for of_seed in scores]
            assert one[aspect]["by_seed"] == pytest.approx(values)
            assert (one[aspect]["mean"], one[aspect]["deviation"]) == pytest.approx((mean(values), stdev(values)))


def test_the_table_has_the_rows(finished: Path):
    table = (finished / "table.md").read_text()
    base, _, compared, not_compared, *_ = read_rows(finished)
    cells = row(table, "`model.kind=generative`", "bag-level, k = 10, weight 0.5")
    assert cells[:4] == [f"{compared[aspect]['mean']:.1f} ± {compared[aspect]['deviation']:.1f}" for aspect in "SNRF"]
    for aspect, points in (("S", cells[4]), ("F", cells[6])):
        # The trees have as many units as the gold ones, so that the difference is also that of the means.
        assert points == f"{compared[aspect]['mean'] - base[aspect]['mean']:+.1f}"
    assert cells[5] == f"{compared['over_base']['S']['randomisation_p']:.3f}"
    assert "+" not in table.splitlines()[table.splitlines().index("| --- | --- |" + " --: |" * 8) + 1]
    assert not_compared["search"]["word_weight"] == 1
    assert "the seeds 1, 2" in table
    assert "`paper-discriminative.toml` `model.word_size=8`" in table
    assert f"torch {torch.__version__}" in table


def test_differences_are_of_the_seeds_that_both_have():
    """Seed 1 of base and seed 3 of the change count in their own means alone."""
    results = [make_result(GOLD if seed == 1 else WRONG, GREEDY, seed, "base") for seed in (1, 2)]
    results += [make_result(GOLD, GREEDY, seed, "a.b=1") for seed in (2, 3)]
    base, change = compare_with_base(make_systems(results, SPLIT))
    assert not base.over_base
    assert change.over_base["S"] == difference_of([SPLIT.evaluate(GOLD)], [SPLIT.evaluate(WRONG)], "S")
    assert change.over_base["F"].points == 100 - parseval_f1(SPLIT.evaluate(WRONG))["F"] > 0
    (alone,) = compare_with_base(make_systems(results[:2], SPLIT))
    assert not alone.over_base


def test_nothing_is_computed_twice(
    finished: Path, features: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = [(finished / name).read_text() for name in ("results.jsonl", "table.md")]
    for name in ("train", "run_search"):
        monkeypatch.setattr(schedule, name, lambda *task: pytest.fail("everything is there"))
    main(words(finished, *features, *ASKED))
    assert [(finished / name).read_text() for name in ("results.jsonl", "table.md")] == before
    assert capsys.readouterr().out == before[0]


def test_another_change_takes_what_is_there(
    finished: Path, tmp_path: Path, features: list[str], monkeypatch: pytest.MonkeyPatch
):
    output = tmp_path / "additions"
    shutil.copytree(finished, output)
    done: list[str] = []

    def train_and_say(member: Member, *more: Any) -> None:
        done.append(f"{member.model} {member.seed}")
        train(member, *more)

    monkeypatch.setattr(schedule, "train", train_and_say)
    main(words(output, *features, "--change", "training.averaging=0.5"))
    assert done == ["training.averaging=0.5 1", "training.averaging=0.5 2"]
    assert [one["change"] for one in read_rows(output)] == ["base", "training.averaging=0.5"] * 2


def test_other_settings_need_another_folder(
    finished: Path, features: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    other = tmp_path / "other.npz"
    save_prepared(prepare_samples(), other)
    for more, message in [
        ([*features, "--set", "training.clip=1"], "seed-1 holds a run of other settings: --output starts another"),
        (["--prepared", str(other)], "holds a run of other settings (prepared): --output starts another"),
    ]:
        with pytest.raises(SystemExit):
            main(words(finished, *more))
        assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "one of the arguments --data --prepared is required"),
        (["--prepared", "A", "--data", "GUM"], "not allowed with argument"),
        (["--prepared", "A", "--change", "model.nothing=1"], "model.nothing: the key must be one of kind, "),
        (["--prepared", "A", "--change", "training.clip=1 nothing"], "the form table.key=value, was: 'nothing'"),
        (["--prepared", "A", "--change", "training.clip=none"], "training.clip: the value must be of type float"),
        (["--prepared", "A", "--change", " "], "--change: each must make another configuration, was: 'base'"),
        (["--prepared", "A", "--change", "training.seeds=[4]"], "another configuration, was: 'training.seeds=[4]'"),
        (["--prepared", "A", *["--change", "training.clip=1"] * 2], "another configuration, was: 'training.clip=1'"),
        (["--prepared", "A", "--change", "data.lowercase=true"], "all models must have the same data and encoder"),
        (["--prepared", "A", "--config", "nothing"], "nothing.toml: No such file or directory"),
        (["--prepared", "A", "--seeds", "1", "1"], "--seeds: each must be given once, was: [1, 1]"),
        (["--prepared", "A", "--word-weights", "1", "1"], "--word-weights: each must be given once, was: [1.0, 1.0]"),
        (["--prepared", "A", "--word-weights", "-1"], "word_weight: the value must be finite and 0 or more, was: -1.0"),
        (["--prepared", "A", "--beam", "0"], "must be a number from 1 on, was: '0'"),
        (["--prepared", "A", "--device", "tpu"], "a device must be auto, cpu, or a GPU"),
        (["--prepared", "A"], "A: the file must hold prepared features"),
        (["--data", "nowhere"], "nowhere"),
    ],
)
def test_errors_are_one_line(
    more: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    ends_in_one_line(lambda: main(words(tmp_path / "run", *more)), message, capsys)
    assert not (tmp_path / "run").exists()
