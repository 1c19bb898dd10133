"""Statistics over several seeds: scores with their spread, search errors, and significance tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev

from experiments.data import Split
from experiments.runs import Result, Search
from genrst.evaluation.counts import Counts, micro
from genrst.evaluation.parseval import ASPECTS, LEVELS
from genrst.evaluation.report import Evaluation
from genrst.evaluation.significance import approximate_randomisation, paired_bootstrap

TOLERANCE = 1e-3
"""The maximum rounding difference between the log-probabilities of search and of the training code."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean over seeds and the sample standard deviation, which is None for one seed."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of values."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.deviation is None else f"{self.mean:.1f} ± {self.deviation:.1f}"


@dataclass(frozen=True)
class System:
    """A model with a search: its results on the same documents, one per seed."""

    results: Sequence[Result]
    split: Split

    @property
    def model(self) -> str:
        """generative or discriminative."""
        return self.results[0].model

    @property
    def search(self) -> Search:
        """The search."""
        return self.results[0].search

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """The evaluation of each seed."""
        return [self.split.evaluate([tree.actions for tree in result.trees]) for result in self.results]

    @cached_property
    def scores(self) -> dict[str, list[float]]:
        """S, N, R and F of each seed, in percent."""
        tables = [evaluation.micro() for evaluation in self.evaluations]
        return {aspect: [100 * table[aspect].f1 for table in tables] for aspect in ASPECTS}

    @cached_property
    def levels(self) -> dict[str, dict[str, list[float]]]:
        """S, N, R and F of each seed, for each level of the text."""
        tables = [evaluation.levels() or {} for evaluation in self.evaluations]
        return {
            level: {aspect: [100 * table[level][aspect].f1 for table in tables] for aspect in ASPECTS}
            for level in LEVELS
        }


def make_systems(results: Iterable[Result], split: Split) -> list[System]:
    """Group results by model and search, in order of first appearance."""
    groups: dict[tuple[str, Search], list[Result]] = {}
    for result in results:
        groups.setdefault((result.model, result.search), []).append(result)
    return [System(sorted(group, key=lambda result: result.seed), split) for group in groups.values()]


def choose_best(systems: Sequence[System], *, by_kind: bool) -> list[System]:
    """Return the system with the highest mean F for each model, or for each model and kind of search."""
    best: dict[tuple[str, str], System] = {}
    for system in systems:
        key = system.model, system.search.kind if by_kind else ""
        if key not in best or fmean(system.scores["F"]) > fmean(best[key].scores["F"]):
            best[key] = system
    return list(best.values())


@dataclass(frozen=True, slots=True)
class SearchErrors:
    """The number of documents of each seed with a known tree that scores higher than the tree found."""

    gold: list[int]
    """Documents in which the gold tree scores higher."""
    another: list[int]
    """Documents in which the tree of another search scores higher."""


def count_errors(system: System, systems: Iterable[System]) -> SearchErrors:
    """Count the search errors of a system, given the results of all systems."""
    weight = system.search.word_weight
    others = [other for other in systems if other.model == system.model and _can_judge(weight, other.search)]
    gold, another = [], []
    for result in system.results:
        same_seed = [match for other in others for match in other.results if match.seed == result.seed]
        documents = range(len(result.trees))
        gold.append(sum(_prefers_gold(result, document) for document in documents))
        another.append(sum(any(_prefers(result, other, document) for other in same_seed) for document in documents))
    return SearchErrors(gold, another)


def _can_judge(weight: float, other: Search) -> bool:
    """Whether another search has the scores needed: a search without word weights does not score words."""
    return not weight or bool(other.word_weight)


def _prefers_gold(result: Result, document: int) -> bool:
    found, weight = result.trees[document], result.search.word_weight
    if found.gold_logp is None:
        return False
    return found.gold_logp.weighted(weight) > found.logp.weighted(weight) + TOLERANCE


def _prefers(result: Result, other: Result, document: int) -> bool:
    found, known, weight = result.trees[document], other.trees[document], result.search.word_weight
    is_likelier = known.logp.weighted(weight) > found.logp.weighted(weight) + TOLERANCE
    return is_likelier and known.actions != found.actions


@dataclass(frozen=True, slots=True)
class Difference:
    """One F1 minus another, in points, with its 95% interval and two-sided p-values."""

    points: float
    low: float
    high: float
    bootstrap_p: float
    randomisation_p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two systems, the first minus the second, by aspect."""

    first: System
    second: System
    joined: dict[str, Difference]
    """The differences over all seeds together."""
    seeds: dict[int, dict[str, Difference]]


def compare(first: System, second: System) -> Comparison:
    """Test the difference between two systems, for all seeds together and seed by seed."""
    pairs = list(zip(first.evaluations, second.evaluations, strict=True))
    seeds = [result.seed for result in first.results]
    joined = {aspect: difference(first.evaluations, second.evaluations, aspect) for aspect in ASPECTS}
    by_seed = {
        seed: {aspect: difference([one], [other], aspect) for aspect in ASPECTS}
        for seed, (one, other) in zip(seeds, pairs, strict=True)
    }
    return Comparison(first, second, joined, by_seed)


def difference(first: Sequence[Evaluation], second: Sequence[Evaluation], aspect: str) -> Difference:
    """Test a difference of micro F1 by paired bootstrap and approximate randomisation over documents.

    The counts of a document are summed over seeds. The trees of several seeds are similar, so they must not count as
    independent documents.
    """
    pair = _joined_counts(first, aspect), _joined_counts(second, aspect)
    bootstrap = paired_bootstrap(*pair)
    points = micro(pair[0]).f1 - micro(pair[1]).f1
    return Difference(
        100 * points,
        100 * bootstrap.low,
        100 * bootstrap.high,
        bootstrap.p_value,
        approximate_randomisation(*pair),
    )


def _joined_counts(evaluations: Sequence[Evaluation], aspect: str) -> list[Counts]:
    by_seed = [evaluation.document_counts("parseval", aspect) for evaluation in evaluations]
    return [micro(counts) for counts in zip(*by_seed, strict=True)]
