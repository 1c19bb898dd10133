import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.errors import GenrstError, UsageError
from genrst.evaluation.plot import plot_confusion, plot_levels, plot_systems
from genrst.evaluation.report import evaluate
from tests.conftest import REPOSITORY
from tests.evaluation.test_tables import GOLD, RESULT

MAGIC = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", MAGIC)
def test_images_are_written_in_the_format_of_their_suffix(suffix: str, tmp_path: Path):
    pytest.importorskip("matplotlib")
    paths = [tmp_path / f"{name}{suffix}" for name in ("systems", "levels", "confusion")]
    plot_systems({"ours": RESULT, "theirs": RESULT}, paths[0])
    plot_levels(RESULT, str(paths[1]))
    plot_confusion(RESULT.confusion(), paths[2])
    for path in paths:
        assert path.read_bytes().startswith(MAGIC[suffix])


@pytest.mark.slow
def test_names_are_no_formulas(tmp_path: Path):
    pytest.importorskip("matplotlib")
    name = "$\\frac{$ $x^{$\x1b"
    plot_systems({name: RESULT, "theirs": RESULT}, tmp_path / "systems.svg")
    confusion = RESULT.confusion()
    plot_confusion(replace(confusion, relations=(name, *confusion.relations[1:])), tmp_path / "confusion.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["confusion.svg", "systems.svg"]


def test_the_svg_shows_the_numbers(tmp_path: Path):
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        plot_systems({"ours": RESULT}, tmp_path / "systems.svg", "rst_parseval")
    image = (tmp_path / "systems.svg").read_text("utf-8")
    assert "ours" in image
    assert "75.0" in image


def test_a_plot_needs_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(GenrstError, match=r"^plots need matplotlib: pip install 'genrst\[plot\]'$"):
        plot_levels(RESULT, tmp_path / "levels.png")


def test_importing_the_module_does_not_import_matplotlib():
    program = "import genrst.evaluation.plot, sys; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=REPOSITORY)


def test_unknown_formats_and_unknown_levels_are_refused(tmp_path: Path):
    pytest.importorskip("matplotlib")
    with pytest.raises(UsageError, match=r"must end in \.pdf, \.png, \.svg"):
        plot_levels(RESULT, tmp_path / "levels.bmp")
    with pytest.raises(GenrstError, match="some have none"):
        plot_levels(evaluate([GOLD], [GOLD]), tmp_path / "levels.png")
