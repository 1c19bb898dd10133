"""What a user or a frozen part of a tree demands of a document's trees, as masks and scores of the chart.

Not here: the sums over the trees that are left (`genrst.chart.inference`), and files of constraints.

A binary tree without any span that crosses [i, j) has the unit [i, j). So all demands on the structure are spans that
must not be units, and with −inf as the score of these the distribution over trees is conditioned exactly.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from genrst.chart.inference import Span, Unit, has_tree
from genrst.errors import UsageError

NUCLEARITIES = ("NN", "NS", "SN")
KEYS = ("edus", "is_unit", "relation", "nuclearity")
Label = tuple[str, str]
"""A relation and a nuclearity."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """The EDUs from `start` to before `stop` are a unit, perhaps with a label; or they are not."""

    start: int
    stop: int
    is_unit: bool = True
    relation: str | None = None
    nuclearity: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise UsageError(f"edus must be [start, stop] with 0 <= start < stop, was: [{self.start}, {self.stop}]")
        if self.nuclearity not in (None, *NUCLEARITIES):
            raise UsageError(f"nuclearity must be one of {', '.join(NUCLEARITIES)}, was: {self.nuclearity}")
        if not self.is_unit and self.is_labelled:
            raise UsageError(f"what is not a unit must not have a label, was: {self}")

    @property
    def span(self) -> Span:
        """The span that it is about."""
        return self.start, self.stop

    @property
    def is_labelled(self) -> bool:
        """Whether it says something about the label of the unit."""
        return self.relation is not None or self.nuclearity is not None

    def as_dict(self) -> dict[str, object]:
        """The JSON object that `constraint_from_dict` reads."""
        values = ([self.start, self.stop], None if self.is_unit else False, self.relation, self.nuclearity)
        return {key: value for key, value in zip(KEYS, values, strict=True) if value is not None}

    def __str__(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False)


def constraint_from_dict(data: object) -> Constraint:
    """A constraint from its JSON object, such as `{"edus": [1, 4], "relation": "cause", "nuclearity": "SN"}`."""
    if not isinstance(data, dict):
        raise UsageError(f"a constraint must be an object with edus, was: {_shown(data)}")
    if unknown := [key for key in data if key not in KEYS]:
        raise UsageError(f"the keys of a constraint must be among {', '.join(KEYS)}, was: {_shown(unknown[0])}")
    edus = data.get("edus")
    # A bool is an int for Python, but no number of an EDU.
    if not isinstance(edus, list | tuple) or [type(edu) for edu in edus] != [int, int]:
        raise UsageError(f"edus must be two numbers, [start, stop], was: {_shown(edus)}")
    is_unit = data.get("is_unit", True)
    if not isinstance(is_unit, bool):
        raise UsageError(f"is_unit must be true or false, was: {_shown(is_unit)}")
    for key in ("relation", "nuclearity"):
        if key in data and not isinstance(data[key], str):
            raise UsageError(f"{key} must be a string, was: {_shown(data[key])}")
    return Constraint(edus[0], edus[1], is_unit, data.get("relation"), data.get("nuclearity"))


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def frozen(units: Iterable[tuple[Unit, Label]]) -> list[Constraint]:
    """The constraints that keep a labelled subtree as it is. Its splits follow: its children are units, too."""
    return [Constraint(i, j, relation=relation, nuclearity=nuclearity) for (i, _, j), (relation, nuclearity) in units]


def uncut(n_edus: int, spans: Iterable[Span]) -> Tensor:
    """The spans that cross none of the given ones: each lies inside, around or beside all of them.

    Shape:
        mask: (N, N), boolean
    """
    ends = torch.arange(n_edus + 1)
    # How far a span may go that starts or stops at each place: not out of the narrowest span around that place.
    last_stop, first_start = torch.full_like(ends, n_edus), torch.zeros_like(ends)
    for start, stop in spans:
        last_stop[start + 1 : stop].clamp_(max=stop)
        first_start[start + 1 : stop].clamp_(min=start)
    starts, stops = ends[:, None], ends[None]
    return (starts < stops) & (stops <= last_stop[:, None]) & (starts >= first_start)


def _group_spans(groups: Sequence[int]) -> list[Span]:
    """The span of each run of equal numbers."""
    for before, after in pairwise(groups):
        if after < before:
            raise UsageError(f"the numbers of EDUs' sentences must not decrease, was: {after} after {before}")
    edges = [edu for edu in range(len(groups)) if edu == 0 or groups[edu] != groups[edu - 1]]
    return list(pairwise([*edges, len(groups)]))


def whole(groups: Sequence[int]) -> Tensor:
    """The spans that cut no sentence, or no paragraph, given the number of each EDU's.

    Shape:
        mask: (N, N), boolean
    """
    return uncut(len(groups), _group_spans(groups))


def _check_one(n_edus: int, constraint: Constraint) -> None:
    is_single = constraint.stop - constraint.start == 1
    if constraint.stop > n_edus:
        raise UsageError(f"edus must be within the {n_edus} of the document, was: {constraint}")
    if not constraint.is_unit and (is_single or constraint.span == (0, n_edus)):
        raise UsageError(f"single EDUs and the whole document must be units, was: {constraint}")
    if is_single and constraint.is_labelled:
        raise UsageError(f"a single EDU must not have a label, was: {constraint}")


def _merge(constraints: Iterable[Constraint]) -> dict[Span, Constraint]:
    """One constraint for each span."""
    merged: dict[Span, Constraint] = {}
    for one in constraints:
        other = merged.setdefault(one.span, one)
        if one.is_unit != other.is_unit:
            raise UsageError(f"a span must not be both forced and forbidden, was: {other} and {one}")
        for mine, its in ((one.relation, other.relation), (one.nuclearity, other.nuclearity)):
            if None not in (mine, its) and mine != its:
                raise UsageError(f"a unit must not have two labels, was: {other} and {one}")
        relation, nuclearity = other.relation or one.relation, other.nuclearity or one.nuclearity
        merged[one.span] = replace(other, relation=relation, nuclearity=nuclearity)
    return merged


def _check_crossing(forced: Iterable[Constraint]) -> None:
    around: list[Constraint] = []
    for one in sorted(forced, key=lambda one: (one.start, -one.stop)):
        while around and around[-1].stop <= one.start:
            around.pop()
        if around and around[-1].stop < one.stop:
            raise UsageError(f"units must not cross, was: {around[-1]} and {one}")
        around.append(one)


def allowed_spans(n_edus: int, constraints: Sequence[Constraint], groups: Sequence[int] | None = None) -> Tensor:
    """The spans that may be units of a document, after a check that they leave it a tree.

    `groups` has the number of each EDU's sentence (see `whole`). Constraints are stronger: a sentence that a forced
    span cuts, or that is itself forbidden, need not be whole.

    Shape:
        mask: (N, N), boolean; true for single EDUs, false for what is no span
    """
    if groups is not None and len(groups) != n_edus:
        raise UsageError(f"sentences must be given for all {n_edus} EDUs, was: {len(groups)} numbers")
    for one in constraints:
        _check_one(n_edus, one)
    merged = _merge(constraints).values()
    forced, forbidden = [one for one in merged if one.is_unit], [one for one in merged if not one.is_unit]
    _check_crossing(forced)
    mask = uncut(n_edus, (one.span for one in forced))
    for one in forbidden:
        mask[one.span] = False
    mask &= uncut(n_edus, (span for span in _group_spans(groups or ()) if mask[span]))
    # Without forbidden spans some tree is always left: nothing that has to be a unit crosses anything else.
    if forbidden and not has_tree(mask):
        listed = ", ".join(map(str, forbidden[:5])) + ", …" * (len(forbidden) > 5)
        also = " and whole sentences" if groups else ""
        raise UsageError(f"constraints must leave a tree, was: no tree is left by {listed}{also}")
    return mask


def check_constraints(n_edus: int, constraints: Sequence[Constraint], groups: Sequence[int] | None = None) -> None:
    """Raise `UsageError` if no tree of a document can be as demanded. Its line names the constraints at fault."""
    allowed_spans(n_edus, constraints, groups)


def label_mask(constraint: Constraint, labels: Sequence[Label]) -> Tensor:
    """The labels that fit a constraint. Shape: (L,), boolean."""
    relations = {relation for relation, _ in labels}
    if constraint.relation is not None and constraint.relation not in relations:
        raise UsageError(f"relation must be one of {', '.join(sorted(relations))}, was: {constraint}")
    of_relation = [constraint.relation in (None, relation) for relation, _ in labels]
    fits = [constraint.nuclearity in (None, nuclearity) for _, nuclearity in labels]
    mask = torch.tensor(of_relation) & torch.tensor(fits)
    if not mask.any():
        possible = {nuclearity for (_, nuclearity), is_right in zip(labels, of_relation, strict=True) if is_right}
        of = f" of {constraint.relation}" if constraint.relation else ""
        raise UsageError(f"nuclearity{of} must be one of {', '.join(sorted(possible))}, was: {constraint}")
    return mask


def label_masks(constraints: Iterable[Constraint], labels: Sequence[Label]) -> dict[Span, Tensor]:
    """The labels that fit, for every span whose label is demanded. Shape: (L,) each, boolean."""
    return {span: label_mask(one, labels) for span, one in _merge(constraints).items() if one.is_labelled}


def constrained_labels(label_logp: Tensor, masks: Mapping[Span, Tensor]) -> Tensor:
    """The log-probabilities of labels given that those of some spans fit (`label_masks`).

    Shape:
        label_logp, result: (…, N, N, N, L)
    """
    label_logp = label_logp.clone()
    for (i, j), mask in masks.items():
        rows = label_logp[..., i + 1 : j, i, j, :]
        fitting = rows.masked_fill(~mask.to(rows.device), -math.inf)
        total = fitting.logsumexp(-1, keepdim=True)
        rows.copy_(fitting - total.masked_fill(total == -math.inf, 0.0))
    return label_logp


def constrained_scores(
    scores: Tensor, allowed: Tensor, label_logp: Tensor | None = None, masks: Mapping[Span, Tensor] | None = None
) -> Tensor:
    """The scores of the trees that are as demanded: their distribution is the given one, conditioned exactly.

    A unit weighs as much less as its labels fit worse (`label_masks`). With labels of their own, as in k best lists,
    such scores go with `constrained_labels`.

    Shape:
        scores, result: (…, N, N, N)
        allowed: (N, N), from `allowed_spans`
        label_logp: (…, N, N, N, L), needed if there are masks
    """
    scores = scores.masked_fill(~allowed.to(scores.device), -math.inf)
    for (i, j), mask in (masks or {}).items():
        if label_logp is None:
            raise UsageError("log-probabilities of labels must be given where labels are demanded, was: none")
        rows = label_logp[..., i + 1 : j, i, j, :]
        scores[..., i + 1 : j, i, j] += rows.masked_fill(~mask.to(rows.device), -math.inf).logsumexp(-1)
    return scores
