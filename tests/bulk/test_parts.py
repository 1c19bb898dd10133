"""The folder of a run: what is finished, what is refused, and nothing half-written."""

import json
import os
import subprocess
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from genrst.bulk.inputs import Choice, Source
from genrst.bulk.parts import Folder, PartFormat, check_apart, make_manifest, make_part
from genrst.bulk.work import TABLES, Rows, Settings
from genrst.errors import GenrstError, OutputError, UsageError
from genrst.parser.options import LoadOptions
from genrst.parser.parser import Parser
from tests.bulk.samples import content, run_here, write_lines
from tests.cli.program import call

SOURCES = [Source("a.txt", "", "12"), Source("b.jsonl", "", "34", array("q", [0, 9]), array("q", [9, 9]))]
ROW: dict[str, Any] = {
    **{"document": 3, "id": "x", "source": "a.txt", "sha256": "12", "n_words": 2, "n_edus": 1},
    **{"log_probability": -1.5, "model": "tiny", "seconds": 0.1, "tree": '{"edu": 0}', "text": "It \ud800 rained."},
}


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_a_part_counts_when_it_is_written(tmp_path: Path, format: PartFormat):
    folder = Folder(tmp_path, format)
    part = make_part(
        7, Rows([ROW], [], [{"document": 4, "id": "y", "source": "b", "kind": "parse", "reason": "y: no"}]), format
    )
    assert (part.n_documents, part.n_edus, part.n_words, part.errors) == (1, 1, 2, (("parse", "no"),))
    folder.write(part)
    assert [number for number in range(10) if folder.is_finished(number)] == [7]
    assert folder.find_damage(7) is None
    assert content(tmp_path)["documents/00007"][0]["id"] == "x"


def test_damage_to_a_finished_part_is_noticed(tmp_path: Path):
    folder = Folder(tmp_path, "jsonl")
    part = make_part(3, Rows([ROW]), "jsonl")
    folder.write(part)
    command = ["sha256sum", "--check", "--quiet", "checksums/00003.sha256"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    for table in part.files:
        path = tmp_path / table / "00003.jsonl"
        for damage in (b"", b"x" + part.files[table]):
            path.write_bytes(damage)
            found = folder.find_damage(3)
            expected = (
                None if damage == part.files[table] else f"{path}: does not match {tmp_path}/checksums/00003.sha256"
            )
            assert found == expected
        path.unlink()
        assert folder.find_damage(3) == f"{path}: missing"
        folder.write(part)
    (tmp_path / "signals").mkdir()
    (tmp_path / "signals" / "00003.jsonl").write_text("of another run")
    assert "signals/00003.jsonl: does not match" in str(folder.find_damage(3))
    folder.write(part)
    assert folder.find_damage(3) is None
    (tmp_path / "checksums" / "00003.sha256").write_bytes(b"\xff")
    assert "documents/00003.jsonl: does not match" in str(folder.find_damage(3))


@pytest.mark.slow
def test_a_damaged_part_is_done_again_and_told(
    parser: Parser, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("genrst.bulk.run.run_units", run_here(parser))
    write_lines(tmp_path / "in" / "a.jsonl", 4)
    (tmp_path / "in" / "a.txt").write_text("It rained.")
    places = ["bulk", tmp_path / "in", tmp_path / "out", "--model", tiny]
    command = [str(word) for word in (*places, "--device", "cpu", "--part-documents", 2)]
    assert call(capsys, *command).status == 0
    whole = content(tmp_path / "out")
    (tmp_path / "out" / "documents" / "00001.parquet").write_bytes(b"")
    outcome = call(capsys, *command)
    assert outcome.messages == [
        f"genrst: 1 file left out: {tmp_path}/in/a.txt (same name as a.jsonl)",
        f"genrst: {tmp_path}/out/documents/00001.parquet: does not match {tmp_path}/out/checksums/00001.sha256; "
        "its part is computed again",
    ]
    assert outcome.output.startswith("2 documents in 1 part,")
    assert "finished before: 1 part" in outcome.output
    assert content(tmp_path / "out") == whole
    summary = json.loads(call(capsys, *command, "--json").output.splitlines()[-1])
    assert summary["left_out"] == {f"{tmp_path}/in/a.txt": "same name as a.jsonl"}
    assert (summary["skipped_parts"], summary["damaged"]) == (2, [])


def test_tables_without_rows_have_their_columns(tmp_path: Path):
    folder = Folder(tmp_path, "parquet")
    folder.write(make_part(0, Rows(), "parquet"))
    tables = {"documents", "nodes", "errors"}
    assert {path.name for path in tmp_path.iterdir()} == {*tables, "checksums"}, "not asked for signals"
    signal = dict.fromkeys(TABLES["signals"]) | {"document": 0}
    folder.write(make_part(0, Rows(signals=[signal], edges=[dict.fromkeys(TABLES["edges"])]), "parquet"))
    for table, types in TABLES.items():
        schema = pyarrow.parquet.read_schema(tmp_path / table / "00000.parquet")
        assert {name: str(schema.field(name).type) for name in schema.names} == {
            name: "double" if kind == "float64" else kind for name, kind in types.items()
        }


def test_what_killed_runs_have_left_is_removed(tmp_path: Path):
    folder = Folder(tmp_path, "parquet")
    folder.write(make_part(0, Rows(), "parquet"))
    left = [tmp_path / "nodes" / f".0000{number}.parquet.abc" for number in (1, 2)]
    for path in left:
        path.write_text("half")
    folder.tidy({1})
    assert [path.exists() for path in left] == [False, True], "2 belongs to another shard"
    assert (tmp_path / "nodes" / "00000.parquet").exists()


def manifest(tiny: Path, sources: list[Source] = SOURCES, **options: Any) -> dict[str, Any]:
    settings = Settings(str(tiny), LoadOptions(device="cpu", **options))
    return make_manifest(settings, Choice(), "parquet", sources)


def test_a_later_run_must_be_the_same(tiny: Path, tmp_path: Path):
    folder = Folder(tmp_path / "out", "parquet")
    folder.claim(manifest(tiny), SOURCES)
    folder.claim(manifest(tiny), SOURCES)
    with pytest.raises(
        UsageError, match=r"settings\.load\.beam must be the same as in the first run \(None\), got 3; "
    ):
        folder.claim(manifest(tiny, beam=3), SOURCES)
    for problem, sources in {
        "missing": SOURCES[:1],
        "added": [*SOURCES, Source("c.txt", "", "56")],
        "changed": [replace(SOURCES[0], sha256="99"), SOURCES[1]],
    }.items():
        with pytest.raises(UsageError, match=f"{problem} since the first run into .*; use another folder"):
            folder.claim(manifest(tiny, sources), sources)
    with pytest.raises(UsageError, match="the inputs are not in the order of the first run"):
        folder.claim(manifest(tiny, SOURCES[::-1]), SOURCES[::-1])


def test_another_model_is_refused(tiny: Path, tmp_path: Path):
    folder = Folder(tmp_path / "out", "parquet")
    before = manifest(tiny)
    folder.claim(before, SOURCES)
    other = before | {"model": {**before["model"], "sha256": "0"}}
    with pytest.raises(UsageError, match=r"model\.sha256 must be the same as in the first run"):
        folder.claim(other, SOURCES)


def test_folders_of_others_are_left_alone(tiny: Path, tmp_path: Path):
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(UsageError, match="the folder has other files"):
        Folder(tmp_path, "parquet").claim(manifest(tiny), SOURCES)
    with pytest.raises(UsageError, match="the output folder must not be inside the inputs"):
        check_apart(tmp_path / "out", [str(tmp_path)])
    with pytest.raises(OutputError, match="must be a folder"):
        check_apart(tmp_path / "thesis.doc", [])


def changes(text: str) -> Iterator[str]:
    """A manifest without one of its values, or with another one, or with one more."""
    places: list[list[str]] = [[], ["settings"], ["settings", "load"], ["inputs"], ["model"], ["versions"]]
    others: list[Any] = [None, [[]], "other"]
    for place in places:
        names = [name for name, value in part_of(json.loads(text), place).items() if not isinstance(value, dict)]
        for name in [*names, "more"]:
            for value in others:
                data = json.loads(text)
                part = part_of(data, place)
                if value is None and name in part:
                    del part[name]
                else:
                    part[name] = value
                yield json.dumps(data)


def part_of(data: Any, place: list[str]) -> Any:
    for name in place:
        data = data[name]
    return data


def test_a_damaged_manifest_is_one_line(tiny: Path, tmp_path: Path):
    folder, now = Folder(tmp_path, "parquet"), manifest(tiny)
    folder.claim(now, SOURCES)
    path = tmp_path / "manifest.json"
    whole = path.read_text()
    nested = '{"settings":' * 990 + "1" + "}" * 990
    damages = ["", "[]", "{", "{}", "[" * 50_000, '{"a":' * 50_000, nested, "\0", "9" * 5000, *changes(whole)]
    assert len(damages) > 100
    for damage in damages:
        path.write_text(damage)
        with pytest.raises(GenrstError, match=r"^[^\n]*(manifest\.json|inputs\.jsonl)[^\n]*$") as error:
            folder.claim(now, SOURCES)
        assert len(str(error.value)) < 500
    path.write_text(whole)
    folder.claim(now, SOURCES)
    (tmp_path / "inputs.jsonl").write_text("[[],1]\n")
    with pytest.raises(GenrstError, match=r"inputs\.jsonl: damaged: it does not match .*manifest\.json; use"):
        folder.claim(now, SOURCES)


def test_parts_without_a_manifest_are_not_trusted(tiny: Path, tmp_path: Path):
    folder = Folder(tmp_path, "parquet")
    folder.claim(manifest(tiny), SOURCES)
    (tmp_path / "manifest.json").unlink()
    folder.claim(manifest(tiny), SOURCES)
    folder.write(make_part(0, Rows(), "parquet"))
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(UsageError, match=r"manifest\.json: the manifest of the results .* is missing"):
        folder.claim(manifest(tiny), SOURCES)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    folder = Folder(tmp_path, "parquet")
    with pytest.raises(OutputError, match=r"00000\.parquet: cannot be written: No space left on device"):
        folder.write(make_part(0, Rows([ROW]), "parquet"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_manifest_says_what_made_the_results(tiny: Path):
    found = json.loads(json.dumps(manifest(tiny, search="greedy")))
    assert found["model"]["name"] == "tiny"
    assert found["settings"]["load"]["search"] == "greedy"
    assert found["inputs"]["documents"] == 3
    assert {"genrst", "python", "torch", "spacy"} <= found["versions"].keys()
