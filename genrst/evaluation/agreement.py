"""How far two annotators agree beyond chance: Cohen's kappa of nuclearity and relation where both have a unit.

Only units of binary trees over the same text are compared, as Parseval pairs them: what is a unit at all is the matter
of its F1. Not here: scores (`report`).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from genrst.evaluation.report import Evaluation

AGREEMENTS = ("nuclearity", "relation")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many shared units there are, and in what share both sides have one label."""

    n_shared: int
    observed: float
    kappa: float | None
    """1 for full agreement, 0 for that of chance; None where chance alone would agree always."""

    def as_dict(self) -> dict[str, float | None]:
        """Plain data for JSON."""
        return {"shared": self.n_shared, "observed": self.observed, "kappa": self.kappa}


def agree(pairs: Sequence[tuple[Hashable, Hashable]]) -> Agreement:
    """Cohen's kappa (1960) of pairs of labels.

    >>> agree([("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15).kappa
    0.4
    """
    n = len(pairs)
    if not n:
        return Agreement(0, 0.0, None)
    n_same = sum(left == right for left, right in pairs)
    lefts, rights = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    # In whole numbers, so that full agreement is exactly 1.
    by_chance = sum(count * rights[label] for label, count in lefts.items())
    rest = n * n - by_chance
    return Agreement(n, n_same / n, (n * n_same - by_chance) / rest if rest else None)


def agreements(evaluation: Evaluation) -> dict[str, Agreement]:
    """The agreement of gold and predicted units in each of `AGREEMENTS`, over all documents."""
    pairs = [
        (gold, predicted)
        for document in evaluation.documents
        for gold, predicted in document.parseval.pairs()
        if gold is not None and predicted is not None
    ]
    return {
        "nuclearity": agree([(gold.nuclearity, predicted.nuclearity) for gold, predicted in pairs]),
        "relation": agree([(gold.relation, predicted.relation) for gold, predicted in pairs]),
    }
