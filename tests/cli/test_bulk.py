"""The verb `bulk`: runs that finish, runs again, shards, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from genrst.bulk.run import Report, Shard
from genrst.cli.verbs.bulk import describe
from genrst.errors import UsageError
from genrst.parser.parser import Parser
from tests.bulk.samples import content, rows_of, run_here, write_lines
from tests.cli.program import call


@pytest.mark.slow
def test_a_run_its_rerun_and_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny: Path, parser: Parser
):
    model = tiny
    monkeypatch.setattr("genrst.bulk.run.run_units", run_here(parser))
    write_lines(tmp_path / "in" / "texts.jsonl", 10)
    (tmp_path / "in" / "blank.txt").write_text(" ")
    common: list[str | Path] = [
        tmp_path / "in",
        "--model",
        model,
        "--device",
        "cpu",
        "--workers",
        "1",
        "--part-documents",
        "4",
    ]

    def bulk(out: str, *options: str):
        return call(capsys, "bulk", common[0], tmp_path / out, *common[1:], *options)

    first = bulk("out", "--json")
    assert (first.status, first.messages) == (0, [])
    *events, summary = map(json.loads, first.output.splitlines())
    assert [event["parts"] for event in events] == [0, 1, 2, 3]
    assert (summary["event"], summary["documents"], summary["errors"]) == ("summary", 11, 1)
    assert summary["frequent_errors"] == {"parse: a text must have at least one word": 1}
    before = content(tmp_path / "out")
    # A part that is missing is done again, and no other.
    (tmp_path / "out" / "documents" / "00001.parquet").unlink()
    again = bulk("out")
    assert again.status == 0
    assert again.output.startswith("4 documents in 1 part,")
    assert "finished before: 2 parts" in again.output
    assert content(tmp_path / "out") == before
    for shard in ("2/2", "1/2"):
        assert bulk("shards", "--shard", shard).status == 0
    assert content(tmp_path / "shards") == before
    assert bulk("lines", "--format", "jsonl", "--limit", "5").status == 0
    assert [row["document"] for row in rows_of(tmp_path / "lines", "documents")] == [1, 2, 3, 4]
    refused = bulk("out", "--beam", "3")
    assert (refused.status, len(refused.messages)) == (2, 1)
    assert "settings.load.beam must be the same as in the first run" in refused.messages[0]


def test_an_input_that_vanishes_is_missed_and_done_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny: Path, parser: Parser
):
    model = tiny
    monkeypatch.setattr("genrst.bulk.run.run_units", run_here(parser))
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.txt").write_text("It rained.")
    moved = tmp_path / "moved.txt"

    def run_late(*arguments):
        (tmp_path / "in" / "a.txt").rename(moved)
        return run_here(parser)(*arguments)

    arguments: list[str | Path] = [
        "bulk",
        tmp_path / "in",
        tmp_path / "out",
        "--model",
        model,
        "--device",
        "cpu",
        "--workers",
        "1",
    ]
    arguments += ["--part-documents", "1"]
    with monkeypatch.context() as patch:
        patch.setattr("genrst.bulk.run.run_units", run_late)
        first = call(capsys, *arguments)
    assert first.status == 1
    assert "a.txt: No such file" in first.messages[0]
    assert "1 of 2 parts are missing; run the same command again to compute them" in first.messages[1]
    moved.rename(tmp_path / "in" / "a.txt")
    assert call(capsys, *arguments).status == 0
    assert [row["id"] for row in rows_of(tmp_path / "out", "documents")] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "0/2"], "--shard must be I/N with 1 <= I <= N, got 0/2"),
        (["--workers", "0"], "--workers must be at least 1, got 0"),
        (["--address", "auto"], "--address works only with --engine ray, got local"),
        (["--timeout", "0"], "--timeout and --max-characters must be greater than 0"),
        (["--sample", "0"], "--sample must be at least 1, got 0"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str):
    outcome = call(capsys, "bulk", tmp_path / "in", tmp_path / "out", "--device", "cpu", *options)
    assert outcome.status == 2
    assert message in outcome.messages[0]


@pytest.mark.skipif(os.getuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.txt").write_text("It rained.")
    (tmp_path / "locked").mkdir(mode=0o500)
    outcome = call(
        capsys, "bulk", tmp_path / "a.txt", tmp_path / "locked" / "out", "--device", "cpu", "--model", str(tiny)
    )
    assert (outcome.status, len(outcome.messages)) == (1, 1)
    assert "cannot be written: Permission denied" in outcome.messages[0]


def test_a_missing_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "bulk", tmp_path / "nowhere", tmp_path / "out", "--device", "cpu")
    assert (outcome.status, len(outcome.messages)) == (1, 1)
    assert "nowhere: No such file or directory" in outcome.messages[0]
    assert not (tmp_path / "out").exists()


def test_shards():
    assert Shard.parse("3/8") == Shard(3, 8)
    for text in ("3", "9/8", "-1/2", "a/b"):
        with pytest.raises(UsageError):
            Shard.parse(text)


def test_progress_is_one_line():
    report = Report(n_total=10, n_documents=5)
    assert describe(report).startswith("5 of 10 documents, ")
    assert "0 errors, 0:00:00 left" in describe(report)
