"""Corrected probabilities: what they are by hand, and that a tree carries them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.chart.calibration import Calibration, log_odds, sigmoid
from genrst.chart.finder import ChartFinder
from genrst.document import Document
from genrst.parser.loading import load
from genrst.trees.constraints import Constraint
from genrst.trees.node import units
from tests.parser.samples import TEXT, write_reading_chart

FOUND = Calibration(unit=(-0.5, 0.8), assumed=(2.0, -0.5), found=(-0.3, 1.5), fine=(0.2, 1.1), coarse=(0.1, 0.9))


def odds(p: float) -> float:
    return p / (1 - p)


def test_without_settings_a_probability_is_that_of_the_chart():
    calibration = Calibration()
    for p in (0.01, 0.5, 0.99):
        assert calibration.unit_p(p, 3, is_assumed=False, border_p=None) == pytest.approx(p)
        assert calibration.label_p(p, is_fine=True) == pytest.approx(p)


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.3, 1.0])
def test_probabilities_by_hand(p: float):
    held = min(max(p, 1e-6), 1 - 1e-6)
    assert sigmoid(log_odds(p)) == pytest.approx(held)
    unit = FOUND.unit_p(p, 4, is_assumed=False, border_p=None)
    assert odds(unit) == pytest.approx(math.exp(-0.5) * odds(held) ** 0.8, rel=1e-4)
    raw = FOUND.unit_p(p, 4, is_assumed=False, border_p=0.6)
    assert raw == pytest.approx(0.6**1.5 / (1 + 1 / (math.exp(-0.3) * odds(unit))), rel=1e-4)
    assumed = FOUND.unit_p(p, 4, is_assumed=True, border_p=None)
    assert odds(assumed) == pytest.approx(math.exp(2) / 2), "whatever the chart says, and less for longer sentences"
    assert odds(FOUND.label_p(p, is_fine=False)) == pytest.approx(math.exp(0.1) * odds(held) ** 0.9, rel=1e-4)


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> ChartFinder:
    folder = write_reading_chart(tmp_path_factory.mktemp("chart"))
    finder = load(folder, device="cpu").finder
    assert isinstance(finder, ChartFinder)
    return finder


def test_units_say_whether_they_are_assumed(finder: ChartFinder):
    """Sentences are kept whole; what a user demands is no assumption, and neither is the root."""
    (document,) = finder.segment([Document("a", TEXT, (Document.from_edus("a", [TEXT]).edus[0],), is_segmented=False)])
    sentences = document.sentence_of_edus()
    spans = {(sentences.index(one), len(sentences) - sentences[::-1].index(one)) for one in set(sentences)}
    whole = {(start, stop) for start, stop in spans if stop - start > 1}
    assert whole
    plain, corrected = (
        next(finder.distributions([document], replace(finder.settings, calibration=one))) for one in (None, FOUND)
    )
    first = min(whole)
    demanded = corrected.given([Constraint(*first)])
    for distribution, expected in ((plain, whole), (corrected, whole), (demanded, whole - {first})):
        assert distribution.document.tree is None
        (found,) = distribution.documents()
        assert found.tree is not None
        assert {(unit.start, unit.stop) for unit in units(found.tree) if unit.is_assumed} == expected
    trees = [distribution.documents()[0].tree for distribution in (plain, corrected)]
    pairs = list(zip(*(units(tree) for tree in trees if tree is not None), strict=True))
    assert len(pairs) > len(whole) + 1
    for own, other in pairs:
        assert own.probability is not None
        assert own.label_probability is not None
        is_root = (own.start, own.stop) == (0, len(document.edus))
        p = FOUND.unit_p(own.probability, own.stop - own.start, is_assumed=own.is_assumed, border_p=None)
        assert other.probability == pytest.approx(1 if is_root else p, abs=1e-6)
        assert other.label_probability == pytest.approx(FOUND.label_p(own.label_probability, is_fine=True), abs=1e-6)
    sure = [unit for unit in units(demanded.documents()[0].tree) if (unit.start, unit.stop) == first]  # type: ignore[arg-type]
    assert sure[0].probability == 1


def test_where_edus_are_found_their_borders_count(tmp_path: Path):
    folder = write_reading_chart(tmp_path, calibration={"found": [0.0, 1.0]})
    parser = load(folder, device="cpu")
    raw, given = parser(TEXT), parser(parser.segment(TEXT))
    border_p = parser.distribution(TEXT).border_p
    assert raw.tree is not None
    assert given.tree is not None
    assert border_p is not None
    assert parser.distribution(parser.segment(TEXT)).border_p is None
    for own, other in zip(units(raw.tree), units(given.tree), strict=True):
        assert own.probability is not None
        if (own.start, own.stop) != (0, len(raw.edus)):
            borders = float(border_p[own.start] * border_p[own.stop])
            assert own.probability == pytest.approx(other.probability * borders, rel=1e-3)  # type: ignore[operator]
