"""Calibration and corrections of a tiny chart on a tiny corpus."""

import json
from pathlib import Path

import pytest

import genrst
from experiments.charts import calibration, corrections
from experiments.charts.calibration import Forecast
from genrst.parser.loading import load
from genrst.trees.constraints import Constraint
from genrst.trees.node import Leaf, Unit, units
from tests.parser.samples import LABELS, write_chart, write_parser
from tests.training.samples import make_document


def test_the_expected_calibration_error():
    """By hand: two classes, of which one is right and one is off by 0.25."""
    forecasts = [Forecast(0.5, right, "sentence") for right in (True, False)]
    forecasts += [Forecast(0.75, right, "sentence") for right in (True, True, False, False)]
    assert calibration.error(forecasts) == pytest.approx(4 / 6 * 0.25)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(3):
        genrst.write(make_document(number), folder / "dev" / f"{number}.json")
    return folder


@pytest.mark.slow
def test_calibration(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = write_chart(tmp_path / "chart")
    main = [str(corpus), "--model", str(model), "--device", "cpu"]
    calibration.main([*main, "--temperatures", "1", "50", "--plot", str(tmp_path / "curve.svg")])
    sharp, flat = map(json.loads, capsys.readouterr().out.splitlines())
    assert sharp["units"] == flat["units"] == 8
    assert sharp["mean_p"] > flat["mean_p"]
    assert (tmp_path / "curve.svg").is_file()
    with pytest.raises(SystemExit):
        calibration.main([str(corpus), "--model", str(write_parser(tmp_path / "steps", has_segmenter=False))])


def test_a_wrong_unit_is_mended_by_the_smallest_gold_unit_that_crosses_it():
    gold = {(0, 4): ("joint", "NN"), (0, 3): ("causal", "NS"), (0, 2): ("joint", "NN")}
    wrong_span = Unit("joint", "NN", (Leaf(1), Leaf(2)))
    assert corrections.mend(wrong_span, gold) == Constraint(0, 2, True, "joint", "NN")
    wrong_label = Unit("causal", "NS", (Leaf(0), Leaf(1)))
    assert corrections.mend(wrong_label, gold) == Constraint(0, 2, True, "joint", "NN")
    assert corrections.mend(Unit("joint", "NN", (Leaf(0), Leaf(1))), gold) is None


@pytest.mark.slow
def test_corrections_lead_to_the_gold_tree(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """As far as the model has its labels: here all gold units are joints."""
    model = write_chart(tmp_path / "chart")
    assert LABELS[0].relation == "joint"
    document = make_document(1)
    assert document.tree is not None
    joints = {(unit.start, unit.stop): ("joint", "NN") for unit in units(document.tree)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corrections, "gold_units", lambda document: joints if len(document.edus) == 4 else {})
        *_, (tree, constraints) = corrections.correct(load(model, device="cpu"), document)
        assert {(unit.start, unit.stop): (unit.relation, unit.nuclearity) for unit in units(tree)} == joints
        assert 0 < len(constraints) <= 3
        patch.setattr(corrections, "load_corpus", lambda *_, **__: [document])
        corrections.main([str(corpus), "--model", str(model), "--corrections", "1", "--device", "cpu"])
    row = json.loads(capsys.readouterr().out)
    assert row["corrections"] == 1
    assert row["units"] == 2
    assert row["after_S"] >= row["before_S"]
