"""`genrst parse` and `genrst segment` on files that are hardly texts: an answer or one line, never a traceback."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from genrst.formats import json_text
from tests.cli.program import call, give_input
from tests.parser.samples import write_parser

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
WORDLESS = "a text must have at least one word, got "
BINARY = "the file must be text, got binary data"
RAIN = "It rained, so we stayed in."

FAILING = {
    "empty": (b"", WORDLESS),
    "white space": (b" \n\t\r\n ", WORDLESS),
    "byte order mark": ("\ufeff".encode(), WORDLESS),
    "picture": (PNG, "the file is a picture; recognise its text first"),
    "program": (bytes(range(256)), BINARY),
    "nul": (b"It rained,\0 so we stayed in.", BINARY),
    "UTF-16 without a mark": (RAIN.encode("utf-16-le"), BINARY),
    "half of UTF-16": (RAIN.encode("utf-16")[:-1], "the text is not valid utf-16-le: "),
    "control": (b"\x01\x02\x1b\x7f", WORDLESS),
}
FINE = {
    "one word": b"Hello",
    "UTF-16": RAIN.encode("utf-16"),
    "UTF-32": RAIN.encode("utf-32"),
    "Latin-1": "Es regnete, so we stayed in the café.".encode("latin-1"),
    "line ends": b"It rained.\r\nWe stayed.\rNobody was hurt.",
    "control": b"It \x1b[31mrained\x1b[0m,\x07 so we stayed\x08 in.",
    "right to left": "ירד גשם, אז נשארנו בבית.".encode(),
    "emoji": "It rained 🌧️, so we stayed 👩‍👩‍👧 in.".encode(),
    "markup": b"<!DOCTYPE html><html><body><p>It rained, <b>so</b> we stayed.</p><script>x()</script></body></html>",
    "surrogates": b"It rained \xed\xa0\x80, so we stayed in.",
    "one long line": b"It rained, so we stayed in. " * 150,
    "one long word": b"x" * 100_000,
    "columns": b"a\tb\tc\n1\t2\t3\n" * 20,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parser(tmp_path_factory.mktemp("models") / "tiny", search="greedy")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("verb", ["parse", "segment"])
@pytest.mark.parametrize("name", FAILING)
def test_one_clear_line(verb: str, name: str, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    content, message = FAILING[name]
    Path("odd.txt").write_bytes(content)
    outcome = call(capsys, verb, "odd.txt", "--model", model)
    assert (outcome.status, outcome.output) == (1, "")
    assert len(outcome.errors) == 1
    assert outcome.errors[0].startswith(f"genrst: odd.txt: {message}")
    give_input(monkeypatch, content)
    outcome = call(capsys, verb, "-", "--model", model)
    assert outcome.errors[0].startswith(f"genrst: stdin: {message}")


@pytest.mark.slow
@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("name", FINE)
def test_an_answer(name: str, model: Path, capsys: pytest.CaptureFixture[str]):
    Path("odd.txt").write_bytes(FINE[name])
    outcome = call(capsys, "parse", "odd.txt", "--model", model, "--json")
    assert (outcome.status, outcome.errors) == (0, [])
    document: Any = json_text.loads(outcome.output)
    text, end = document["text"], 0
    assert text.split()[0][0] in "HIEיxa<"
    for edu in document["edus"]:
        assert not any(map(str.isalpha, text[end : edu["start"]])), "only marks are left out"
        end = edu["end"]
    assert not any(map(str.isalpha, text[end:]))
    outcome = call(capsys, "parse", "odd.txt", "--model", model)
    assert (outcome.status, outcome.errors) == (0, [])
    assert not set(outcome.output) & set("\x1b\x07\x08"), "nothing that the terminal obeys"
    for format in ("edus", "json", "tok"):
        outcome = call(capsys, "segment", "odd.txt", "--model", model, "--format", format)
        assert (outcome.status, outcome.errors) == (0, [])


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("format", ["tree", "json", "jsonl", "rs3", "rs4", "dis", "rsd", "svg", "html", "edus"])
def test_every_format_takes_every_character_or_refuses_it(format: str, model: Path, capsys: pytest.CaptureFixture[str]):
    text = "It\ud800 \x1brained\x07 (\0<&\ufffe>), so we stayed\u202e in ]]>. _! Nobody\u2028was\x85hurt {🌧️}."
    Path("odd.json").write_text(
        json.dumps({"id": "odd", "text": text, "edus": [{"start": 0, "end": 20}, {"start": 20, "end": len(text)}]})
    )
    outcome = call(capsys, "parse", "odd.json", "--model", model, "--format", format, "--output", "out")
    if format in ("rs3", "rs4", "dis", "rsd", "edus"):
        assert (outcome.status, len(outcome.errors), Path("out").exists()) == (2, 1, False)
        rule = rf"(\.{format} files cannot hold the character U\+|to be written as \.{format}, an EDU must not contain)"
        assert re.match(f"genrst: odd: {rule}", outcome.errors[0])
    else:
        assert (outcome.status, outcome.errors) == (0, [])
        assert Path("out").stat().st_size > 20
