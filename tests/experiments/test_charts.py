"""Calibration and corrections of a tiny chart on a tiny corpus."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import genrst
from experiments.charts import calibration, corrections
from experiments.charts.calibration import Forecast
from genrst.chart.calibration import Calibration
from genrst.parser.loading import load
from genrst.trees.constraints import Constraint
from genrst.trees.node import Leaf, Unit, units
from tests.parser.samples import LABELS, write_chart, write_parser
from tests.training.samples import make_document


def test_the_expected_calibration_error():
    """By hand: two classes, of which one is right and one is off by 0.25."""
    forecasts = [(0.5, True), (0.5, False), (0.75, True), (0.75, True), (0.75, False), (0.75, False)]
    assert calibration.error(forecasts) == pytest.approx(4 / 6 * 0.25)


def draw_forecasts(truth: Calibration, kind: str) -> list[Forecast]:
    """Units that are right as often as a calibration says."""
    generator = np.random.default_rng(len(kind))
    found = []
    for _ in range(20_000):
        p, label_p = (float(1 / (1 + np.exp(-2 * generator.normal()))) for _ in range(2))
        size, is_assumed = int(generator.integers(2, 30)), bool(generator.random() < 0.3)
        border_p = float(generator.random() ** 0.2) if kind == "raw" else None
        unit_p = truth.unit_p(p, size, is_assumed=is_assumed, border_p=border_p)
        is_right, is_label_right = (
            generator.random() < unit_p,
            generator.random() < truth.label_p(label_p, is_fine=True),
        )
        found.append(Forecast(p, label_p, is_assumed, size, border_p, bool(is_right), bool(is_label_right)))
    return found


def test_a_calibration_is_found_again():
    """Fitted on what it drew, it is the one that drew it."""
    truth = Calibration((-0.5, 0.7), (2.5, -0.6), (-0.4, 1.5), (0.3, 1.2), (0.3, 1.2))
    found = {
        (kind, relations): draw_forecasts(truth, kind) for kind in ("gold", "raw") for relations in ("fine", "coarse")
    }
    fitted = calibration.fit(found)
    for name, pair in asdict(truth).items():
        assert getattr(fitted, name) == pytest.approx(pair, abs=0.25), name
    of_units, of_labels = calibration.judge(found["raw", "fine"], fitted, is_fine=True)
    assert max(calibration.error(of_units), calibration.error(of_labels)) < 0.02


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
    calibration.main([*main, "--fit", "--plot", str(tmp_path / "curve.svg")])
    *rows, fitted = map(json.loads, capsys.readouterr().out.splitlines())
    kinds = [("gold", "fine"), ("gold", "coarse"), ("raw", "fine"), ("raw", "coarse")]
    assert sorted((row["edus"], row["relations"]) for row in rows) == sorted(kinds)
    assert [row["units"] for row in rows if row["edus"] == "gold"] == [5, 5], "the roots are left out"
    assert all(0 <= row["ece_units"] <= 1 and 0 <= row["ece_labels"] <= 1 for row in rows)
    assert (tmp_path / "curve.svg").is_file()
    # With the calibration in the folder of the model, its probabilities are those that were fitted.
    write_chart(tmp_path / "chart", calibration=fitted["calibration"])
    calibration.main(main)
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["ece_units"] for row in again[:-1]] == [row["ece_units"] for row in rows]
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
