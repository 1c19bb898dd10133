"""Plot scores as bars, the confusion matrix and surprisals. Requires matplotlib (`pip install genrst[plot]`)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genrst.characters import printable
from genrst.errors import GenrstError, MissingDependencyError, UsageError
from genrst.evaluation.counts import Counts
from genrst.evaluation.parseval import ASPECTS
from genrst.evaluation.report import Confusion, Evaluation, TreeMetric
from genrst.io import write_atomically_with

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".pdf", ".png", ".svg")


def plot_systems(systems: Mapping[str, Evaluation], path: Path | str, metric: TreeMetric = "parseval") -> None:
    """Plot the micro F1 of one or several systems, given by name."""
    _plot_bars({name: system.micro(metric) for name, system in systems.items()}, metric, Path(path))


def plot_levels(evaluation: Evaluation, path: Path | str) -> None:
    """Plot the Parseval F1 at each level of the text that has constituents."""
    levels = evaluation.levels()
    if levels is None:
        raise GenrstError("levels can only be drawn if all gold documents have sentences, but some have none")
    _plot_bars({level: cells for level, cells in levels.items() if not cells["S"].is_empty}, "parseval", Path(path))


def plot_confusion(confusion: Confusion, path: Path | str) -> None:
    """Plot the confusion matrix. A cell shows its count, and is shaded by its share of the gold relation."""
    size = 2.5 + 0.4 * len(confusion.rows)
    figure = _new_figure(size, size)
    axes = figure.add_subplot()
    totals = confusion.matrix.sum(axis=1, keepdims=True)
    shares = confusion.matrix / np.maximum(totals, 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(confusion.columns)), _names(confusion.columns), rotation=90, parse_math=False)
    axes.set_yticks(range(len(confusion.rows)), _names(confusion.rows), parse_math=False)
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")
    for row, column in zip(*confusion.matrix.nonzero(), strict=True):
        colour = "white" if shares[row, column] > 0.5 else "black"
        count = str(confusion.matrix[row, column])
        axes.text(column, row, count, ha="center", va="center", fontsize=6, color=colour)
    _save(figure, Path(path))


def plot_surprisals(structure: Sequence[float], words: Sequence[float], path: Path | str) -> None:
    """Plot the surprisal of the structure and the words of each EDU along a document, in nats."""
    figure = _new_figure(min(3 + 0.12 * len(structure), 40), 3)
    axes = figure.add_subplot()
    edus = range(1, len(structure) + 1)
    axes.bar(edus, words, label="words", color="#3b76af")
    axes.bar(edus, structure, bottom=words, label="structure", color="#d9822b")
    axes.set(xlabel="EDU", ylabel="surprisal (nats)", xlim=(0.4, len(structure) + 0.6))
    axes.legend(fontsize=7)
    _save(figure, Path(path))


def _plot_bars(groups: Mapping[str, Mapping[str, Counts]], title: str, path: Path) -> None:
    figure = _new_figure(2 + 1.2 * max(len(groups), 2), 3)
    axes = figure.add_subplot()
    width = 0.8 / len(ASPECTS)
    for number, aspect in enumerate(ASPECTS):
        heights = [100 * cells[aspect].f1 for cells in groups.values()]
        lefts = np.arange(len(groups)) + (number - (len(ASPECTS) - 1) / 2) * width
        bars = axes.bar(lefts, heights, width, label=aspect)
        axes.bar_label(bars, fmt="%.1f", fontsize=6)
    axes.set_xticks(range(len(groups)), _names(groups), parse_math=False)
    axes.set_ylim(0, 120)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("F1 (%)")
    axes.set_title(title)
    axes.legend(ncols=len(ASPECTS), fontsize=7)
    _save(figure, path)


def _names(names: Iterable[str]) -> list[str]:
    """Escape the names of relations or systems, so that matplotlib does not read dollar signs as formulas."""
    return list(map(printable, names))


def _new_figure(width: float, height: float) -> "Figure":
    """Create a figure without pyplot, so that no global state changes and no display is needed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("plots need matplotlib: pip install 'genrst[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: "Figure", path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"an image must end in {', '.join(SUFFIXES)}, got {path}")
    format = path.suffix[1:].lower()
    write_atomically_with(path, lambda file: figure.savefig(file, format=format, dpi=200))
