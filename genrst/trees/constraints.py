"""Constraints on trees: those that users put on single spans, and what follows from them for a whole document.

    {"edus": [1, 4], "relation": "contingency", "nuclearity": "SN"}
    {"edus": [0, 2], "is_unit": false}

If no unit of a binary tree crosses [i, j), then [i, j) is a unit of the tree. So forced units, and sentences that are
kept whole, become spans that no unit may cross. In addition there are spans that must not be units, and labels that are
not allowed. `genrst.chart.scoring` and `genrst.rnng.transitions` search for trees under constraints.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import and_
from types import MappingProxyType
from typing import Literal, TypeAlias

from genrst.errors import ConstraintError, UsageError, guess
from genrst.trees.node import Tree, units

Span: TypeAlias = tuple[int, int]
"""A range of EDUs: start (inclusive) and stop (exclusive)."""
Label: TypeAlias = tuple[str, str]
"""A relation and a nuclearity."""
KeepWhole: TypeAlias = Literal["nothing", "sentences", "paragraphs"]
"""The spans of text that trees keep whole."""

NUCLEARITIES = ("NN", "NS", "SN")
KEYS = ("edus", "is_unit", "relation", "nuclearity")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on the EDUs from `start` to `stop` (exclusive): whether they are a unit, and with which label."""

    start: int
    stop: int
    is_unit: bool = True
    relation: str | None = None
    nuclearity: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise UsageError(f"edus must be [start, stop] with 0 <= start < stop, got [{self.start}, {self.stop}]")
        if self.nuclearity not in (None, *NUCLEARITIES):
            raise UsageError(f"nuclearity must be one of {', '.join(NUCLEARITIES)}, got {self.nuclearity}")
        if not self.is_unit and self.is_labelled:
            raise UsageError(f"a constraint with is_unit false must not have a label, got {self}")

    @property
    def span(self) -> tuple[int, int]:
        """The span of the constraint."""
        return self.start, self.stop

    @property
    def is_labelled(self) -> bool:
        """Whether the relation or the nuclearity of the unit is constrained."""
        return self.relation is not None or self.nuclearity is not None

    def as_dict(self) -> dict[str, object]:
        """Return the JSON object that `constraint_from_dict` reads."""
        values = ([self.start, self.stop], None if self.is_unit else False, self.relation, self.nuclearity)
        return {key: value for key, value in zip(KEYS, values, strict=True) if value is not None}

    def __str__(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False)


def constraint_from_dict(data: object) -> Constraint:
    """Build a constraint from its JSON object, such as `{"edus": [1, 4], "relation": "cause", "nuclearity": "SN"}`."""
    if not isinstance(data, dict):
        raise UsageError(f"a constraint must be an object with the key edus, got {_shown(data)}")
    if unknown := [key for key in data if key not in KEYS]:
        raise UsageError(f"a key of a constraint must be one of {', '.join(KEYS)}, got {_shown(unknown[0])}")
    edus = data.get("edus")
    # Python counts a bool as an int, but it is not a valid EDU number.
    if not isinstance(edus, list | tuple) or [type(edu) for edu in edus] != [int, int]:
        raise UsageError(f"edus must be two numbers, [start, stop], got {_shown(edus)}")
    is_unit = data.get("is_unit", True)
    if not isinstance(is_unit, bool):
        raise UsageError(f"is_unit must be true or false, got {_shown(is_unit)}")
    for key in ("relation", "nuclearity"):
        if key in data and not isinstance(data[key], str):
            raise UsageError(f"{key} must be a string, got {_shown(data[key])}")
    return Constraint(edus[0], edus[1], is_unit, data.get("relation"), data.get("nuclearity"))


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def frozen(tree: Tree) -> list[Constraint]:
    """Return constraints that fix a binary tree, or a part of one, as it is."""
    return [Constraint(one.start, one.stop, True, one.relation, one.nuclearity) for one in units(tree)]


@dataclass(frozen=True, slots=True)
class ResolvedConstraints:
    """The constraints on the trees of a whole document."""

    forced: tuple[Span, ...] = ()
    """The spans that must be units. No two of them cross."""
    forbidden: frozenset[Span] = frozenset()
    """The spans that must not be units."""
    labels: dict[Span, tuple[bool, ...]] = field(default_factory=dict)
    """The allowed labels of each unit whose label is constrained, as a mask over all labels."""


UNCONSTRAINED = ResolvedConstraints()


def resolve_constraints(
    n_edus: int,
    constraints: Sequence[Constraint],
    labels: Sequence[Label],
    groups: Sequence[Sequence[int]] = (),
    classes: Mapping[str, str] = MappingProxyType({}),
) -> ResolvedConstraints:
    """Combine constraints with the sentences or paragraphs that are kept whole.

    `classes` maps relations to their coarse classes; a constraint may name either. Each of `groups` holds a number per
    EDU, such as that of its paragraph or sentence. Earlier groups take precedence over later ones, and constraints over
    all groups: a group that a stronger span cuts, or that is forbidden, need not stay whole.

    Raises `ConstraintError` if constraints contradict each other. Only the search for a tree can tell whether forbidden
    spans leave any tree; it raises `none_left` if they do not.
    """
    for one in constraints:
        _check_one(n_edus, one)
    merged = _merge(constraints)
    forced = [one for one in merged.values() if one.is_unit]
    _check_crossing(forced)
    forbidden = frozenset(span for span, one in merged.items() if not one.is_unit)
    masks = {span: label_mask(one, labels, classes) for span, one in merged.items() if one.is_labelled}
    whole = {one.span for one in forced}
    for numbers in groups:
        whole |= {span for span in _uncut(n_edus, _group_spans(numbers), whole) if span not in forbidden}
    return ResolvedConstraints(tuple(sorted(whole)), forbidden, masks)


def _check_one(n_edus: int, constraint: Constraint) -> None:
    is_single = constraint.stop - constraint.start == 1
    if constraint.stop > n_edus:
        raise ConstraintError(f"edus must be within the document of {n_edus} EDUs, got {constraint}")
    if not constraint.is_unit and (is_single or constraint.span == (0, n_edus)):
        raise ConstraintError(f"single EDUs and the whole document must be units, got {constraint}")
    if is_single and constraint.is_labelled:
        raise ConstraintError(f"a single EDU must not have a label, got {constraint}")


def _merge(constraints: Iterable[Constraint]) -> dict[Span, Constraint]:
    """Merge the constraints on the same span."""
    merged: dict[Span, Constraint] = {}
    for one in constraints:
        other = merged.setdefault(one.span, one)
        if one.is_unit != other.is_unit:
            raise ConstraintError(f"a span must not be both forced and forbidden, got {other} and {one}")
        for mine, its in ((one.relation, other.relation), (one.nuclearity, other.nuclearity)):
            if None not in (mine, its) and mine != its:
                raise ConstraintError(f"a unit must not have two labels, got {other} and {one}")
        relation, nuclearity = other.relation or one.relation, other.nuclearity or one.nuclearity
        merged[one.span] = replace(other, relation=relation, nuclearity=nuclearity)
    return merged


def _check_crossing(forced: Iterable[Constraint]) -> None:
    outer: list[Constraint] = []
    for one in sorted(forced, key=lambda one: (one.start, -one.stop)):
        while outer and outer[-1].stop <= one.start:
            outer.pop()
        if outer and outer[-1].stop < one.stop:
            raise ConstraintError(f"units must not cross, got {outer[-1]} and {one}")
        outer.append(one)


def _group_spans(groups: Sequence[int]) -> list[Span]:
    """Return the span of each run of equal numbers."""
    for before, after in pairwise(groups):
        if after < before:
            raise ConstraintError(f"the sentence numbers of EDUs must not decrease, got {after} after {before}")
    edges = [edu for edu in range(len(groups)) if edu == 0 or groups[edu] != groups[edu - 1]]
    return list(pairwise([*edges, len(groups)]))


def _uncut(n_edus: int, spans: Iterable[Span], stronger: Iterable[Span]) -> list[Span]:
    """Return the spans that do not cross any of the stronger ones."""
    first_stop, last_start = around(n_edus, stronger)
    return [(start, stop) for start, stop in spans if first_stop[start] >= stop and last_start[stop] <= start]


def around(n_edus: int, spans: Iterable[Span]) -> tuple[list[int], list[int]]:
    """Return, for each boundary between EDUs, the first stop and the last start of the spans around it.

    A span that crosses none of the given spans lies between the two.
    """
    first_stop, last_start = [n_edus] * (n_edus + 1), [0] * (n_edus + 1)
    for start, stop in spans:
        for place in range(start + 1, stop):
            first_stop[place] = min(first_stop[place], stop)
            last_start[place] = max(last_start[place], start)
    return first_stop, last_start


def label_mask(
    constraint: Constraint, labels: Sequence[Label], classes: Mapping[str, str] = MappingProxyType({})
) -> tuple[bool, ...]:
    """Return a mask of the labels that satisfy a constraint, which may name a relation or a class."""
    names = {relation: (relation, classes.get(relation, relation)) for relation, _ in labels}
    # Fine names are known even if only their classes are labels, because a finder has replaced them.
    known = {*classes, *(name for of_relation in names.values() for name in of_relation)}
    if constraint.relation is not None and constraint.relation not in known:
        rule = f"relation must be one of {', '.join(sorted(known))}, got {constraint}"
        raise ConstraintError(f"{rule}{guess(constraint.relation, known)}")
    of_relation = [constraint.relation in (None, *names[relation]) for relation, _ in labels]
    fits = [constraint.nuclearity in (None, nuclearity) for _, nuclearity in labels]
    mask = tuple(map(and_, of_relation, fits))
    if not any(mask):
        possible = {nuclearity for (_, nuclearity), is_right in zip(labels, of_relation, strict=True) if is_right}
        of = f" of {constraint.relation}" if constraint.relation else ""
        raise ConstraintError(f"nuclearity{of} must be one of {', '.join(sorted(possible))}, got {constraint}")
    return mask


def none_left(constraints: ResolvedConstraints) -> ConstraintError:
    """Return the error for forbidden spans that leave no tree."""
    listed = ", ".join(f"[{start}, {stop}]" for start, stop in sorted(constraints.forbidden))
    return ConstraintError(f"no tree is possible without the units {listed}; forbid fewer units")
