"""Which predicted document belongs to which gold one."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeAlias

from genrst.errors import GenrstError
from genrst.trees.analysis import Analysis

Pair: TypeAlias = tuple[Analysis, Analysis]

_N_SHOWN = 5


def pair_by_id(gold: Sequence[Analysis], predicted: Sequence[Analysis]) -> list[Pair]:
    """The pairs (gold, predicted) in the order of the gold documents; every id must be there once on both sides.

    One document against one other needs no names.
    """
    if len(gold) == len(predicted) == 1:
        return [(gold[0], predicted[0])]
    gold_ids = Counter(analysis.id for analysis in gold)
    predicted_ids = Counter(analysis.id for analysis in predicted)
    problems = {
        "twice in gold": [id for id, number in gold_ids.items() if number > 1],
        "twice in predicted": [id for id, number in predicted_ids.items() if number > 1],
        "only in gold": [id for id in gold_ids if id not in predicted_ids],
        "only in predicted": [id for id in predicted_ids if id not in gold_ids],
    }
    if any(problems.values()):
        was = "; ".join(f"{problem} {_some(ids)}" for problem, ids in problems.items() if ids)
        raise GenrstError(f"gold and predicted documents must have the same ids, each once, was: {was}")
    if not gold_ids:
        raise GenrstError("there must be at least one document to score, was: none")
    predicted_by_id = {analysis.id: analysis for analysis in predicted}
    return [(analysis, predicted_by_id[analysis.id]) for analysis in gold]


def _some(ids: Collection[str]) -> str:
    shown = ", ".join(list(ids)[:_N_SHOWN])
    return shown if len(ids) <= _N_SHOWN else f"{shown} and {len(ids) - _N_SHOWN} more"
