"""Statistics of a corpus: counts, relations, and the shapes of its trees.

`genrst.cli.verbs.info` shows them as a table. The measures of a single tree are in `genrst.trees.measures`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from genrst.document import Document
from genrst.trees.binarise import binarise
from genrst.trees.measures import depth, left_branching, skew, stack_depth
from genrst.trees.node import Tree, units

_SHAPES: dict[str, Callable[[Tree], float]] = {
    "depth": depth,
    "stack_depth": stack_depth,
    "left_branching": left_branching,
    "skew": skew,
}


@dataclass(slots=True)
class Statistics:
    """Counts over documents. Relations and shapes are those of the binarised trees."""

    edus: list[int] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    relations: Counter[tuple[str, str]] = field(default_factory=Counter)
    widths: Counter[int] = field(default_factory=Counter)
    shapes: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, document: Document) -> None:
        """Add a document to the counts."""
        self.edus.append(len(document.edus))
        self.totals.update(
            tokens=len(document.tokens),
            sentences=len(document.sentences),
            paragraphs=len(document.paragraphs),
            characters=len(document.text or ""),
            signals=len(document.signals),
            secondary_edges=len(document.secondary_edges),
        )
        if document.tree is None:
            return
        self.totals["trees"] += 1
        self.widths.update(len(unit.children) for unit in units(document.tree))
        tree = binarise(document.tree)
        self.relations.update((unit.relation, unit.nuclearity) for unit in units(tree))
        for name, measure in _SHAPES.items():
            self.shapes[name].append(measure(tree))

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers for JSON, named after the rows of the text table."""
        relations: dict[str, dict[str, int]] = {}
        for (relation, nuclearity), count in sorted(self.relations.items()):
            relations.setdefault(relation, {})[nuclearity] = count
        names = ("tokens", "sentences", "paragraphs", "characters", "signals", "secondary_edges")
        return {
            "documents": len(self.edus),
            "trees": self.totals["trees"],
            "edus": sum(self.edus),
            "edus_per_document": _summary(self.edus),
            **{name: self.totals[name] for name in names},
            **{name: _summary(self.shapes[name]) for name in _SHAPES},
            "children_per_unit": {str(width): count for width, count in sorted(self.widths.items())},
            "relations": dict(sorted(relations.items(), key=lambda item: -sum(item[1].values()))),
        }


def count(documents: Iterable[Document]) -> Statistics:
    """Return the statistics of documents."""
    statistics = Statistics()
    for document in documents:
        statistics.add(document)
    return statistics


def _summary(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"min": min(values), "median": round(median(values), 4), "mean": round(mean(values), 4), "max": max(values)}
