"""Are a chart's probabilities right? Of units that have the probability 0.7, seven in ten should be in the gold tree.

    python -m experiments.charts.calibration corpora/gum --model DIR --split dev --temperatures 1 1.5 2
    python -m experiments.charts.calibration corpora/gum --model DIR --split test --temperatures 2 \
        --plot curve.svg

The expected calibration error (ECE) of the units of minimum Bayes risk trees, in ten classes of equal width: the mean
distance between the probability that was given and the share that was right, weighted by the size of the class. EDUs,
sentences and paragraphs are the corpus' own. One temperature is chosen on dev, and used on test.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.chart.finder import ChartFinder
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, require_tree
from genrst.encoder.device import choose_device
from genrst.errors import UsageError
from genrst.io import progress
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.trees.binarise import binarise
from genrst.trees.node import units

N_CLASSES = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """A unit: how probable it was, and whether it is in the gold tree."""

    p: float
    is_right: bool
    level: str


@dataclass(frozen=True, slots=True)
class Bin:
    """The units of a class of probabilities."""

    size: int
    mean_p: float
    share_right: float


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each temperature."""
    parser = start_chart_parser(__doc__)
    parser.add_argument("--temperatures", type=float, nargs="+", default=[1.0, 1.5, 2.0])
    parser.add_argument("--plot", type=Path, help="a picture of the curve of the last temperature")
    run_command(parser, run, words)


def start_chart_parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments of all commands that ask a chart about a corpus."""
    parser = start_parser(description)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--device", default="auto")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    gold = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    parser = load(arguments.model, device=arguments.device)
    rows = Rows(read_environment(choose_device(arguments.device)), {"model": arguments.model, "split": arguments.split})
    for temperature in arguments.temperatures:
        forecasts = [
            forecast
            for document in progress(gold, f"temperature {temperature}", len(gold))
            for forecast in make_forecasts(at_temperature(parser, temperature), document)
        ]
        levels = sorted({forecast.level for forecast in forecasts})
        of_levels = {level: error([one for one in forecasts if one.level == level]) for level in levels}
        rows.add(
            temperature=temperature,
            units=len(forecasts),
            ece=error(forecasts),
            **{f"ece_{level}": value for level, value in of_levels.items()},
            mean_p=fmean(one.p for one in forecasts),
            precision=fmean(one.is_right for one in forecasts),
        )
    if arguments.plot:
        plot(forecasts, arguments.plot)


def at_temperature(parser: Parser, temperature: float) -> Parser:
    """The same parser with another temperature."""
    finder = parser.finder
    if not isinstance(finder, ChartFinder):
        raise UsageError(f"--model: only a chart gives probabilities, was: {parser.config.name!r}")
    changed = ChartFinder(finder.scorers, replace(finder.settings, temperature=temperature))
    return replace(parser, finder=changed, config=replace(parser.config, temperature=temperature))


def make_forecasts(parser: Parser, gold: Document) -> list[Forecast]:
    """The units of a document's parse."""
    right = {(unit.start, unit.stop) for unit in units(binarise(require_tree(gold)))}
    sentences, paragraphs = gold.sentence_of_edus(), gold.paragraph_of_edus()
    found = require_tree(parser.parse(replace(gold, constraints=())))
    forecasts = []
    for unit in units(found):
        first, last = unit.start, unit.stop - 1
        if sentences[first] == sentences[last]:
            level = "sentence"
        else:
            level = "paragraph" if paragraphs[first] == paragraphs[last] else "document"
        forecasts.append(Forecast(unit.probability or 0.0, (unit.start, unit.stop) in right, level))
    return forecasts


def bins(forecasts: Sequence[Forecast]) -> list[Bin]:
    """Classes of equal width, those without any unit left out."""
    members: list[list[Forecast]] = [[] for _ in range(N_CLASSES)]
    for one in forecasts:
        members[min(int(one.p * N_CLASSES), N_CLASSES - 1)].append(one)
    return [Bin(len(own), fmean(one.p for one in own), fmean(one.is_right for one in own)) for own in members if own]


def error(forecasts: Sequence[Forecast]) -> float:
    """The expected calibration error."""
    return sum(one.size * abs(one.mean_p - one.share_right) for one in bins(forecasts)) / len(forecasts)


def plot(forecasts: Sequence[Forecast], path: Path) -> None:
    """Draw what was right against what was expected; the area of a point is the share of units."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#c8ccd2")
    found = bins(forecasts)
    axes.plot([one.mean_p for one in found], [one.share_right for one in found], color="#3b76af")
    sizes = [900 * one.size / len(forecasts) for one in found]
    axes.scatter([one.mean_p for one in found], [one.share_right for one in found], sizes, color="#3b76af", alpha=0.6)
    axes.set(xlabel="probability of a unit", ylabel="share in the gold tree", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"{len(forecasts)} units, ECE {error(forecasts):.3f}", fontsize="medium")
    figure.savefig(path)


if __name__ == "__main__":
    main()
