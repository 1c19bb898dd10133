"""What changes give over the configuration as it is, as lines of JSON and as a table in Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from experiments.paper_tables.report import describe_documents, list_environments
from experiments.paper_tables.scores import Difference, Spread, System, difference_of
from experiments.paper_tables.tables import describe, markdown_table, score_cells, show_p_value
from genrst.evaluation.parseval import ASPECTS

BASE = "base"
"""The name of the configuration without a change."""

COMPARED = ("S", "F")

NOTES = """\
Differences to base are in points, for the seeds that both have, a document's counts added up over them; p is two-sided,
by approximate randomisation over documents (results.jsonl has the paired bootstrap, too). How much seeds vary is not in
p but in the ±, and with many changes some p are small by chance.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A system, and by how much it is better than base; nothing is known of base itself."""

    system: System
    over_base: Mapping[str, Difference]

    def as_line(self) -> str:
        """All that is known, as JSON."""
        system = self.system
        row: dict[str, object] = {"change": system.model, "search": asdict(system.search)}
        row |= {"seeds": [result.seed for result in system.results]}
        row |= {"split": system.split.name, "documents": len(system.split.examples)}
        for aspect, scores in system.scores.items():
            row[aspect] = {**asdict(Spread.of(scores)), "by_seed": scores}
        row["over_base"] = {aspect: asdict(difference) for aspect, difference in self.over_base.items()}
        row["environments"] = [asdict(environment) for environment in list_environments([system])]
        return json.dumps(row) + "\n"

    def cells(self) -> list[str]:
        """A row of the table."""
        name = self.system.model if self.system.model == BASE else f"`{self.system.model}`"
        differences = [cell for aspect in COMPARED for cell in _difference_cells(self.over_base.get(aspect))]
        return [name, describe(self.system.search), *score_cells(self.system.scores), *differences]


def _difference_cells(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "", ""
    return f"{difference.points:+.1f}", show_p_value(difference.randomisation_p)


def compare_with_base(systems: Sequence[System]) -> list[Row]:
    """A row for each system, ordered by kinds of search. Of each kind the first search of a change is compared."""
    firsts: dict[tuple[str, str], System] = {}
    for system in systems:
        firsts.setdefault((system.model, system.search.kind), system)
    rows = []
    for system in sorted(systems, key=lambda system: system.search.kind):
        is_compared = system.model != BASE and system is firsts[system.model, system.search.kind]
        rows.append(Row(system, _differences(system, firsts[BASE, system.search.kind]) if is_compared else {}))
    return rows


def _differences(system: System, base: System) -> dict[str, Difference]:
    """Tests over the seeds that both have."""
    of_base = {result.seed: evaluation for result, evaluation in zip(base.results, base.evaluations, strict=True)}
    own = zip(system.results, system.evaluations, strict=True)
    pairs = [(evaluation, of_base[result.seed]) for result, evaluation in own if result.seed in of_base]
    if not pairs:
        return {}
    first, second = zip(*pairs, strict=True)
    return {aspect: difference_of(first, second, aspect) for aspect in COMPARED}


def as_table(rows: Sequence[Row], about: str, corpus: str) -> str:
    """The table; `about` is the configuration that is changed."""
    heads = ["", "search", *ASPECTS, *(head for aspect in COMPARED for head in (f"{aspect} − base", "p"))]
    environments = "".join(
        f"* commit {one.commit}, {one.hardware}, torch {one.torch}\n"
        for one in list_environments(row.system for row in rows)
    )
    return "\n".join(
        [
            f"# What changes give\n\nBase: {about}; {describe_documents(corpus, rows[0].system)}{NOTES}",
            markdown_table([heads, *(row.cells() for row in rows)], n_text=2),
            f"Searched with\n\n{environments}",
        ]
    )
