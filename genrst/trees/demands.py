"""What is demanded of a document's trees, checked and put in order: whole units, forbidden spans, labels.

A binary tree without any span that crosses [i, j) has the unit [i, j). So units that are demanded, and sentences that
are to stay whole, are spans that no unit may cross; what is left are spans that must not be units, and labels that must
not be chosen. Not here: how trees are found that are so, in a chart (`genrst.chart.scoring`) or step by step
(`genrst.rnng.transitions.legal`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import and_

import numpy as np
from numpy.typing import NDArray

from genrst.errors import ConstraintError
from genrst.trees.constraint import Constraint

Span = tuple[int, int]
"""The EDUs from the first number to before the second."""

Label = tuple[str, str]
"""A relation and a nuclearity."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What the trees of a document have to be like."""

    whole: tuple[Span, ...] = ()
    """The spans that must be units: none crosses another."""
    forbidden: frozenset[Span] = frozenset()
    """The spans that must not be units."""
    labels: dict[Span, tuple[bool, ...]] = field(default_factory=dict)
    """Which labels a unit may have, where that is demanded."""


NOTHING = Demands()


def make_demands(
    n_edus: int, constraints: Sequence[Constraint], labels: Sequence[Label], groups: Sequence[Sequence[int]] = ()
) -> Demands:
    """The demands of constraints, and of sentences or paragraphs that are to stay whole.

    `groups` has the number of each EDU's paragraph, say, and that of its sentence: what comes first is stronger, and
    constraints are strongest. What a stronger span cuts, or what is itself forbidden, need not stay whole. Raises
    `ConstraintError` where constraints contradict each other. Whether forbidden spans leave a tree at all is known only
    when trees are found: `none_left` is the error then.
    """
    for one in constraints:
        _check_one(n_edus, one)
    merged = _merge(constraints)
    forced = [one for one in merged.values() if one.is_unit]
    _check_crossing(forced)
    forbidden = frozenset(span for span, one in merged.items() if not one.is_unit)
    masks = {span: label_mask(one, labels) for span, one in merged.items() if one.is_labelled}
    whole = {one.span for one in forced}
    for numbers in groups:
        whole |= {span for span in _uncut(n_edus, _group_spans(numbers), whole) if span not in forbidden}
    return Demands(tuple(sorted(whole)), forbidden, masks)


def _check_one(n_edus: int, constraint: Constraint) -> None:
    is_single = constraint.stop - constraint.start == 1
    if constraint.stop > n_edus:
        raise ConstraintError(f"edus must be within the {n_edus} of the document, was: {constraint}")
    if not constraint.is_unit and (is_single or constraint.span == (0, n_edus)):
        raise ConstraintError(f"single EDUs and the whole document must be units, was: {constraint}")
    if is_single and constraint.is_labelled:
        raise ConstraintError(f"a single EDU must not have a label, was: {constraint}")


def _merge(constraints: Iterable[Constraint]) -> dict[Span, Constraint]:
    """One constraint for each span."""
    merged: dict[Span, Constraint] = {}
    for one in constraints:
        other = merged.setdefault(one.span, one)
        if one.is_unit != other.is_unit:
            raise ConstraintError(f"a span must not be both forced and forbidden, was: {other} and {one}")
        for mine, its in ((one.relation, other.relation), (one.nuclearity, other.nuclearity)):
            if None not in (mine, its) and mine != its:
                raise ConstraintError(f"a unit must not have two labels, was: {other} and {one}")
        relation, nuclearity = other.relation or one.relation, other.nuclearity or one.nuclearity
        merged[one.span] = replace(other, relation=relation, nuclearity=nuclearity)
    return merged


def _check_crossing(forced: Iterable[Constraint]) -> None:
    outer: list[Constraint] = []
    for one in sorted(forced, key=lambda one: (one.start, -one.stop)):
        while outer and outer[-1].stop <= one.start:
            outer.pop()
        if outer and outer[-1].stop < one.stop:
            raise ConstraintError(f"units must not cross, was: {outer[-1]} and {one}")
        outer.append(one)


def _group_spans(groups: Sequence[int]) -> list[Span]:
    """The span of each run of equal numbers."""
    for before, after in pairwise(groups):
        if after < before:
            raise ConstraintError(f"the numbers of EDUs' sentences must not decrease, was: {after} after {before}")
    edges = [edu for edu in range(len(groups)) if edu == 0 or groups[edu] != groups[edu - 1]]
    return list(pairwise([*edges, len(groups)]))


def _uncut(n_edus: int, spans: Iterable[Span], stronger: Iterable[Span]) -> list[Span]:
    """The spans that none of the stronger ones cuts: starts outside and stops inside, or the other way round."""
    first_stop, last_start = around(n_edus, stronger)
    return [(start, stop) for start, stop in spans if first_stop[start] >= stop and last_start[stop] <= start]


def around(n_edus: int, spans: Iterable[Span]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of the spans around each place, the first stop and the last start: what crosses none of them lies between.

    Shape: (EDUs + 1) each
    """
    first_stop, last_start = np.full(n_edus + 1, n_edus), np.zeros(n_edus + 1, dtype=np.int64)
    for start, stop in spans:
        inner = slice(start + 1, stop)
        np.minimum(first_stop[inner], stop, out=first_stop[inner])
        np.maximum(last_start[inner], start, out=last_start[inner])
    return first_stop, last_start


def label_mask(constraint: Constraint, labels: Sequence[Label]) -> tuple[bool, ...]:
    """Which labels fit a constraint."""
    relations = {relation for relation, _ in labels}
    if constraint.relation is not None and constraint.relation not in relations:
        raise ConstraintError(f"relation must be one of {', '.join(sorted(relations))}, was: {constraint}")
    of_relation = [constraint.relation in (None, relation) for relation, _ in labels]
    fits = [constraint.nuclearity in (None, nuclearity) for _, nuclearity in labels]
    mask = tuple(map(and_, of_relation, fits))
    if not any(mask):
        possible = {nuclearity for (_, nuclearity), is_right in zip(labels, of_relation, strict=True) if is_right}
        of = f" of {constraint.relation}" if constraint.relation else ""
        raise ConstraintError(f"nuclearity{of} must be one of {', '.join(sorted(possible))}, was: {constraint}")
    return mask


def none_left(demands: Demands) -> ConstraintError:
    """The error where forbidden spans leave no tree."""
    listed = ", ".join(f"[{start}, {stop}]" for start, stop in sorted(demands.forbidden))
    return ConstraintError(f"constraints must leave a tree, was: none without the units {listed}")
