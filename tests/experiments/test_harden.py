"""Hard silver trees by charts, for students that read other features."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments.silver_trees import harden, join
from genrst.chart.learning.network import make_network
from genrst.encoder.model import Model, save_model
from genrst.rnng.transitions.actions import ActionSet, Reduce, tree_of
from genrst.training.prepared import load_prepared, save_prepared
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer
from tests.parser.samples import SMALL_CHART
from tests.training.samples import prepare_chart_samples, prepare_samples


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Features for charts with all documents; those of students, without word pieces, lack one."""
    tokenizer = make_tokenizer()
    prepared, students = prepare_chart_samples(tokenizer), prepare_samples()
    save_prepared(replace(prepared, silver=prepared.train), tmp_path / "charts.npz")
    save_prepared(replace(students, silver=students.train[:2]), tmp_path / "students.npz")
    torch.manual_seed(1)
    network = make_network(SMALL_CHART, prepared.symbols, make_pretrained(SMALL_CHART)).eval()
    save_model(Model(network, prepared.symbols, tokenizer), tmp_path / "teacher")
    words = ["--teacher", str(tmp_path / "teacher"), "--prepared", str(tmp_path / "charts.npz"), "--device", "cpu"]
    return [*words, "--students", str(tmp_path / "students.npz")]


def test_students_get_the_trees_of_charts(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    harden.main([*command, "--output", str(tmp_path / "whole.npz")])
    printed = capsys.readouterr().out
    assert '"documents": "dev"' in printed
    assert '"documents": "silver"' in printed
    parts = [str(tmp_path / f"part{number}.npz") for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        harden.main([*command, "--shard", f"{number}/2", "--output", part])
    join.main([*parts, "--output", str(tmp_path / "joined.npz")])
    students, whole, joined = (load_prepared(tmp_path / f"{name}.npz") for name in ("students", "whole", "joined"))
    earlier = {one.id: one for one in students.silver}
    assert {one.id: one.actions for one in joined.silver} == {one.id: one.actions for one in whole.silver}
    assert {one.id for one in whole.silver} == set(earlier)
    for one in whole.silver:
        tree_of(students.symbols.actions[action] for action in one.actions)
        assert one.edu_words.tolist() == earlier[one.id].edu_words.tolist()
        assert one.n_edus == earlier[one.id].n_edus
    assert [one.actions for one in whole.train] == [one.actions for one in students.train]


def test_students_may_know_more_labels(command: list[str], tmp_path: Path):
    harden.main([*command, "--output", str(tmp_path / "same.npz")])
    students = load_prepared(tmp_path / "students.npz")
    labels = students.symbols.actions.labels
    more = replace(students.symbols, actions=ActionSet((Reduce("another", "NS"), *labels)))
    save_prepared(replace(students, symbols=more), tmp_path / "students.npz")
    harden.main([*command, "--output", str(tmp_path / "more.npz")])
    trees = [
        [tree_of(prepared.symbols.actions[action] for action in one.actions) for one in prepared.silver]
        for prepared in (load_prepared(tmp_path / f"{name}.npz") for name in ("same", "more"))
    ]
    assert trees[0] == trees[1]


def test_students_must_know_all_labels(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    students = load_prepared(tmp_path / "students.npz")
    fewer = replace(students.symbols, actions=ActionSet(students.symbols.actions.labels[1:]))
    save_prepared(replace(students, symbols=fewer), tmp_path / "students.npz")
    with pytest.raises(SystemExit):
        harden.main([*command, "--output", str(tmp_path / "whole.npz")])
    assert "the features lack a label of the model" in capsys.readouterr().err


def test_edus_must_be_the_same(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    students = load_prepared(tmp_path / "students.npz")
    one, other = students.silver
    save_prepared(replace(students, silver=[replace(one, id=other.id)]), tmp_path / "students.npz")
    with pytest.raises(SystemExit):
        harden.main([*command, "--output", str(tmp_path / "whole.npz")])
    assert "the two files of features have different EDUs" in capsys.readouterr().err
