"""Measure and fit the calibration of a chart: of units with probability 0.7, 70% should be in the gold tree.

    python -m experiments.charts.calibration corpora/gum --model DIR --split dev --fit
    python -m experiments.charts.calibration corpora/gum --model DIR --split test --plot curve.svg

The units and labels are those of minimum Bayes risk trees, with gold EDUs, sentences and paragraphs, and from raw text.
With `--fit`, the calibration (`genrst.chart.calibration`) is fitted on this split and printed, for `parser.json`.
Without it, the model's own calibration is used.

The expected calibration error (ECE) has ten bins of equal width. It is the mean distance between the predicted
probability and the share of correct predictions, weighted by the size of the bin. The root is excluded, because it is
always correct. A label counts only if its unit is in the gold tree.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.chart.calibration import NEAR, Calibration, log_odds
from genrst.chart.finder import ChartFinder
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, require_tree
from genrst.encoder.device import choose_device
from genrst.errors import UsageError
from genrst.io import progress
from genrst.parser import Relations
from genrst.parser.loading import load
from genrst.parser.parser import to_document, unwrap
from genrst.trees.binarise import binarise, prepare_tree
from genrst.trees.node import units
from genrst.trees.relations import detect_inventory

N_CLASSES = 10
SHIFTS, WEIGHTS = np.linspace(-2, 1, 61), np.linspace(0, 4, 41)
"""The grid for `Calibration.found`, which applies when EDUs were predicted."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A predicted unit: its probabilities, and whether it is correct."""

    p: float
    label_p: float
    is_assumed: bool
    size: int
    border_p: float | None
    """None if EDUs were given."""
    is_right: bool
    is_label_right: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """The forecasts in a bin of probabilities."""

    size: int
    mean_p: float
    share_right: float


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for gold EDUs and one for raw text."""
    parser = start_chart_parser(__doc__)
    parser.add_argument("--fit", action="store_true", help="fit the calibration on this split and print it")
    parser.add_argument("--plot", type=Path, help="plot the calibration curves to this file")
    run_command(parser, run, words)


def start_chart_parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser with the arguments of all commands that run a chart on a corpus."""
    parser = start_parser(description)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="use only the first N documents of the split")
    parser.add_argument("--device", default="auto")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    gold = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    parser = load(arguments.model, device=arguments.device)
    finder = parser.finder
    if not isinstance(finder, ChartFinder):
        raise UsageError(f"--model must be a chart parser, got {parser.config.name!r}")
    found = {
        (kind, relations): ask(finder, gold, relations, is_raw=kind == "raw")
        for kind in ("gold", "raw")
        for relations in get_args(Relations)
    }
    calibration = fit(found) if arguments.fit else finder.settings.calibration or Calibration()
    rows = Rows(read_environment(choose_device(arguments.device)), {"model": arguments.model, "split": arguments.split})
    curves: dict[str, list[tuple[float, bool]]] = {}
    for (kind, relations), forecasts in found.items():
        of_units, of_labels = judge(forecasts, calibration, is_fine=relations == "fine")
        curves |= {f"units, {kind}": of_units, f"{relations} labels, {kind}": of_labels}
        rows.add(
            edus=kind,
            relations=relations,
            units=len(of_units),
            ece_units=round(error(of_units), 3),
            ece_chart=round(error([(one.p, one.is_right) for one in forecasts]), 3),
            right=round(_share(one.is_right for one in forecasts), 3),
            assumed=round(_share(one.is_assumed for one in forecasts), 3),
            labels=len(of_labels),
            ece_labels=round(error(of_labels), 3),
        )
    rows.add(calibration=asdict(calibration))
    if arguments.plot:
        plot(curves, arguments.plot)


def _share(facts: Iterable[bool]) -> float:
    found = list(facts)
    return sum(found) / max(len(found), 1)


def ask(finder: ChartFinder, gold: Sequence[Document], relations: Relations, *, is_raw: bool) -> list[Forecast]:
    """Return the units that a chart finds in documents, with uncalibrated probabilities."""
    settings = replace(finder.settings, calibration=None, relations=relations)
    forecasts = []
    for document in progress(gold, f"{'raw' if is_raw else 'gold'} {relations}", len(gold)):
        if is_raw and document.text is None:
            continue
        given = unwrap(to_document(document.text, document.id)) if is_raw and document.text else document
        (distribution,) = finder.distributions([replace(given, constraints=())], settings)
        forecasts += compare(distribution.documents()[0], distribution.border_p, document, relations)
    return forecasts


def compare(found: Document, border_p: NDArray[np.float32] | None, gold: Document, relations: str) -> list[Forecast]:
    """Compare the units of a predicted tree, except the root, with those of the gold tree."""
    tree = require_tree(gold)
    inventory = detect_inventory(unit.relation for unit in units(tree))
    tree = binarise(tree) if relations == "fine" else prepare_tree(tree, inventory)
    right = {gold.offsets(unit.start, unit.stop): (unit.relation.lower(), unit.nuclearity) for unit in units(tree)}
    forecasts = []
    for unit in units(require_tree(found)):
        if (unit.start, unit.stop) == (0, len(found.edus)):
            continue
        label = right.get(found.offsets(unit.start, unit.stop))
        forecasts.append(
            Forecast(
                unit.probability or 0.0,
                unit.label_probability or 0.0,
                unit.is_assumed,
                unit.stop - unit.start,
                None if border_p is None else float(border_p[unit.start] * border_p[unit.stop]),
                label is not None,
                label == (unit.relation, unit.nuclearity),
            )
        )
    return forecasts


def judge(
    forecasts: Sequence[Forecast], calibration: Calibration, *, is_fine: bool
) -> tuple[list[tuple[float, bool]], list[tuple[float, bool]]]:
    """Return the calibrated probabilities of units, and of labels of correct units, each with its correctness."""
    of_units = [
        (calibration.unit_p(one.p, one.size, is_assumed=one.is_assumed, border_p=one.border_p), one.is_right)
        for one in forecasts
    ]
    of_labels = [
        (calibration.label_p(one.label_p, is_fine=is_fine), one.is_label_right) for one in forecasts if one.is_right
    ]
    return of_units, of_labels


# Fitting.


def fit(found: dict[tuple[str, str], list[Forecast]]) -> Calibration:
    """Fit the calibration by maximum likelihood."""
    gold, raw = found["gold", "fine"], found["raw", "fine"]
    chosen, assumed = ([one for one in gold if one.is_assumed is flag] for flag in (False, True))
    calibration = Calibration(
        unit=_regress([log_odds(one.p) for one in chosen], [one.is_right for one in chosen]),
        assumed=_regress([float(np.log(one.size)) for one in assumed], [one.is_right for one in assumed]),
        fine=_fit_labels([*gold, *raw]),
        coarse=_fit_labels([*found["gold", "coarse"], *found["raw", "coarse"]]),
    )
    return replace(calibration, found=_fit_found(raw, calibration))


def _fit_labels(forecasts: Sequence[Forecast]) -> tuple[float, float]:
    own = [one for one in forecasts if one.is_right]
    return _regress([log_odds(one.label_p) for one in own], [one.is_label_right for one in own])


def _regress(values: Sequence[float], is_right: Sequence[bool]) -> tuple[float, float]:
    """Fit a logistic regression by Newton's method; return the intercept and the slope."""
    x = np.stack([np.ones(len(values)), np.array(values)], axis=1)
    y, weights = np.array(is_right, dtype=float), np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-x @ weights))
        # A weak L2 penalty, so that there always is a finite optimum.
        gradient = x.T @ (y - p) - 0.01 * weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 0.01 * np.eye(2)
        weights = weights + np.linalg.solve(hessian, gradient)
    return round(float(weights[0]), 3), round(float(weights[1]), 3)


def _fit_found(forecasts: Sequence[Forecast], calibration: Calibration) -> tuple[float, float]:
    """Find the shift of log-odds and the weight of borders by grid search."""
    given = [calibration.unit_p(one.p, one.size, is_assumed=one.is_assumed, border_p=None) for one in forecasts]
    odds, y = np.array([log_odds(p) for p in given]), np.array([one.is_right for one in forecasts])
    borders = np.log(np.maximum([one.border_p or 0.0 for one in forecasts], NEAR))
    best, most = (0.0, 1.0), -np.inf
    for shift in SHIFTS:
        logp = -np.logaddexp(0, -(odds + shift))
        for weight in WEIGHTS:
            p = np.clip(np.exp(logp + weight * borders), NEAR, 1 - NEAR)
            likelihood = float(np.where(y, np.log(p), np.log1p(-p)).sum())
            if likelihood > most:
                best, most = (round(float(shift), 3), round(float(weight), 3)), likelihood
    return best


# Errors and curves.


def bins(forecasts: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Return the non-empty bins of equal width."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(N_CLASSES)]
    for p, is_right in forecasts:
        members[min(int(p * N_CLASSES), N_CLASSES - 1)].append((p, is_right))
    return [Bin(len(own), fmean(p for p, _ in own), fmean(right for _, right in own)) for own in members if own]


def error(forecasts: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error."""
    return sum(one.size * abs(one.mean_p - one.share_right) for one in bins(forecasts)) / max(len(forecasts), 1)


def plot(curves: dict[str, list[tuple[float, bool]]], path: Path) -> None:
    """Draw the share of correct predictions against the predicted probability."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    panels = zip(figure.subplots(1, 2, sharey=True), ("gold", "raw"), ("gold EDUs", "raw text"), strict=True)
    for axes, kind, title in panels:
        axes.plot([0, 1], [0, 1], color="#c8ccd2")
        for name, forecasts in curves.items():
            subject, _, own = name.rpartition(", ")
            if own == kind:
                found = bins(forecasts)
                x, y = [one.mean_p for one in found], [one.share_right for one in found]
                axes.plot(x, y, marker="o", markersize=4, label=f"{subject}, ECE {error(forecasts):.3f}")
        axes.set(xlabel="probability", xlim=(0, 1), ylim=(0, 1))
        axes.set_title(title, fontsize="medium")
        axes.legend(fontsize="small", frameon=False, loc="upper left")
    figure.supylabel("share that is right", fontsize="medium")
    figure.savefig(path)


if __name__ == "__main__":
    main()
