"""What somebody demands of a tree: that some EDUs are a unit, perhaps with a label, or that they are none.

    {"edus": [1, 4], "relation": "contingency", "nuclearity": "SN"}
    {"edus": [0, 2], "is_unit": false}

Not here: how trees are found that are as demanded (`genrst.chart`).
"""

import json
from dataclasses import dataclass

from genrst.errors import UsageError
from genrst.trees.node import Tree, units

NUCLEARITIES = ("NN", "NS", "SN")
KEYS = ("edus", "is_unit", "relation", "nuclearity")


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
    def span(self) -> tuple[int, int]:
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


def frozen(tree: Tree) -> list[Constraint]:
    """The constraints that keep a binary tree, or a part of one, as it is."""
    return [Constraint(one.start, one.stop, True, one.relation, one.nuclearity) for one in units(tree)]
