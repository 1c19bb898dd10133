"""What the results of several seeds say: scores with their spread, search errors, and which differences are real."""

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
"""By rounding, a search and the training code give the same tree log-probabilities that differ by up to this."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean over seeds and the sample standard deviation, which one seed does not have."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of some values."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.deviation is None else f"{self.mean:.1f} ± {self.deviation:.1f}"


@dataclass(frozen=True)
class System:
    """A model with a search: its results on the same documents, one of each seed."""

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
        """The same for each level of the text."""
        tables = [evaluation.levels() or {} for evaluation in self.evaluations]
        return {
            level: {aspect: [100 * table[level][aspect].f1 for table in tables] for aspect in ASPECTS}
            for level in LEVELS
        }


def make_systems(results: Iterable[Result], split: Split) -> list[System]:
    """Group results by model and search, in the order in which these first appear."""
    groups: dict[tuple[str, Search], list[Result]] = {}
    for result in results:
        groups.setdefault((result.model, result.search), []).append(result)
    return [System(sorted(group, key=lambda result: result.seed), split) for group in groups.values()]


def choose_best(systems: Sequence[System], *, by_kind: bool) -> list[System]:
    """Of every model, or of every model and kind of search, the system with the highest mean F; the first of equals."""
    best: dict[tuple[str, str], System] = {}
    for system in systems:
        key = system.model, system.search.kind if by_kind else ""
        if key not in best or fmean(system.scores["F"]) > fmean(best[key].scores["F"]):
            best[key] = system
    return list(best.values())


@dataclass(frozen=True, slots=True)
class SearchErrors:
    """In how many documents of each seed a tree is known that the search itself would have preferred."""

    gold: list[int]
    """The gold tree."""
    another: list[int]
    """The tree of another search."""


def count_errors(system: System, systems: Iterable[System]) -> SearchErrors:
    """The search errors of a system, given all that are known."""
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
    """A search that gives words no weight has not scored them."""
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
    """Two systems, the first minus the second, by aspect."""

    first: System
    second: System
    joined: dict[str, Difference]
    """All seeds together."""
    seeds: dict[int, dict[str, Difference]]


def compare(first: System, second: System) -> Comparison:
    """Test the difference of two systems, for all seeds joined and seed by seed."""
    pairs = list(zip(first.evaluations, second.evaluations, strict=True))
    seeds = [result.seed for result in first.results]
    joined = {aspect: difference(first.evaluations, second.evaluations, aspect) for aspect in ASPECTS}
    by_seed = {
        seed: {aspect: difference([one], [other], aspect) for aspect in ASPECTS}
        for seed, (one, other) in zip(seeds, pairs, strict=True)
    }
    return Comparison(first, second, joined, by_seed)


def difference(first: Sequence[Evaluation], second: Sequence[Evaluation], aspect: str) -> Difference:
    """Paired bootstrap and approximate randomisation over documents, on micro F1.

    A document's counts are those of all seeds together: its trees under several seeds are alike, so they are no
    documents of their own.
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
