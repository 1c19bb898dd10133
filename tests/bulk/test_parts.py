"""The folder of a run: what is finished, what is refused, and nothing half-written."""

import json
import os
from array import array
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
from tests.bulk.samples import content

SOURCES = [Source("a.txt", "", "12"), Source("b.jsonl", "", "34", array("q", [0, 9]), array("q", [9, 9]))]
ROW: dict[str, Any] = {
    **{"document": 3, "id": "x", "source": "a.txt", "sha256": "12", "n_words": 2, "n_edus": 1},
    **{"log_probability": -1.5, "model": "tiny", "seconds": 0.1, "tree": '{"edu": 0}', "text": "It \ud800 rained."},
}


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_a_part_counts_when_its_documents_are_there(tmp_path: Path, format: PartFormat):
    folder = Folder(tmp_path, format)
    part = make_part(
        7, Rows([ROW], [], [{"document": 4, "id": "y", "source": "b", "kind": "parse", "reason": "y: no"}]), format
    )
    assert (part.n_documents, part.n_edus, part.n_words, part.errors) == (1, 1, 2, (("parse", "no"),))
    folder.write(replace(part, number=8))
    (tmp_path / "documents" / f"00008.{format}").unlink()
    assert folder.finished() == set()
    folder.write(part)
    assert folder.finished() == {7}
    assert content(tmp_path)["documents/00007"][0]["id"] == "x"


def test_tables_without_rows_have_their_columns(tmp_path: Path):
    folder = Folder(tmp_path, "parquet")
    folder.write(make_part(0, Rows(), "parquet"))
    assert {path.name for path in tmp_path.iterdir()} == {"documents", "nodes", "errors"}, "not asked for signals"
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
    with pytest.raises(UsageError, match=r"settings\.load\.beam must be as in the first run \(None\), was: 3; "):
        folder.claim(manifest(tiny, beam=3), SOURCES)
    for problem, sources in {
        "missing": SOURCES[:1],
        "added": [*SOURCES, Source("c.txt", "", "56")],
        "changed": [replace(SOURCES[0], sha256="99"), SOURCES[1]],
        "another": SOURCES[::-1],
    }.items():
        with pytest.raises(UsageError, match=f"was: {problem}; use another folder"):
            folder.claim(manifest(tiny, sources), sources)


def test_another_model_is_refused(tiny: Path, tmp_path: Path):
    folder = Folder(tmp_path / "out", "parquet")
    before = manifest(tiny)
    folder.claim(before, SOURCES)
    other = before | {"model": {**before["model"], "sha256": "0"}}
    with pytest.raises(UsageError, match=r"model\.sha256 must be as in the first run"):
        folder.claim(other, SOURCES)


def test_folders_of_others_are_left_alone(tiny: Path, tmp_path: Path):
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(UsageError, match="must be new, empty or that of a bulk run"):
        Folder(tmp_path, "parquet").claim(manifest(tiny), SOURCES)
    with pytest.raises(UsageError, match="must not be among the inputs"):
        check_apart(tmp_path / "out", [str(tmp_path)])
    with pytest.raises(OutputError, match="must be a folder"):
        check_apart(tmp_path / "thesis.doc", [])


@pytest.mark.parametrize("damage", ["", "[]", "{"])
def test_a_damaged_manifest_is_one_line(tiny: Path, tmp_path: Path, damage: str):
    folder = Folder(tmp_path, "parquet")
    folder.claim(manifest(tiny), SOURCES)
    (tmp_path / "manifest.json").write_text(damage)
    with pytest.raises(GenrstError, match=r"manifest\.json.* must be"):
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
