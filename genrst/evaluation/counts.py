"""Counts of matching items, and the scores computed from them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall and F1, as fractions."""

    precision: float
    recall: float
    f1: float

    def as_dict(self) -> dict[str, float]:
        """Return the scores by name."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, gold items and predicted items.

    A score of 0/0 counts as 0, unless neither side has any items, as in documents of one EDU: then all scores are 1.
    """

    tp: int = 0
    n_gold: int = 0
    n_pred: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.tp + other.tp, self.n_gold + other.n_gold, self.n_pred + other.n_pred)

    @property
    def precision(self) -> float:
        """The share of predicted items that are correct."""
        return self._share(self.tp, self.n_pred)

    @property
    def recall(self) -> float:
        """The share of gold items that were found."""
        return self._share(self.tp, self.n_gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self._share(2 * self.tp, self.n_gold + self.n_pred)

    @property
    def is_empty(self) -> bool:
        """Whether neither side has any items."""
        return not self.n_gold and not self.n_pred

    @property
    def scores(self) -> Scores:
        """Return precision, recall and F1."""
        return Scores(self.precision, self.recall, self.f1)

    def as_dict(self) -> dict[str, float]:
        """Return the counts and the scores by name."""
        return {"tp": self.tp, "n_gold": self.n_gold, "n_pred": self.n_pred, **self.scores.as_dict()}

    def _share(self, part: int, whole: int) -> float:
        return part / whole if whole else float(self.is_empty)


def count_matches(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> Counts:
    """Count the matching items of a document. A repeated item is matched as often as both sides have it.

    Only empty EDUs lead to repeated items.
    """
    return Counts((Counter(gold) & Counter(predicted)).total(), len(gold), len(predicted))


def micro(counts: Iterable[Counts]) -> Counts:
    """Return the summed counts of all documents."""
    return sum(counts, Counts())


def macro(counts: Sequence[Counts]) -> Scores:
    """Return the unweighted mean of the documents' precision, recall and F1."""
    n_documents = max(len(counts), 1)
    return Scores(
        sum(count.precision for count in counts) / n_documents,
        sum(count.recall for count in counts) / n_documents,
        sum(count.f1 for count in counts) / n_documents,
    )


def percent(fraction: float) -> str:
    """Format a fraction as a percentage with one decimal.

    >>> percent(0.4567)
    '45.7'
    """
    return f"{100 * fraction:.1f}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two annotators beyond chance, on the units that both have (F1 measures the units themselves).

    `observed` is the share of these units on whose label both annotators agree.
    """

    n_shared: int
    observed: float
    kappa: float | None
    """Cohen's kappa: 1 for full agreement, 0 for agreement by chance; None if chance alone would always agree."""

    def as_dict(self) -> dict[str, float | None]:
        """Return plain data for JSON."""
        return {"shared": self.n_shared, "observed": self.observed, "kappa": self.kappa}


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> Agreement:
    """Compute the agreement of pairs of labels, by Cohen (1960).

    >>> cohen_kappa([("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15).kappa
    0.4
    """
    n = len(pairs)
    if not n:
        return Agreement(0, 0.0, None)
    n_same = sum(left == right for left, right in pairs)
    lefts, rights = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    # Integers, so that full agreement is exactly 1.
    by_chance = sum(count * rights[label] for label, count in lefts.items())
    rest = n * n - by_chance
    return Agreement(n, n_same / n, (n * n_same - by_chance) / rest if rest else None)
