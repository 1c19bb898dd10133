"""What does without PyTorch, and what says in one line that it needs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import genrst
from genrst.encoder.model import save_model
from genrst.errors import MissingDependencyError
from tests.parser.samples import make_chart, write_chart

HIDDEN = "import sys\nfor name in ('torch', 'transformers', 'spacy'): sys.modules[name] = None\n"
"""As if these were not installed: `import` fails, and `find_spec` finds nothing."""


def run_without(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", HIDDEN + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


@pytest.mark.slow
def test_the_default_parser_needs_none():
    """Its trees are the same, also where there is a GPU that nothing can use."""
    program = (
        "import json, genrst, genrst.parser.loading as loading\n"
        "loading._GPU_FILES = ('/dev/null',)\n"
        "parser = genrst.load()\n"
        "document = parser('It rained, so we stayed in. Nobody was hurt.')\n"
        "print(json.dumps([str(document.tree), document.log_probability, parser.finder.device]))\n"
    )
    done = run_without(program, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    document = genrst.load(device="cpu")("It rained, so we stayed in. Nobody was hurt.")
    assert json.loads(done.stdout) == [str(document.tree), document.log_probability, "cpu"]


@pytest.mark.slow
def test_what_needs_it_says_so_in_one_line(tmp_path: Path):
    """The parser and the command do."""
    save_model(make_chart(encoder="qwen2"), tmp_path / "qwen")
    write_chart(tmp_path / "half", encoder_precision="bfloat16")
    extra = "needs PyTorch: pip install 'genrst[torch]'"
    cases = [
        ("en", "cuda", f"the device 'cuda' {extra}"),
        ("en", "cuda:1", f"the device 'cuda:1' {extra}"),
        ("en", "mps", f"the device 'mps' {extra}"),
        ("en-generative", "auto", "pip install 'genrst[torch"),
        ("en-generative", "cpu", "pip install 'genrst[torch"),
        (str(tmp_path / "qwen"), "auto", f"a chart with an encoder of the type 'qwen2' {extra}"),
        (str(tmp_path / "half"), "cpu", extra),
    ]
    program = (
        "import json, genrst\n"
        "from genrst.errors import MissingDependencyError\n"
        "for model, device, _ in json.loads(sys.argv[1]):\n"
        "    try: genrst.load(model, device=device); print('loaded')\n"
        "    except MissingDependencyError as error: print(error)\n"
    )
    done = run_without(program, json.dumps(cases))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(cases)
    for line, (_, _, message) in zip(lines, cases, strict=True):
        assert message in line
    main = "from genrst.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
    for model, device in (("en-generative", "auto"), ("en", "cuda")):
        (tmp_path / "text.txt").write_text("It rained, so we stayed in.")
        done = run_without(main, "parse", str(tmp_path / "text.txt"), "--model", model, "--device", device)
        assert done.returncode == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert "needs PyTorch" in line
        assert "pip install 'genrst[torch" in line


def test_modules_that_need_it_are_not_asked_for_a_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write_chart(tmp_path)
    for name in ("genrst.chart.learning.network", "genrst.encoder.model", "genrst.encoder.device"):
        monkeypatch.setitem(sys.modules, name, None)
    assert genrst.load(folder)("It rained, so we stayed in.").tree is not None
    for device in ("cuda", "mps"):
        with pytest.raises(
            MissingDependencyError, match=r"^the device '\w+' needs PyTorch: pip install 'genrst\[torch\]'$"
        ):
            genrst.load(folder, device=device)
