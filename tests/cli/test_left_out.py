"""Every verb that reads a folder counts and names what it does not read."""

import json
from pathlib import Path

import pytest

from genrst.document import Document
from genrst.formats.files import write
from genrst.formats.folder import describe_left_out
from genrst.trees.node import Leaf, Unit
from tests.cli.program import LEFT_OUT, call, names
from tests.miniatures import write_gum

EDUS = ["It rained,", "so we stayed in."]
RAIN = Document.from_edus("rain", EDUS, Unit("causal", "NS", (Leaf(0), Leaf(1))))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left_out(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    """What a run that succeeds says about it."""
    outcome = call(capsys, *arguments)
    assert outcome.status == 0, outcome
    return [line.removeprefix("genrst: ") for line in outcome.messages if LEFT_OUT in line]


def test_a_line_on_what_was_left_out():
    assert describe_left_out("corpus", {}) == ""
    assert describe_left_out("corpus/", {"odd": ["a"], "never": []}) == "corpus/: 1 file was left out: a (odd)"
    many = {"odd": [f"{number:04}" for number in range(1200)], "big": ["z", "y"]}
    listed = "0000, 0001, 0002, 0003, 0004 and 1,195 more (odd), y, z (big)"
    assert describe_left_out("corpus", many) == f"corpus/: 1,202 files were left out: {listed}"


def test_texts_to_parse(folder: Path, tiny: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("a.txt", "a.md", "a.gif", "b.zip", "sub/c.txt", ".hidden/x.txt", ".x.txt"):
        (folder / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "texts" / name).write_text("It rained, so we stayed in.")
    write(RAIN, folder / "texts" / "a.rs3")
    (folder / "texts" / "link").symlink_to(folder / "texts" / "sub")
    (folder / "texts" / "gone.txt").symlink_to("nowhere")
    (line,) = left_out(capsys, "parse", "texts", "--model", tiny, "--edus", "--format", "json", "--output", "out")
    assert line == (
        "texts/: 6 files were left out: link/ (a link to a folder), gone.txt (not a plain file), "
        "a.gif, b.zip (not a format that genrst reads), "
        "a.md, a.txt (a file of the same name in another format is read)"
    )
    assert names(folder / "out") == ["a.json", "sub/c.json"]


def test_outputs_of_an_earlier_run_are_no_inputs_until_they_are_changed(
    folder: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
):
    for name in ("a", "b"):
        (folder / "texts").mkdir(exist_ok=True)
        (folder / "texts" / f"{name}.txt").write_text("\n".join(EDUS))
    command = ["parse", "texts", "--model", str(tiny), "--edus", "--format", "json", "--output", "texts"]
    assert left_out(capsys, *command) == []
    first = (folder / "texts" / "a.json").read_bytes()
    again = "texts/: 2 files were left out: a.json, b.json (written by an earlier run)"
    assert left_out(capsys, *command) == [again]
    assert (folder / "texts" / "a.json").read_bytes() == first
    # What is corrected by hand is somebody's work: it counts, and the text does not.
    corrected = json.loads(first) | {"metadata": {"by": "Ann"}}
    (folder / "texts" / "a.json").write_text(json.dumps(corrected))
    (line,) = left_out(capsys, "parse", "texts", "--model", str(tiny), "--edus", "--output", "elsewhere")
    assert line == (
        "texts/: 2 files were left out: b.json (written by an earlier run), "
        "a.txt (a file of the same name in another format is read)"
    )
    # Where there is nothing else, outputs are what is wanted.
    assert left_out(capsys, "convert", "texts", "out", "--to", "rs3") == [
        "texts/: 2 files were left out: a.txt, b.txt (text without trees)"
    ]
    assert names(folder / "out") == ["a.rs3", "b.rs3"]
    assert left_out(capsys, "info", "out") == []


def test_the_folder_of_a_bulk_run(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(RAIN, folder / "corpus" / "rain.rs3")
    for name in ("manifest.json", "inputs.jsonl", "documents/00000.jsonl"):
        (folder / "corpus" / "trees" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "corpus" / "trees" / name).write_text("{}")
    assert left_out(capsys, "info", "corpus") == ["corpus/: 1 file was left out: trees/ (written by an earlier run)"]


@pytest.mark.parametrize(
    "command",
    [
        "convert corpus out --to json",
        "render corpus out --to txt",
        "render corpus/rain.rs3 out.svg --against corpus",
        "export corpus --what units",
        "info corpus --json",
        pytest.param("evaluate corpus gold --metric parseval", marks=pytest.mark.slow),
        pytest.param("evaluate gold corpus --metric parseval", marks=pytest.mark.slow),
        pytest.param("score corpus --model MODEL", marks=pytest.mark.slow),
    ],
)
def test_folders_of_trees(folder: Path, tiny: Path, capsys: pytest.CaptureFixture[str], command: str):
    write(RAIN, folder / "corpus" / "rain.rs3")
    write(RAIN, folder / "gold" / "rain.rs3")
    for name in ("rain.txt", "notes.md", "scan.gif"):
        (folder / "corpus" / name).write_text("x")
    (line,) = left_out(capsys, *command.replace("MODEL", str(tiny)).split())
    listed = "notes.md, rain.txt (text without trees), scan.gif (not a format that genrst reads)"
    assert line == f"corpus/: 3 files were left out: {listed}"


def test_published_corpora(folder: Path, capsys: pytest.CaptureFixture[str]):
    gum = write_gum(folder / "gum")
    assert left_out(capsys, "info", "gum", "--split", "train") == [
        "gum/: 1 file was left out: GUM_reddit_cats (without words; include them with --with-textless)"
    ]
    (gum / "rs4" / "GUM_news_new.rs4").write_bytes((gum / "rs4" / "GUM_news_harbor.rs4").read_bytes())
    assert left_out(capsys, "export", "gum", "--what", "units", "--with-textless") == [
        "gum/: 1 file was left out: GUM_news_new.rs4 (not in splits.tsv)"
    ]
