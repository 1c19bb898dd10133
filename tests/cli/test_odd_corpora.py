"""Corpora as they are published, with files of several trees: one odd file never hides the rest."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from genrst.corpora.corpus import load_corpus
from genrst.trees.node import Unit
from tests.cli.program import call
from tests.miniatures import write_pcc_2, write_rst_corpus_rus, write_with_odd_files

HINT = '--roots join (in Python roots="join") joins them'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("write", "name", "n_documents", "line"),
    [
        (
            write_pcc_2,
            "pcc",
            20,
            "20 documents with several trees joined under one root, virtual-root: "
            "maz-1423, maz-1424, maz-1425, maz-1426, maz-1427 and 15 more",
        ),
        (
            write_rst_corpus_rus,
            "rrt",
            2,
            "2 documents with several trees joined under one root, virtual-root: "
            "10, first_annotation_lenta1_EDUs_splitted.rs3_anna",
        ),
    ],
)
def test_what_usually_has_several_trees_is_joined(
    capsys: pytest.CaptureFixture[str], write: Callable[[Path], Path], name: str, n_documents: int, line: str
):
    write(Path("corpus"))
    outcome = call(capsys, "info", "corpus", "--json")
    assert (outcome.status, outcome.messages) == (0, [f"genrst: corpus/: {line}"])
    facts = json.loads(outcome.output)
    assert (facts["corpus"], facts["documents"], facts["unreadable"]) == (name, n_documents, 0)
    for document in load_corpus("corpus"):
        assert isinstance(document.tree, Unit)
        assert document.tree.relation == "virtual-root"
    # What is asked for is no news.
    assert call(capsys, "info", "corpus", "--roots", "join").messages == []


@pytest.mark.filterwarnings("default::UserWarning")
def test_one_odd_file_never_hides_the_rest(capsys: pytest.CaptureFixture[str]):
    write_with_odd_files(Path("umuc"), 10, 3)
    odd = [f"umuc/unsc{number:02}.rs3" for number in range(3)]
    joining = ["--roots", "join"]
    outcome = call(capsys, "info", "umuc", "--json")
    assert outcome.status == 1
    assert [line.split(":")[1].strip() for line in outcome.messages] == odd
    assert all(line.endswith(f"nodes last, 4; {HINT}") for line in outcome.messages), outcome.messages
    assert (json.loads(outcome.output)["documents"], json.loads(outcome.output)["unreadable"]) == (7, 3)
    assert json.loads(call(capsys, "info", "umuc", "--json", *joining).output)["documents"] == 10
    for verb, *options in (["convert", "out.jsonl"], ["export", "--what", "units", "--output", "units.csv"]):
        outcome = call(capsys, verb, "umuc", *options)
        assert [line.split(":")[1].strip() for line in outcome.messages] == odd
        assert call(capsys, verb, "umuc", *options, "--force", *joining).messages == []
    assert len(Path("out.jsonl").read_text(encoding="utf-8").splitlines()) == 10
    left = call(capsys, "export", "umuc", "--what", "units", "--skip-bad")
    assert (left.status, [line.endswith("; skipped") for line in left.messages]) == (0, [True] * 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("default::UserWarning")
def test_all_odd_files_are_named_before_a_score_is_refused(capsys: pytest.CaptureFixture[str]):
    write_with_odd_files(Path("umuc"), 10, 3)
    write_with_odd_files(Path("good"), 10, 0)
    outcome = call(capsys, "evaluate", "umuc", "good")
    assert (outcome.status, outcome.output) == (1, "")
    assert [HINT in line for line in outcome.messages] == [True, True, True, False]
    assert outcome.messages[-1] == "genrst: umuc: 3 of 10 files cannot be read; use --skip-bad to leave them out"
    outcome = call(capsys, "evaluate", "umuc", "good", "--skip-bad", "--common", "--metric", "parseval")
    assert outcome.status == 0
    assert outcome.output.startswith("documents: 7;")
