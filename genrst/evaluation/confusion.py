"""Which relations are taken for which: a matrix over the Parseval constituents."""

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genrst.evaluation.constituents import Comparison
from genrst.evaluation.report import Evaluation
from genrst.trees.positions import Position

_Cell: TypeAlias = tuple[str | None, str | None]
"""A gold and a predicted relation; None where one side has no constituent with this span."""


@dataclass(frozen=True)
class Confusion:
    """How often a gold relation (row) was predicted as another (column) where the spans are the same.

    The last column counts gold constituents whose span was missed, the last row predicted ones whose span is spurious.
    So a row adds up to the gold constituents of a relation, a column to the predicted ones.
    """

    relations: tuple[str, ...]
    matrix: npt.NDArray[np.int64]

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""
        return (*self.relations, "spurious")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.relations, "missed")


def count_confusions(evaluation: Evaluation) -> Confusion:
    """The confusion matrix of all documents; relations stand in alphabetical order."""
    cells: Counter[_Cell] = Counter()
    for document in evaluation.documents:
        cells.update(_match(document.parseval))
    relations = tuple(sorted({name for cell in cells for name in cell if name is not None}))
    places: dict[str | None, int] = {name: place for place, name in enumerate((*relations, None))}
    matrix = np.zeros((len(places), len(places)), dtype=np.int64)
    for (gold, predicted), number in cells.items():
        matrix[places[gold], places[predicted]] = number
    return Confusion(relations, matrix)


def _match(comparison: Comparison) -> list[_Cell]:
    """The gold and predicted relation of each span; empty EDUs can give a span to several units, matched in order."""
    predicted: dict[Position, list[str]] = {}
    for constituent in comparison.predicted:
        predicted.setdefault(constituent.span, []).append(constituent.relation)
    cells: list[_Cell] = []
    for constituent in comparison.gold:
        candidates = predicted.get(constituent.span)
        cells.append((constituent.relation, candidates.pop(0) if candidates else None))
    cells.extend((None, relation) for relations in predicted.values() for relation in relations)
    return cells
