"""The results of a run, as the files `results.json`, `table3.md` and `table4.md`.

The tables show the paper's numbers beside ours. Scores and tests are computed in `scores.py`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.paper_tables.scores import (
    Comparison,
    Difference,
    Spread,
    System,
    choose_best,
    compare,
    count_errors,
)
from experiments.runs import Search
from genrst.evaluation.parseval import ASPECTS, LEVELS
from genrst.io import write_atomically

PAPER_BEAMS = (10, 20, 40, 80)
PAPER_SEARCHES = {
    "S": {"word": (58.3, 58.4, 58.4, 60.8), "bag": (66.4, 67.3, 67.0, 67.6)},
    "N": {"word": (50.3, 50.5, 50.5, 51.8), "bag": (56.1, 56.4, 56.2, 56.9)},
    "R": {"word": (43.1, 43.2, 43.2, 43.7), "bag": (45.4, 46.8, 46.5, 46.9)},
    "F": {"word": (42.0, 42.3, 42.3, 42.9), "bag": (44.7, 45.5, 45.3, 45.8)},
}
"""The paper's Table 3, on its development documents of RST-DT."""

PAPER_MODELS = {"discriminative": (65.2, 54.9, 42.8, 42.4), "generative": (67.1, 57.4, 45.5, 45.0)}
"""The paper's own rows of Table 4, on the test documents of RST-DT."""

SEARCH_NOTES = """\
Rows *paper* are its development documents of RST-DT. *Gold is likelier* and *another is likelier* are search errors:
the share of documents, in percent, in which the gold tree, or the tree of another search of this run, has a higher
score than the tree found, by the score that the search maximises. *At the bound* are trees that need the whole stack
that bag-level search allows, so that there may be a better one beyond it.
"""

MODEL_NOTES = """\
Rows *paper* are the test documents of RST-DT. Of each kind of search the beam and weight are those with the highest
mean F on dev; **bold** is the best search of a model, also by mean F on dev.
"""

LEVEL_NAMES = dict(zip(LEVELS, ("inside sentences", "inside paragraphs", "across paragraphs"), strict=True))

TESTS = """\
Differences are of micro F1, in points, the first system minus the second. Both tests are paired, two-sided and over
documents, with 10,000 rounds: the bootstrap, which also gives the 95% interval, and approximate randomisation. *All
seeds* adds up a document's counts over the seeds, so the number of documents stays what it is; how much seeds vary is
not in the p-values but in the ± of the scores. *By seed* has the difference of each seed and its p by approximate
randomisation.
"""


@dataclass(frozen=True)
class Report:
    """All systems on dev, for Table 3, and the systems of Table 4 on their split."""

    corpus: str
    on_dev: Sequence[System]
    final: Sequence[System]

    @cached_property
    def best(self) -> list[System]:
        """The best system of each model on dev."""
        return choose_best(self.on_dev, by_kind=False)

    @cached_property
    def searches_compared(self) -> list[Comparison]:
        """Bag-level minus word-level search, for each beam and weight."""
        return [compare(*pair) for pair in _bag_and_word(self.on_dev)]

    @cached_property
    def models_compared(self) -> list[Comparison]:
        """Each generative system minus the best discriminative one, and bag-level minus word-level search."""
        baselines = [system for system in self.final if self._is_best(system) and system.model == "discriminative"]
        generative = [system for system in self.final if system.model == "generative"]
        pairs = [(system, baseline) for system in generative for baseline in baselines]
        kinds = {system.search.kind: system for system in generative}
        pairs += [(kinds["bag"], kinds["word"])] if {"bag", "word"} <= kinds.keys() else []
        return [compare(*pair) for pair in pairs]

    def _is_best(self, system: System) -> bool:
        return (system.model, system.search) in [(one.model, one.search) for one in self.best]

    def write(self, folder: Path, notes: Mapping[str, Any]) -> None:
        """Write all files; `notes` describe the settings and the trainings."""
        about = f"Ours: {_describe_documents(self.corpus, self.on_dev[0])}"
        table3 = search_table(self.on_dev, self.searches_compared, about)
        about = f"Ours: {_describe_documents(self.corpus, self.final[0])}"
        table4 = model_table(self.final, self._is_best, self.models_compared, about)
        write_atomically(folder / "table3.md", table3)
        write_atomically(folder / "table4.md", table4)
        write_atomically(folder / "results.json", json.dumps({**notes, **self._as_dict()}, indent=1, default=_plain))

    def _as_dict(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "environments": list(
                dict.fromkeys(one.environment for system in [*self.on_dev, *self.final] for one in system.results)
            ),
            "best_on_dev": [{"model": system.model, "search": system.search} for system in self.best],
            "dev": [_system(system, self.on_dev) for system in self.on_dev],
            "table4": [_system(system, self.final) for system in self.final],
            "significance": {
                "table3": [_comparison(one) for one in self.searches_compared],
                "table4": [_comparison(one) for one in self.models_compared],
            },
        }


def _bag_and_word(systems: Sequence[System]) -> Iterator[tuple[System, System]]:
    for bag in systems:
        for word in systems:
            settings = [(system.search.beam, system.search.word_weight) for system in (bag, word)]
            if (bag.search.kind, word.search.kind) == ("bag", "word") and settings[0] == settings[1]:
                yield bag, word


def _describe_documents(corpus: str, system: System) -> str:
    """Describe the documents, the metric and the seeds of a system."""
    n_edus = sum(example.n_edus for example in system.split.examples)
    seeds = [str(result.seed) for result in system.results]
    spread = f"mean ± sample standard deviation of the seeds {', '.join(seeds)}" if seeds[1:] else f"seed {seeds[0]}"
    return (
        f"{corpus}, {system.split.name}, {len(system.split.examples)} documents, {n_edus:,} EDUs; gold EDUs,\n"
        f"Parseval micro F1; {spread}.\n"
    )


def _system(system: System, systems: Sequence[System]) -> dict[str, Any]:
    """Return a system as plain data; lists have one value per seed."""
    errors = count_errors(system, systems)
    return {
        "model": system.model,
        "search": system.search,
        "split": system.split.name,
        "documents": len(system.split.examples),
        "seeds": [result.seed for result in system.results],
        "scores": system.scores,
        "spread": {aspect: Spread.of(values) for aspect, values in system.scores.items()},
        "levels": system.levels,
        "gold_is_likelier": errors.gold,
        "another_is_likelier": errors.another,
        "bounded": [result.n_bounded for result in system.results],
        "seconds": [result.seconds for result in system.results],
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    systems = {"first": comparison.first, "second": comparison.second}
    names = {place: {"model": system.model, "search": system.search} for place, system in systems.items()}
    return {**names, "all_seeds": comparison.joined, "by_seed": comparison.seeds}


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def search_table(systems: Sequence[System], comparisons: Sequence[Comparison], about: str) -> str:
    """Format Table 3: word-level and bag-level search by beam, for each weight of words."""
    shown = [system for system in systems if system.search.kind in ("word", "bag")]
    parts = [f"# Table 3: search with the generative model\n\n{about}{SEARCH_NOTES}"]
    for weight in dict.fromkeys(system.search.word_weight for system in shown):
        parts.append(f"## Words with weight {weight:g}\n\n{_beams_table(shown, systems, weight)}")
    return "\n".join([*parts, *_significance(comparisons)])


def _beams_table(shown: Sequence[System], systems: Sequence[System], weight: float) -> str:
    of_weight = [system for system in shown if system.search.word_weight == weight]
    beams = sorted({system.search.beam for system in of_weight})
    names = list(dict.fromkeys(_describe_kind(system.search) for system in of_weight))

    def cells(name: str, show: str) -> list[str]:
        found = sorted(
            (one for one in of_weight if _describe_kind(one.search) == name), key=lambda one: one.search.beam
        )
        return [_beam_cell(one, show, systems) for one in found]

    rows = [["", "search", *(f"k = {beam}" for beam in beams)]]
    for aspect in ASPECTS:
        for name in names:
            if weight == 1 and name in ("word-level", "bag-level"):
                paper = _paper_cells(aspect, name.removesuffix("-level"), beams)
                rows.append([aspect, f"{name}, paper", *paper])
            rows.append([aspect, name, *cells(name, aspect)])
    for error in ("gold", "another"):
        rows += [[f"{error} is likelier", name, *cells(name, error)] for name in names]
    rows += [["at the bound", name, *cells(name, "bounded")] for name in names if name.startswith("bag")]
    return _markdown_table(rows, n_text=2)


def _paper_cells(aspect: str, kind: str, beams: Sequence[int]) -> list[str]:
    known = dict(zip(PAPER_BEAMS, PAPER_SEARCHES[aspect][kind], strict=True))
    return [str(known.get(beam, "–")) for beam in beams]


def _beam_cell(system: System, show: str, systems: Sequence[System]) -> str:
    """Format a score, or the share of documents with a kind of search error or with a tree at the stack limit."""
    if show in ASPECTS:
        return str(Spread.of(system.scores[show]))
    bounded = [result.n_bounded for result in system.results]
    counts = bounded if show == "bounded" else getattr(count_errors(system, systems), show)
    return str(Spread.of([100 * n / len(system.split.examples) for n in counts]))


def model_table(
    systems: Sequence[System], is_best: Callable[[System], bool], comparisons: Sequence[Comparison], about: str
) -> str:
    """Format Table 4: the generative and the discriminative model, with the best search of each in bold."""

    def label(system: System) -> str:
        name = f"{system.model}, {_describe_search(system.search)}"
        return f"**{name}**" if is_best(system) else name

    rows = [["", *ASPECTS]]
    rows += [[f"{model}, paper", *map(str, scores)] for model, scores in PAPER_MODELS.items()]
    rows += [[label(system), *_score_cells(system.scores)] for system in systems]
    levels = [["level", "", *ASPECTS]]
    levels += [
        [LEVEL_NAMES[level], label(system), *_score_cells(system.levels[level])]
        for level in LEVELS
        for system in systems
    ]
    parts = [
        f"# Table 4: the generative and the discriminative model\n\n{about}{MODEL_NOTES}",
        _markdown_table(rows, n_text=1),
        "## By level of the text\n",
        _markdown_table(levels, n_text=2),
    ]
    return "\n".join([*parts, *_significance(comparisons)])


def _describe_search(search: Search) -> str:
    """Describe a search."""
    if search.kind == "greedy":
        return "greedy"
    weight = f", weight {search.word_weight:g}" if search.word_weight else ""
    more = "".join(f", {name} = {value}" for name, value in search.unusual.items())
    return f"{search.kind}-level, k = {search.beam}{weight}{more}"


def _describe_kind(search: Search) -> str:
    """Describe a search without its beam and weight."""
    return ", ".join([f"{search.kind}-level", *(f"{name} = {value}" for name, value in search.unusual.items())])


def _score_cells(scores: dict[str, list[float]]) -> list[str]:
    """Format S, N, R and F with their spread."""
    return [str(Spread.of(scores[aspect])) for aspect in ASPECTS]


def _significance(comparisons: Sequence[Comparison]) -> list[str]:
    if not comparisons:
        return []
    heads = ["systems", "score", "all seeds", "95% interval", "p (bootstrap)", "p (randomisation)", "by seed"]
    rows = [heads]
    for comparison in comparisons:
        first, second = (f"{one.model} {_describe_search(one.search)}" for one in (comparison.first, comparison.second))
        for aspect, joined in comparison.joined.items():
            by_seed = [by_aspect[aspect] for by_aspect in comparison.seeds.values()]
            seeds = "; ".join(f"{one.points:+.1f} (p {_show_p_value(one.randomisation_p)})" for one in by_seed)
            rows.append([f"{first} − {second}", aspect, *_difference_cells(joined), seeds])
    return [f"## Significance\n\n{TESTS}", _markdown_table(rows, n_text=2)]


def _difference_cells(difference: Difference) -> list[str]:
    """Format a difference, its interval and its p-values."""
    return [
        f"{difference.points:+.1f}",
        f"{difference.low:+.1f} to {difference.high:+.1f}",
        _show_p_value(difference.bootstrap_p),
        _show_p_value(difference.randomisation_p),
    ]


def _show_p_value(value: float) -> str:
    """Format a p-value with three digits, the precision of 10,000 rounds."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _markdown_table(rows: Sequence[Sequence[str]], n_text: int) -> str:
    """Format a table whose first columns are text and whose other columns are numbers."""
    rule = ["---"] * n_text + ["--:"] * (len(rows[0]) - n_text)
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))
