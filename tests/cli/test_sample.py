"""`genrst sample`: documents with trees drawn at random, as JSON lines."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.document import Document
from genrst.formats.files import read_documents, write_documents
from genrst.parser.loading import load
from genrst.trees.constraints import Constraint
from genrst.trees.node import units
from tests.cli.program import Outcome, call
from tests.parser.samples import write_chart, write_parser

EDUS = ["It rained", "because of a storm", "and the ferry stopped .", "Nobody was hurt ,"]
STORM = Document.from_edus("storm", EDUS)

Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_chart(folder / "chart")
    return write_parser(folder / "steps", has_segmenter=False)


@pytest.fixture
def run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    write_documents([STORM], "storm.jsonl")
    return lambda *arguments: call(capsys, "sample", "--model", folder, *arguments)


def test_a_line_for_each_sample(run: Run, folder: Path):
    outcome = run("storm.jsonl", "--number", "3", "--seed", "7", "--particles", "20")
    assert outcome.status == 0
    (message,) = outcome.messages
    assert message.startswith("genrst: storm: 20 particles have an effective sample size of ")
    Path("samples.jsonl").write_text(outcome.output, encoding="utf-8")
    assert list(read_documents("samples.jsonl")) == load(folder).sample(STORM, 3, seed=7, particles=20)
    assert [json.loads(line)["id"] for line in outcome.output.splitlines()] == ["storm"] * 3


def test_charts_need_no_particles(run: Run, folder: Path):
    outcome = run("storm.jsonl", "--model", folder.parent / "chart", "--output", "out.json", "--whole", "nothing")
    assert (outcome.status, outcome.messages) == (0, [])
    assert len(json.loads(Path("out.json").read_text(encoding="utf-8"))) == 10


def test_constraints_hold_and_a_contradiction_stops_no_other_document(run: Run):
    bad = replace(STORM, id="bad", constraints=(Constraint(0, 2),))
    write_documents([bad, STORM], "both.jsonl")
    outcome = run("both.jsonl", "--number", "2", "--constraint", '{"edus": [1, 3], "relation": "joint"}')
    assert outcome.status == 1
    assert outcome.messages[0].startswith("genrst: both.jsonl: bad: units must not cross")
    Path("samples.jsonl").write_text(outcome.output, encoding="utf-8")
    for found in read_documents("samples.jsonl"):
        assert found.tree is not None
        assert [unit.relation for unit in units(found.tree) if (unit.start, unit.stop) == (1, 3)] == ["joint"]


@pytest.mark.parametrize(
    "options", [("--number", "0"), ("--seed", "-1"), ("--constraint", "{}"), ("--output", "a.rs3")]
)
def test_wrong_options_are_one_line(run: Run, options: tuple[str, ...]):
    outcome = run("storm.jsonl", *options)
    assert (outcome.status, outcome.output, len(outcome.messages)) == (2, "", 1)
    assert " must " in outcome.messages[0]
