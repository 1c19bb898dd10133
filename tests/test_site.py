"""The site: MkDocs builds it without a warning, so every link on it leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import genrst

pytest.importorskip("mkdocs", reason="not installed: genrst[docs]")
ROOT = Path(__file__).parent.parent


def build(target: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_site(tmp_path: Path):
    result = build(tmp_path)
    assert result.returncode == 0, result.stderr
    library = (tmp_path / "api.html").read_text(encoding="utf-8")
    documented = {name.split(".")[-1] for name in re.findall(r'<h[34] id="([\w.]+)"', library)}
    assert set(genrst.__all__) - documented == {"__version__"}
    tutorial = (tmp_path / "tutorial.html").read_text(encoding="utf-8")
    assert 'href="relations.html"' in tutorial, "a notebook becomes a page"
    assert 'src="images/parsed.svg"' in tutorial
    tables = (tmp_path / "results" / "paper.html").read_text(encoding="utf-8")
    assert 'href="../repository/experiments/index.html#learning-curves"' in tables, "what is outside of docs/ is there"
    assert (tmp_path / "repository" / "experiments" / "branching_bias" / "settings.svg").is_file()
