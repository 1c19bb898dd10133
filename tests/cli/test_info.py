"""`genrst info`: every corpus and option, and models; as a table and as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from genrst.corpora.corpus import load_corpus
from genrst.corpora.statistics import count
from genrst.document import Document
from genrst.formats.files import write, write_documents
from genrst.rnng.finder import load_rnng
from genrst.trees.node import Leaf, Unit
from tests.cli.program import Outcome, call
from tests.miniatures import write_amalgum, write_gum, write_rstdt
from tests.parser.samples import LABELS, write_chart, write_ensemble, write_parser

CARD = "---\nlanguage: en\n---\n\n# tiny\n\nTrained on nothing, \x1b[31mby nobody."
ROOTS = "".join(f"<segment {place}>x</segment>" for place in ('id="1" parent="2" relname="r"', 'id="2"', 'id="3"'))


def numbers(outcome: Outcome) -> dict[str, Any]:
    assert (outcome.status, outcome.errors) == (0, [])
    result: dict[str, Any] = json.loads(outcome.output)
    return result


def test_a_table_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tree = Unit("attribution", "SN", (Leaf(0), Unit("list", "NNN", (Leaf(1), Leaf(2), Leaf(3)))))
    write(Document.from_edus("ants", ["a", "b", "c", "d"], tree), tmp_path / "ants.json")
    outcome = call(capsys, "info", tmp_path / "ants.json")
    assert (outcome.status, outcome.messages) == (0, [])
    rows = [line.split() for line in outcome.output.splitlines()]
    assert rows == [
        ["files,", "all", "documents"],
        [],
        ["documents", "1"],
        ["trees", "1"],
        ["edus", "4"],
        [],
        ["min", "median", "mean", "max"],
        ["edus", "per", "document", "4", "4", "4", "4"],
        ["depth", "3", "3", "3", "3"],
        ["stack", "depth", "4", "4", "4", "4"],
        ["left", "branching", "0.00", "0.00", "0.00", "0.00"],
        ["skew", "1.00", "1.00", "1.00", "1.00"],
        [],
        ["relation", "(binary)", "NS", "SN", "NN", "share"],
        ["list", "0", "0", "2", "66.7%"],
        ["attribution", "0", "1", "0", "33.3%"],
    ]
    widths = {len(line) for line in outcome.output.splitlines()[2:5]}
    assert widths == {32}


def test_json_is_the_statistics_of_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, writer in (("gum", write_gum), ("rstdt", write_rstdt), ("amalgum", write_amalgum)):
        folder = writer(tmp_path / name)
        for split in (None, "train"):
            options = ["--split", split] if split else []
            result = numbers(call(capsys, "info", folder, "--json", *options))
            counts = count(load_corpus(folder, split=split)).as_dict()
            expected = {"corpus": name, "split": split, **counts, "oddities": 0, "odd_files": 0, "unreadable": 0}
            expected["left_out"] = 1 if name == "gum" else 0
            assert result == json.loads(json.dumps(expected))


def test_options_that_choose_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_gum(tmp_path / "gum")

    def n_documents(*options: str) -> int:
        result = numbers(call(capsys, "info", folder, "--json", *options))["documents"]
        return int(result)

    assert n_documents() == 4
    assert n_documents("--with-textless") == 5
    assert n_documents("--split", "test") == 2
    assert n_documents("--split", "test", "--gum-version", "9.1") == 1
    assert n_documents("--corpus", "gum") == 4
    # As plain files, the same folder has a tree for each of its documents.
    assert n_documents("--corpus", "files") == 5


def test_titles_name_corpus_and_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_gum(tmp_path / "gum")
    assert call(capsys, "info", folder, "--split", "dev").output.startswith("gum, dev\n")
    assert call(capsys, "info", folder).output.startswith("gum, all documents\n")


def test_a_dry_run_lists_all_that_is_odd_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_rstdt(tmp_path / "rstdt")
    training = folder / "RSTtrees-WSJ-main-1.0" / "TRAINING"
    odd, broken = training / "wsj_0601.out.dis", training / "wsj_0602.out.dis"
    odd.write_text(odd.read_text(encoding="utf-8").replace("(text _!", "(text _!<P>", 2), encoding="utf-8")
    broken.write_text("( Root", encoding="utf-8")
    outcome = call(capsys, "info", folder)
    assert outcome.status == 1
    rows = [line.split() for line in outcome.output.splitlines()]
    assert all(row in rows for row in (["documents", "32"], ["oddities", "1"], ["unreadable", "1"]))
    error, warning = outcome.messages
    assert error.startswith(f"genrst: {broken}:1: ")
    assert warning.startswith(f"genrst: warning: {odd}:")
    assert warning.endswith("(and 1 more)")
    assert call(capsys, "info", folder, "--skip-bad").status == 0


def test_joined_roots(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "roots.rs3"
    path.write_text(f"<rst><header/><body>{ROOTS}</body></rst>", encoding="utf-8")
    assert call(capsys, "info", path).status == 1
    result = numbers(call(capsys, "info", path, "--roots", "join", "--json"))
    assert result["relations"] == {"r": {"SN": 1}, "virtual-root": {"NN": 1}}


def test_nothing_and_segmented_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_documents([], tmp_path / "none.jsonl")
    outcome = call(capsys, "info", tmp_path / "none.jsonl")
    assert outcome.status == 0
    assert ["documents", "0"] in [line.split() for line in outcome.output.splitlines()]
    (tmp_path / "ants.edus").write_text("Ants\nwalk\n", encoding="utf-8")
    result = numbers(call(capsys, "info", tmp_path / "ants.edus", "--json"))
    assert (result["documents"], result["trees"], result["edus"], result["depth"]) == (1, 0, 2, None)


def test_names_that_no_encoding_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write(Document.from_edus("x", ["a", "b"], Unit("lone \ud800", "NN", (Leaf(0), Leaf(1)))), tmp_path / "x.json")
    assert "lone \ufffd" in call(capsys, "info", tmp_path / "x.json").output
    assert "lone \ud800" in numbers(call(capsys, "info", tmp_path / "x.json", "--json"))["relations"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_parser(tmp_path / "tiny")
    (tmp_path / "tiny" / "README.md").write_text(CARD, encoding="utf-8")
    return tmp_path / "tiny"


def test_a_card(folder: Path, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "info", "tiny")
    assert (outcome.status, outcome.messages) == (0, [])
    assert outcome.output.startswith("# tiny\n\nTrained on nothing, ␛[31mby nobody.\n\n")
    rows = dict(line.split(maxsplit=1) for line in outcome.output.split("\n\n")[2].splitlines())
    n_parameters = sum(weights.numel() for weights in load_rnng(folder).network.state_dict().values())
    assert rows["model"] == rows["folder"] == "tiny"
    assert rows["parameters"] == f"{n_parameters:,}"
    assert rows["segmenter"] == "chart"
    assert rows["labels"] == str(len(LABELS))
    assert rows["search"] == "bag, beam 4, word weight 0.5"


def test_a_card_as_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    facts = json.loads(call(capsys, "info", folder, "--json").output)
    assert (facts["model"], facts["card"]) == ("tiny", CARD)
    assert facts["bytes"] == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert facts["parser"]["beam"] == 4
    assert facts["config"]["kind"] == "generative"


def test_names_folders_and_corpora(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.parser.folders.MODELS", folder.parent / "models")
    assert "no such file, folder or model" in call(capsys, "info", "en").messages[0]
    write_chart(folder.parent / "models" / "en")
    output = call(capsys, "info", "en").output
    assert output.startswith("model       chart\n")
    assert "none: the encoder segments" in output
    Path("en").mkdir()
    (Path("en") / "a.edus").write_text("a\nb\n", encoding="utf-8")
    assert call(capsys, "info", "en/a.edus").output.startswith("files, ")


def test_the_card_of_an_ensemble(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_parser(folder.parent / "other", kind="discriminative", name="small")
    write_ensemble(folder.parent / "both", {"../other": 0.5, "../tiny": 1}, segmenter="../tiny/segmenter")
    rows = dict(line.split(maxsplit=1) for line in call(capsys, "info", "both").output.splitlines())
    facts = json.loads(call(capsys, "info", "both", "--json").output)
    alone = [json.loads(call(capsys, "info", name, "--json").output) for name in ("other", "tiny")]
    assert (rows["model"], rows["kind"]) == ("both", "ensemble: 0.5 × small, 1 × tiny")
    assert rows["parameters"] == f"{sum(one['n_parameters'] for one in alone):,}"
    assert rows["segmenter"] == "chart"
    assert (rows["labels"], "words" in rows) == (str(len(LABELS)), False)
    own = sum(path.stat().st_size for path in Path("both").iterdir())
    assert facts["bytes"] == sum(one["bytes"] for one in alone) + own
    assert [member["config"] for member in facts["members"]] == [one["config"] for one in alone]


@pytest.mark.parametrize("members", [{}, {"nowhere": 1}, {".": 1}, {"../tiny": 0}])
def test_an_ensemble_that_is_wrong(folder: Path, members: dict[str, float], capsys: pytest.CaptureFixture[str]):
    write_ensemble(folder.parent / "both", members)
    outcome = call(capsys, "info", "both")
    assert (outcome.status, outcome.output) == (1, "")
    assert len(outcome.errors) == 1
    assert "both/ensemble.json: " in outcome.errors[0]


@pytest.mark.parametrize("name", ["parser.json", "config.json", "symbols.json", "weights.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff" * 20, b"\x05\0\0\0\0\0\0\0[1,2]"])
@pytest.mark.filterwarnings("default::UserWarning")
def test_damaged_files(folder: Path, name: str, content: bytes, capsys: pytest.CaptureFixture[str]):
    (folder / name).write_bytes(content)
    outcome = call(capsys, "info", folder)
    assert (outcome.status, outcome.output) == (1, "")
    assert len(outcome.errors) == 1
    assert f"tiny/{name}: " in outcome.errors[0]


def test_the_installed_models(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.parser.folders.MODELS", tmp_path)
    assert call(capsys, "info").output == "no models are installed\n"
    write_parser(tmp_path / "a", name="first")
    write_chart(tmp_path / "b", name="second")
    lines = call(capsys, "info").output.splitlines()
    assert [line.split(", ")[0].split() for line in lines] == [["first", "generative"], ["second", "chart"]]
    assert [facts["model"] for facts in numbers_of_all(call(capsys, "info", "--json"))] == ["first", "second"]


def numbers_of_all(outcome: Outcome) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = json.loads(outcome.output)
    return result
