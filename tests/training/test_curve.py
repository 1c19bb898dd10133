import math
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from genrst.errors import MissingDependencyError
from genrst.training.run import plot_curves
from genrst.training.trainer import Record


def record(epoch: int, has_scores: bool = True) -> Record:
    scores = {"S": 50.0 + epoch, "N": 40.0, "R": 30.0, "F": 20.0 + epoch} if has_scores else {}
    return Record(epoch, 3 * epoch, 9 / epoch, 10 / epoch, 2 / epoch, math.nan, scores, 1e-3, 0.1, 0.1, True)


@pytest.mark.parametrize(
    "runs",
    [
        {"seed 1": [record(1), record(2), record(3)], "seed 2": [record(1)]},
        {"seed 1": [record(1, has_scores=False), record(2)]},
        {"seed 1": []},
    ],
    ids=["two seeds", "not all scored", "no epochs"],
)
def test_a_picture_of_any_run(runs, tmp_path: Path):
    plot_curves(runs, tmp_path / "curve.svg")
    assert ElementTree.parse(tmp_path / "curve.svg").getroot().tag.endswith("svg")


def test_the_suffix_says_the_format(tmp_path: Path):
    plot_curves({"seed 1": [record(1), record(2)]}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[plot\]'"):
        plot_curves({}, tmp_path / "curve.svg")
