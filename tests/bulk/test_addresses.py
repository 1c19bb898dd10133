"""Which files are read, and that none is left out in silence."""

import json
import os
from pathlib import Path

import pytest

from genrst.bulk.addresses import describe, find_files
from genrst.errors import InputError


def names(paths) -> list[str]:
    return sorted(Path(path).name for path in paths)


def test_every_file_that_is_left_out_is_named(tmp_path: Path):
    for suffix in ("txt", "md", "json", "jsonl", "edus"):
        (tmp_path / f"a.{suffix}").write_text("It rained.")
    (tmp_path / "b.png").write_bytes(b"no")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.txt").write_text("It rained.")
    os.mkfifo(tmp_path / "deep" / "d.txt")
    (tmp_path / ".hidden.txt").write_text("no")
    found = find_files([str(tmp_path)])
    assert names(found.addresses) == ["a.jsonl", "c.txt"]
    assert {Path(path).name: why for path, why in found.left_out.items()} == {
        **dict.fromkeys(("a.edus", "a.json", "a.md", "a.txt"), "same name as a.jsonl"),
        "b.png": "unknown format",
        "d.txt": "not a regular file",
    }
    line = describe(found.left_out, 2)
    assert line == (
        f"6 files left out: {tmp_path}/a.edus (same name as a.jsonl), "
        f"{tmp_path}/a.json (same name as a.jsonl), and 4 more"
    )
    again = find_files([str(tmp_path), str(tmp_path / "a.md")])
    assert names(again.addresses) == ["a.jsonl", "a.md", "c.txt"], "what is named is read"
    assert names(again.left_out) == ["a.edus", "a.json", "a.txt", "b.png", "d.txt"]


def test_results_of_earlier_runs_are_no_inputs(tmp_path: Path):
    (tmp_path / "a.txt").write_text("It rained.")
    for name in ("manifest.json", "inputs.jsonl", "documents/00000.jsonl", "checksums/00000.sha256"):
        (tmp_path / "trees" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "trees" / name).write_text("{}")
    found = find_files([str(tmp_path)])
    assert names(found.addresses) == ["a.txt"]
    assert [*found.left_out.values()] == ["results of a bulk run"] * 4
    with pytest.raises(InputError, match=r"no files to parse .*; 4 files left out: .*results of a bulk run"):
        find_files([str(tmp_path / "trees")])
    assert names(find_files([str(tmp_path / "trees" / "documents")]).addresses) == ["00000.jsonl"], "if it is meant"


def test_a_text_comes_before_what_was_made_of_it(tmp_path: Path):
    (tmp_path / "a.txt").write_text("It rained, so we stayed in.")
    (tmp_path / "b.json").write_text("{}")
    notes = [["12", "parse", "a.rs3"], ["34", "segment", "b.json"]]
    (tmp_path / ".genrst-outputs").write_text("".join(json.dumps(one) + "\n" for one in notes))
    (tmp_path / "a.rs3").write_text("<rst/>")
    found = find_files([str(tmp_path)])
    assert names(found.addresses) == ["a.txt", "b.json"]
    assert {Path(path).name: why for path, why in found.left_out.items()} == {"a.rs3": "output of genrst for a.txt"}
    for damage in ("[", "[]", "no", "7", "{}", "[" * 50_000, '["12", "parse", []]'):
        (tmp_path / ".genrst-outputs").write_text(f"{damage}\n")
        assert names(find_files([str(tmp_path)]).addresses) == ["a.rs3", "b.json"]
