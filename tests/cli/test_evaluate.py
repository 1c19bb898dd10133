"""`genrst evaluate`: hand-checked scores, every option, and a corpus against its own conversion."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from genrst.corpora.corpus import load_corpus
from genrst.document import Document, SecondaryEdge, Signal
from genrst.formats.files import write, write_documents
from genrst.trees.node import Leaf, Tree, Unit
from tests.cli.program import Outcome, call
from tests.miniatures import write_gum

pytestmark = pytest.mark.filterwarnings("ignore:.* documents are few for a test")

EDUS = ["Frogs sing", "they say", "in the rain."]
GOLD = Unit("justify", "NS", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))
PREDICTED = Unit("justify", "NS", (Unit("attribution", "SN", (Leaf(0), Leaf(1))), Leaf(2)))
ROOTS = "".join(f"<segment {place}>x</segment>" for place in ('id="1" parent="2" relname="r"', 'id="2"', 'id="3"'))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gold document, a prediction that has half of its units, and one that has all."""
    monkeypatch.chdir(tmp_path)
    trees: dict[str, Tree] = {"gold": GOLD, "predicted": PREDICTED, "perfect": GOLD}
    for name, tree in trees.items():
        write(Document.from_edus("frogs", EDUS, tree), tmp_path / name / "frogs.json")
    return tmp_path


def scores(outcome: Outcome) -> dict[str, Any]:
    assert (outcome.status, outcome.errors) == (0, [])
    result: dict[str, Any] = json.loads(outcome.output)
    return result


def half(value: float) -> dict[str, float]:
    return {"tp": 2 * value, "n_gold": 2, "n_pred": 2, "precision": value, "recall": value, "f1": value}


@pytest.mark.usefixtures("folder")
def test_scores_by_hand(capsys: pytest.CaptureFixture[str]):
    result = scores(call(capsys, "evaluate", "gold", "predicted", "--json"))
    assert result["documents"] == 1
    # Of the two units, only the root is right.
    assert result["parseval"]["micro"] == {aspect: half(0.5) for aspect in "SNRF"}
    assert result["parseval"]["macro"]["F"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    # The three leaves have the right spans, but all of them the wrong role.
    rst_parseval = {aspect: cell["tp"] for aspect, cell in result["rst_parseval"]["micro"].items()}
    assert rst_parseval == {"S": 3, "N": 0, "R": 0, "F": 0}
    assert result["rst_parseval"]["micro"]["S"]["f1"] == 0.75
    assert result["segmentation"] == half(1.0)
    assert result["per_relation"]["justify"]["R"]["f1"] == 1
    assert result["per_relation"]["attribution"]["F"]["f1"] == 0


def test_signals_and_secondary_edges(folder: Path, capsys: pytest.CaptureFixture[str]):
    signals = Signal((1, 3), "dm", "dm", (1,)), Signal((0, 1), "dm", "dm", (2,))
    for name, edge in (
        ("gold", SecondaryEdge((2, 3), (0, 1), "cause")),
        ("perfect", SecondaryEdge((0, 1), (2, 3), "cause")),
    ):
        document = Document.from_edus("frogs", EDUS, GOLD)
        document = replace(document, signals=signals[: 1 + (name == "gold")], secondary_edges=(edge,))
        write(document, folder / name / "frogs.json")
    result = scores(call(capsys, "evaluate", "gold", "perfect", "--signals", "--secondary", "--json"))
    found = result["signals"]["types"]["dm"]["signals relation"]
    assert (found["tp"], found["n_gold"], found["n_pred"]) == (1, 2, 1)
    assert result["signals"]["subtypes"]["dm dm"]["words alone"]["recall"] == 0.5
    assert {aspect: one["f1"] for aspect, one in result["secondary_edges"].items()} == {
        "span": 1,
        "N": 0,
        "R": 1,
        "F": 0,
    }
    shown = call(capsys, "evaluate", "gold", "perfect", "--signals", "--secondary").output
    assert "dm + orphan" in shown
    assert "secondary edges  precision" in shown


@pytest.mark.filterwarnings("default::genrst.errors.CorpusWarning")
def test_files_that_cannot_be_read_are_skipped_on_request(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "gold" / "bad.dis").write_text("( Root", encoding="utf-8")
    assert call(capsys, "evaluate", "gold", "predicted").status == 1
    outcome = call(capsys, "evaluate", "gold", "predicted", "--skip-bad")
    assert outcome.status == 0
    assert outcome.output.startswith("documents: 1;")
    (message,) = outcome.messages
    assert message.startswith("genrst: warning: gold/bad.dis:1: ")
    assert message.endswith("; skipped")
    (folder / "predicted" / "bad.dis").write_text("( Root", encoding="utf-8")
    outcome = call(capsys, "evaluate", "gold", "predicted", "--skip-bad")
    assert outcome.output.startswith("documents: 1;")
    assert [message.split(":")[2].strip() for message in outcome.messages] == ["gold/bad.dis", "predicted/bad.dis"]


@pytest.mark.usefixtures("folder")
def test_text_and_markdown(capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "evaluate", "gold", "predicted")
    assert (outcome.status, outcome.messages) == (0, [])
    lines = outcome.output.splitlines()
    assert lines[0] == "documents: 1; labels: open, relations: 2 in gold; segmentation F1: 100.0"
    rows = [line.split() for line in lines[2:]]
    assert rows == [
        ["F1", "S", "N", "R", "F"],
        ["parseval", "micro", "50.0", "50.0", "50.0", "50.0"],
        ["parseval", "macro", "50.0", "50.0", "50.0", "50.0"],
        ["rst_parseval", "micro", "75.0", "0.0", "0.0", "0.0"],
        ["rst_parseval", "macro", "75.0", "0.0", "0.0", "0.0"],
    ]
    markdown = call(capsys, "evaluate", "gold", "predicted", "--markdown").output.splitlines()
    assert markdown[0] == lines[0]
    assert [line.replace("|", " ").split() for line in markdown[4:]] == rows[1:]
    assert all(line.startswith("| ") and line.endswith(" |") for line in markdown[4:])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("option", "left_out"), [("parseval", "rst_parseval"), ("rst-parseval", "parseval")])
def test_one_metric(capsys: pytest.CaptureFixture[str], option: str, left_out: str):
    arguments = ["evaluate", "gold", "predicted", "--against", "perfect", "--metric", option]
    result = scores(call(capsys, *arguments, "--json"))
    assert left_out not in result
    assert left_out not in result["against"]
    metric = option.replace("-", "_")
    assert list(result["significance"]) == [f"{metric} {aspect}" for aspect in "SNRF"]
    starts = {line.split(" ")[0] for line in call(capsys, *arguments).output.splitlines()}
    assert metric in starts
    assert left_out not in starts


def test_labels_and_inventories(folder: Path, capsys: pytest.CaptureFixture[str]):
    for name, relation in (("g", "joint-list"), ("p", "joint-sequence")):
        write(Document.from_edus("d", ["a", "b"], Unit(relation, "NN", (Leaf(0), Leaf(1)))), folder / name / "d.json")

    def r_and_labels(*options: str) -> tuple[float, str]:
        result = scores(call(capsys, "evaluate", "g", "p", "--json", *options))
        return result["parseval"]["micro"]["R"]["f1"], result["labels"].split(",")[0]

    assert r_and_labels() == (1, "gum")
    assert r_and_labels("--labels", "coarse") == (1, "gum")
    assert r_and_labels("--labels", "fine") == (0, "gum")
    assert r_and_labels("--inventory", "gum") == (1, "gum")
    assert r_and_labels("--inventory", "open") == (0, "open")
    assert r_and_labels("--inventory", "rstdt") == (0, "rstdt")


@pytest.mark.usefixtures("folder")
def test_tables_of_relations_and_confusions(capsys: pytest.CaptureFixture[str]):
    plain = call(capsys, "evaluate", "gold", "predicted").output
    both = call(capsys, "evaluate", "gold", "predicted", "--relations", "--confusion").output
    assert both.startswith(plain.rstrip())
    rows = [line.split() for line in both.removeprefix(plain.rstrip()).splitlines() if line]
    assert rows[0] == ["relation", "precision", "recall", "F1", "gold", "predicted"]
    assert sorted(rows[1:3]) == [
        ["attribution", "0.0", "0.0", "0.0", "1", "1"],
        ["justify", "100.0", "100.0", "100.0", "1", "1"],
    ]
    assert rows[3][0] == "gold"
    confusion = scores(call(capsys, "evaluate", "gold", "predicted", "--confusion", "--json"))["confusion"]
    cells = {
        (gold, predicted): count
        for gold, row in zip(confusion["gold"], confusion["counts"], strict=True)
        for predicted, count in zip(confusion["predicted"], row, strict=True)
        if count
    }
    assert cells["justify", "justify"] == 1
    # Of the other unit, gold and predicted one each find no partner.
    assert sum(cells.values()) == 3


@pytest.mark.usefixtures("folder")
def test_two_systems(capsys: pytest.CaptureFixture[str]):
    arguments = ["evaluate", "gold", "perfect", "--against", "predicted"]
    result = scores(call(capsys, *arguments, "--json"))
    assert result["parseval"]["micro"]["S"]["f1"] == 1
    assert result["against"]["parseval"]["micro"]["S"]["f1"] == 0.5
    test = result["significance"]["parseval S"]
    assert test["difference"] == 0.5
    assert test.keys() == {"difference", "interval", "bootstrap_p", "randomisation_p"}
    rows = [line.split() for line in call(capsys, *arguments).output.splitlines()]
    assert rows.count(["perfect", *["100.0"] * 4]) == 2
    assert rows.count(["predicted", *["50.0"] * 4]) == 1
    assert ["parseval", "S", "+50.0"] in [row[:3] for row in rows]


@pytest.mark.slow
def test_pictures(folder: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["evaluate", "gold", "predicted", "--plot", "scores.svg", "--plot-confusion", "confusion.PNG"]
    outcome = call(capsys, *arguments, "--json")
    assert (outcome.status, outcome.messages) == (0, ["genrst: wrote scores.svg", "genrst: wrote confusion.PNG"])
    assert json.loads(outcome.output)["documents"] == 1
    assert "<svg" in (folder / "scores.svg").read_text(encoding="utf-8")
    assert (folder / "confusion.PNG").read_bytes().startswith(b"\x89PNG")
    options = ["--against", "perfect", "--metric", "rst-parseval", "--plot", "systems.pdf"]
    assert call(capsys, "evaluate", "gold", "predicted", *options).status == 0
    assert (folder / "systems.pdf").read_bytes().startswith(b"%PDF")


def test_segmentation_alone(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "frogs.edus").write_text("Frogs sing they\nsay\nin the rain.\n", encoding="utf-8")
    result = scores(call(capsys, "evaluate", "gold", "frogs.edus", "--json"))
    assert result == {"documents": 1, "segmentation": half(0.5)}
    outcome = call(capsys, "evaluate", "gold", "frogs.edus")
    assert outcome.output == "segmentation  precision 50.0  recall 50.0  F1 50.0\n"
    for option in (["--against", "predicted"], ["--plot", "x.png"], ["--confusion"], ["--relations"]):
        outcome = call(capsys, "evaluate", "gold", "frogs.edus", *option)
        assert outcome.status > 0
        assert len(outcome.messages) == 1
    assert not (folder / "x.png").exists()


def test_edus_that_differ(folder: Path, capsys: pytest.CaptureFixture[str]):
    tree = Unit("justify", "NS", (Leaf(0), Leaf(1)))
    write(Document.from_edus("frogs", ["Frogs  sing", "they say in\nthe rain ."], tree), folder / "other" / "frogs.rs3")
    result = scores(call(capsys, "evaluate", "gold", "other", "--json"))
    micro = result["parseval"]["micro"]["F"]
    assert (micro["tp"], micro["n_gold"], micro["n_pred"]) == (1, 2, 1)
    assert result["segmentation"]["recall"] == 0.5


def test_joined_roots_on_both_sides(folder: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "x.rs3").write_text(f"<rst><header/><body>{ROOTS}</body></rst>", encoding="utf-8")
    assert call(capsys, "evaluate", "a", "b").status == 1
    result = scores(call(capsys, "evaluate", "a", "b", "--roots", "join", "--json"))
    assert result["parseval"]["micro"]["F"]["f1"] == 1


def test_a_corpus_as_gold(folder: Path, capsys: pytest.CaptureFixture[str]):
    gum = write_gum(folder / "gum")
    for options, n_documents in (
        (["--split", "test"], 2),
        (["--split", "test", "--gum-version", "9.1"], 1),
        (["--split", "train", "--with-textless"], 2),
        (["--corpus", "gum"], 4),
    ):
        version = "9.1" if "9.1" in options else "11.1"
        split = options[1] if "--split" in options else None
        chosen = load_corpus(gum, "gum", split, version=version, with_textless="--with-textless" in options)
        write_documents(chosen, folder / "predicted.jsonl")
        result = scores(call(capsys, "evaluate", gum, "predicted.jsonl", "--json", *options))
        assert result["documents"] == n_documents
        assert result["parseval"]["micro"]["F"]["f1"] == 1
        assert list(result["levels"]) == ["sentence", "paragraph", "document"]


def test_levels_are_shown_where_sentences_are_known(folder: Path, capsys: pytest.CaptureFixture[str]):
    gum = write_gum(folder / "gum")
    write_documents(load_corpus(gum, split="test"), folder / "predicted.jsonl")
    arguments = ["evaluate", str(gum), "predicted.jsonl", "--split", "test"]
    rows = [line.split() for line in call(capsys, *arguments).output.splitlines()]
    assert ["level", "S", "N", "R", "F", "gold", "predicted"] in rows
    outcome = call(capsys, *arguments, "--plot", "levels.svg")
    assert outcome.messages == ["genrst: wrote levels.svg"]


def test_agreement_of_what_both_have(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(Document.from_edus("toads", EDUS, GOLD), folder / "gold" / "toads.json")
    refused = call(capsys, "evaluate", "gold", "predicted", "--agreement")
    assert refused.status == 1
    outcome = call(capsys, "evaluate", "gold", "predicted", "--agreement", "--common", "--json")
    assert outcome.messages == ["genrst: documents in common: 1, left out: 1"]
    # Only the root is shared; where there is one label, chance alone agrees.
    expected = {"shared": 1, "observed": 1.0, "kappa": None}
    assert json.loads(outcome.output)["agreement"] == {"nuclearity": expected, "relation": expected}
    table = call(capsys, "evaluate", "gold", "predicted", "--agreement", "--common").output
    assert "agreement on  shared units  observed  kappa" in table


def test_nothing_in_common(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(Document.from_edus("toads", EDUS, GOLD), folder / "others" / "toads.json")
    outcome = call(capsys, "evaluate", "gold", "others", "--common")
    assert outcome.status != 0
    assert "--common found no document" in outcome.messages[0]
