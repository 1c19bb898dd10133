"""MkDocs builds the site without a warning, with every public name on its page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import genrst
from docs.commands import verb_parsers

pytest.importorskip("mkdocs", reason="not installed: genrst[docs]")
ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_site(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "reference" / "library.html").read_text(encoding="utf-8")
    documented = {name.split(".")[-1] for name in re.findall(r'<h[34] id="([\w.]+)"', page)}
    assert set(genrst.__all__) - documented == {"__version__"}
    assert (tmp_path / "tutorial.html").is_file(), "a notebook becomes a page"
    commands = (tmp_path / "reference" / "commands.html").read_text(encoding="utf-8")
    for name, parser in verb_parsers().items():
        assert f'<h2 id="genrst-{name}">' in commands
        options = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
        assert [option for option in options if f"<code>{option}" not in commands] == ["--help"]
