"""Everything that a run has found, as the files `results.json`, `table3.md` and `table4.md`."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.environment import Environment
from experiments.paper_tables.scores import Comparison, Spread, System, choose_best, compare, count_errors
from experiments.paper_tables.tables import model_table, search_table
from genrst.io import write_atomically


@dataclass(frozen=True)
class Report:
    """All systems on dev, for Table 3, and those of Table 4 on their split."""

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
        """Write all files; `notes` say how the results came about."""
        about = f"Ours: {describe_documents(self.corpus, self.on_dev[0])}"
        table3 = search_table(self.on_dev, self.searches_compared, about)
        about = f"Ours: {describe_documents(self.corpus, self.final[0])}"
        table4 = model_table(self.final, self._is_best, self.models_compared, about)
        write_atomically(folder / "table3.md", table3)
        write_atomically(folder / "table4.md", table4)
        write_atomically(folder / "results.json", json.dumps({**notes, **self._as_dict()}, indent=1, default=_plain))

    def _as_dict(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "environments": list_environments([*self.on_dev, *self.final]),
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


def describe_documents(corpus: str, system: System) -> str:
    """What a system was evaluated on, by which measure, and with which seeds."""
    n_edus = sum(example.n_edus for example in system.split.examples)
    seeds = [str(result.seed) for result in system.results]
    spread = f"mean ± sample standard deviation of the seeds {', '.join(seeds)}" if seeds[1:] else f"seed {seeds[0]}"
    return (
        f"{corpus}, {system.split.name}, {len(system.split.examples)} documents, {n_edus:,} EDUs; gold EDUs,\n"
        f"Parseval micro F1; {spread}.\n"
    )


def list_environments(systems: Iterable[System]) -> list[Environment]:
    """All code and machines behind some systems."""
    return list(dict.fromkeys(result.environment for system in systems for result in system.results))


def _system(system: System, systems: Sequence[System]) -> dict[str, Any]:
    """A system as plain data; lists have a value of each seed."""
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
