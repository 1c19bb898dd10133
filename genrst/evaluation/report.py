"""What an evaluation found, document by document, and every score that can be read off it.

Not here: how it is found (`genrst.evaluation.evaluate`) and how it is shown (`genrst.evaluation.tables`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from genrst.errors import UsageError
from genrst.evaluation.constituents import ASPECTS, Comparison
from genrst.evaluation.counts import Counts, Scores, macro, micro
from genrst.evaluation.levels import LEVELS, Layout

TreeMetric: TypeAlias = Literal["parseval", "rst_parseval"]
Metric: TypeAlias = TreeMetric | Literal["segmentation"]
TREE_METRICS: tuple[TreeMetric, ...] = ("parseval", "rst_parseval")


@dataclass(frozen=True)
class DocumentResult:
    """The comparisons of one document; `layout` is None where its sentences are unknown."""

    id: str
    parseval: Comparison
    rst_parseval: Comparison
    segmentation: Counts
    layout: Layout | None

    @cached_property
    def relations(self) -> dict[str, dict[str, Counts]]:
        """The Parseval counts of each relation, for R and F."""
        parts = self.parseval.split(lambda constituent: constituent.relation)
        return {relation: {aspect: part.counts[aspect] for aspect in "RF"} for relation, part in parts.items()}

    @cached_property
    def levels(self) -> dict[str, dict[str, Counts]] | None:
        """The Parseval counts of each level of the text, by the gold layout."""
        if self.layout is None:
            return None
        parts = self.parseval.split(self.layout.level)
        return {level: part.counts for level, part in parts.items()}


@dataclass(frozen=True)
class Evaluation:
    """The results of all documents; `labels` names the label set."""

    labels: str
    documents: Sequence[DocumentResult]

    def document_counts(self, metric: Metric = "parseval", aspect: str = "F") -> list[Counts]:
        """The counts of each document; segmentation has no aspects and ignores the second argument."""
        if metric == "segmentation":
            return [document.segmentation for document in self.documents]
        if metric not in TREE_METRICS or aspect not in ASPECTS:
            raise UsageError(
                f"a score must be of {', '.join(TREE_METRICS)} or segmentation, and of {', '.join(ASPECTS)}, "
                f"was: {metric} {aspect}"
            )
        comparisons: list[Comparison] = [getattr(document, metric) for document in self.documents]
        return [comparison.counts[aspect] for comparison in comparisons]

    def micro(self, metric: TreeMetric = "parseval") -> dict[str, Counts]:
        """The counts of all documents together, for each of S, N, R, F."""
        return {aspect: micro(self.document_counts(metric, aspect)) for aspect in ASPECTS}

    def macro(self, metric: TreeMetric = "parseval") -> dict[str, Scores]:
        """The mean scores of the documents, for each of S, N, R, F."""
        return {aspect: macro(self.document_counts(metric, aspect)) for aspect in ASPECTS}

    def segmentation(self) -> Counts:
        """The counts of EDU starts."""
        return micro(self.document_counts("segmentation"))

    def relations(self) -> dict[str, dict[str, Counts]]:
        """The Parseval counts (R and F) of each relation, the most frequent in gold first."""
        totals = _sum_tables([document.relations for document in self.documents])
        return dict(sorted(totals.items(), key=lambda item: (-item[1]["R"].n_gold, item[0])))

    def levels(self) -> dict[str, dict[str, Counts]] | None:
        """The Parseval counts of each level of the text; None unless the sentences of all gold documents are known."""
        tables = [document.levels for document in self.documents]
        totals = _sum_tables([table for table in tables if table is not None])
        if None in tables:
            return None
        nothing = dict.fromkeys(ASPECTS, Counts())
        return {level: totals.get(level, nothing) for level in LEVELS}

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: plain dictionaries and numbers, scores as fractions."""
        result: dict[str, Any] = {"documents": len(self.documents), "labels": self.labels}
        for metric in TREE_METRICS:
            result[metric] = {"micro": _as_dicts(self.micro(metric)), "macro": _as_dicts(self.macro(metric))}
        levels = self.levels()
        return result | {
            "segmentation": self.segmentation().as_dict(),
            "per_relation": {relation: _as_dicts(counts) for relation, counts in self.relations().items()},
            "levels": None if levels is None else {level: _as_dicts(counts) for level, counts in levels.items()},
        }


def _sum_tables(tables: Sequence[dict[str, dict[str, Counts]]]) -> dict[str, dict[str, Counts]]:
    totals: dict[str, dict[str, Counts]] = {}
    for table in tables:
        for row, cells in table.items():
            total = totals.setdefault(row, {})
            for aspect, counts in cells.items():
                total[aspect] = total.get(aspect, Counts()) + counts
    return totals


def _as_dicts(cells: dict[str, Counts] | dict[str, Scores]) -> dict[str, dict[str, float]]:
    return {aspect: scores.as_dict() for aspect, scores in cells.items()}
