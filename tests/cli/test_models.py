"""A text is a text for every verb: it is parsed where a tree is needed, and never taken for a list of EDUs."""

from pathlib import Path

import pytest

from genrst.parser.parser import Parser
from genrst.rendering.svg import render_svg
from tests.cli.program import call, give_input, on_terminal
from tests.parser.samples import TEXT


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("ferry.txt").write_text(TEXT, encoding="utf-8")
    return "ferry.txt"


def test_texts_are_parsed(text: str, tiny: Path, parser: Parser, capsys: pytest.CaptureFixture[str]):
    document = parser(TEXT, id="ferry")
    assert call(capsys, "render", text, "ferry.svg", "--model", tiny, "--binary").messages == []
    assert Path("ferry.svg").read_text(encoding="utf-8") == render_svg(document)
    assert call(capsys, "parse", text, "--model", tiny, "--output", "ferry.json").status == 0
    exported = [call(capsys, "export", name, "--what", "units", "--model", tiny) for name in (text, "ferry.json")]
    assert exported[0] == exported[1]
    assert exported[0].status == 0


def test_standard_input(tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    give_input(monkeypatch, b"It rained,\nso we stayed in.")
    outcome = call(capsys, "render", "-", "-", "--from", "txt", "--to", "txt", "--edus", "--model", tiny)
    assert [line.split(" ", 1)[1] for line in outcome.output.splitlines()[1:]] == ["1 It rained,", "2 so we stayed in."]


def test_texts_have_no_edus_to_convert(text: str, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "convert", text, "ferry.json")
    rule = "ferry.txt: a raw text has no EDUs yet; run genrst parse first, or use --edus"
    assert (outcome.status, len(outcome.messages)) == (2, 1)
    assert rule in outcome.messages[0]
    assert call(capsys, "convert", text, "ferry.json", "--edus").status == 0


def test_who_waits_is_told_for_what(text: str, tiny: Path):
    printed = on_terminal("segment", text, "--model", tiny, "--output", "ferry.edus", streams=("stderr",))
    assert printed.startswith(f"genrst: loading the model {tiny} …\r\x1b[K")
