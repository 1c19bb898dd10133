"""`genrst info` about a model."""

import json
from pathlib import Path

import pytest

from genrst.model.storage import load_model
from genrst.segmenter.segment import load_segmenter
from tests.cli.program import call
from tests.parser.samples import LABELS, write_ensemble, write_parser

CARD = "# tiny\n\nTrained on nothing, \x1b[31mby nobody."


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
    n_parameters = sum(weights.numel() for weights in load_model(folder).network.state_dict().values())
    n_segmenter = sum(weights.numel() for weights in load_segmenter(folder / "segmenter").network.state_dict().values())
    assert rows["model"] == rows["folder"] == "tiny"
    assert rows["parameters"] == f"{n_parameters:,}"
    assert rows["segmenter"] == f"{n_segmenter:,} parameters"
    assert rows["labels"] == str(len(LABELS))
    assert rows["search"] == "bag, beam 4, word weight 0.5"


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    facts = json.loads(call(capsys, "info", folder, "--json").output)
    assert (facts["model"], facts["card"]) == ("tiny", CARD)
    assert facts["bytes"] == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert facts["parser"]["beam"] == 4
    assert facts["config"]["kind"] == "generative"


def test_names_folders_and_corpora(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.parser.packages.MODELS", folder.parent / "models")
    assert "no such file or folder" in call(capsys, "info", "en").messages[0]
    write_parser(folder.parent / "models" / "en", has_segmenter=False)
    output = call(capsys, "info", "en").output
    assert output.startswith("model       tiny\n")
    assert "none: EDUs are found by rules" in output
    Path("en").mkdir()
    (Path("en") / "a.edus").write_text("a\nb\n", encoding="utf-8")
    assert call(capsys, "info", "en/a.edus").output.startswith("files, ")


def test_an_ensemble(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_parser(folder.parent / "other", kind="discriminative", has_segmenter=False, name="small")
    write_ensemble(folder.parent / "both", {"../other": 0.5, "../tiny": 1})
    rows = dict(line.split(maxsplit=1) for line in call(capsys, "info", "both").output.splitlines())
    facts = json.loads(call(capsys, "info", "both", "--json").output)
    alone = [json.loads(call(capsys, "info", name, "--json").output) for name in ("other", "tiny")]
    assert (rows["model"], rows["kind"]) == ("both", "ensemble: 0.5 × small, 1 × tiny")
    assert rows["parameters"] == f"{sum(one['n_parameters'] for one in alone):,}"
    assert rows["segmenter"] == f"{alone[1]['segmenter_parameters']:,} parameters"
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
