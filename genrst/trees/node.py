"""The tree: immutable leaves and units, and the ways to walk over them (section 2 of the paper).

A leaf is only the number of an EDU; its text is in the `Document` (`genrst.document`).

Trees in real corpora are up to 2,000 levels deep, so nothing here recurses: equality, hashing, printing and pickling
are loops. Other modules use `fold`, `preorder` and `postorder` instead of recursion.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypeVar

from genrst.errors import TreeError

SPAN = "span"
"""The label of a lone nucleus in RST files, where the relation belongs to the satellite."""

JOINT = "joint"
"""The default relation of nuclei, for files that do not name it."""

Result = TypeVar("Result")
Certainty: TypeAlias = tuple[float | None, float | None, bool]
"""The probabilities of a unit and of its label, and whether the unit is only assumed."""
UNKNOWN: Certainty = (None, None, False)


@dataclass(frozen=True, slots=True, repr=False)
class Leaf:
    """An elementary discourse unit, given by its number in the document (from 0)."""

    edu: int

    def __post_init__(self) -> None:
        if self.edu < 0:
            raise TreeError(f"an EDU number must be 0 or more, got {self.edu}")

    @property
    def start(self) -> int:
        """The number of the first EDU."""
        return self.edu

    @property
    def stop(self) -> int:
        """One more than the number of the last EDU."""
        return self.edu + 1

    def __repr__(self) -> str:
        return str(self.edu)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unit:
    """Two or more adjacent discourse units in a rhetorical relation.

    `nuclearity` has a letter per child. With one nucleus and one satellite (`NS`, `SN`), `relation` is that of the
    satellite; with nuclei only (`NN`, `NNN`, …), it is the relation that they share.

    In files, a unit may have several satellites, each with its own relation. `relations` holds a label per child: the
    relation of a satellite, the shared relation of the nuclei, or `span` for a lone nucleus. It is derived from
    `relation` unless given. If it is given, `relation` is that of the satellite that attaches last (see
    `attachment_order`).

        Unit("justify", "NS", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))

               justify
          N ┌─────┴─────┐ S
            0      attribution
                S ┌─────┴─────┐ N
                  1           2
    """

    relation: str
    nuclearity: str
    children: "tuple[Tree, ...]"
    relations: tuple[str, ...] = ()
    probability: float | None = None
    """The probability that these EDUs are a unit, according to the model that made the tree."""
    label_probability: float | None = None
    """The probability of the relation and nuclearity, given that these EDUs are a unit."""
    is_assumed: bool = False
    """Whether the unit was imposed on the model, for example because sentences are kept whole."""
    start: int = field(init=False)
    stop: int = field(init=False)
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        _check_shape(self.nuclearity, self.children)
        lone_nucleus = self.nuclearity.count("N") == 1
        relations = self.relations or tuple(
            SPAN if letter == "N" and lone_nucleus else self.relation for letter in self.nuclearity
        )
        if len(relations) != len(self.children):
            raise TreeError(f"relations must have one entry per child ({len(self.children)}), got {relations}")
        for name in ("probability", "label_probability"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise TreeError(f"{name} must be between 0 and 1, got {value}")
        set_once = object.__setattr__
        set_once(self, "children", tuple(self.children))
        set_once(self, "relations", tuple(relations))
        set_once(self, "start", self.children[0].start)
        set_once(self, "stop", self.children[-1].stop)
        set_once(self, "_hash", hash((relations, self.nuclearity, *map(hash, self.children))))

    @classmethod
    def from_relations(cls, relations: Sequence[str], nuclearity: str, children: "Sequence[Tree]") -> "Unit":
        """Build a unit from a label per child, as RST files give them."""
        _check_shape(nuclearity, children)
        satellites = attachment_order(nuclearity)
        relation = relations[satellites[-1] if satellites else 0]
        return cls(relation, nuclearity, tuple(children), tuple(relations))

    @property
    def certainty(self) -> Certainty:
        """The probabilities and `is_assumed`, to be passed on when a unit is rebuilt."""
        return self.probability, self.label_probability, self.is_assumed

    @property
    def is_multinuclear(self) -> bool:
        """Whether the unit joins nuclei only."""
        return "S" not in self.nuclearity

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unit):
            return NotImplemented
        pending: list[tuple[Tree, Tree]] = [(self, other)]
        while pending:
            left, right = pending.pop()
            if left is right:
                continue
            if isinstance(left, Unit) and isinstance(right, Unit):
                if (left._hash, left.nuclearity, left.relations) != (right._hash, right.nuclearity, right.relations):
                    return False
                pending.extend(zip(left.children, right.children, strict=True))
            elif left != right:
                return False
        return True

    def __repr__(self) -> str:
        return fold(self, repr, lambda unit, parts: f"({unit.relation} {unit.nuclearity} {' '.join(parts)})")

    def __reduce__(self) -> "tuple[Callable[[list[_Record]], Tree], tuple[list[_Record]]]":
        # Pickle would recurse into the children. A flat list avoids that.
        records: list[_Record] = [
            node.edu if isinstance(node, Leaf) else (node.relation, node.nuclearity, node.relations, node.certainty)
            for node in postorder(self)
        ]
        return _from_records, (records,)

    def __deepcopy__(self, memo: object) -> "Unit":
        return self


Tree: TypeAlias = Leaf | Unit
"""A tree, represented by its topmost node: a unit, or a leaf if the document has a single EDU."""


def _check_shape(nuclearity: str, children: Sequence[Tree]) -> None:
    if len(children) < 2:
        raise TreeError(f"a unit must have at least two children, got {len(children)}")
    if len(nuclearity) != len(children) or not set(nuclearity) <= {"N", "S"} or "N" not in nuclearity:
        raise TreeError(
            f"nuclearity must have an N or S for each of the {len(children)} children and at least one N, "
            f"got {nuclearity!r}"
        )
    for left, right in pairwise(children):
        if left.stop != right.start:
            raise TreeError(
                f"children must be adjacent, but EDUs {left.start}–{left.stop - 1} "
                f"are followed by {right.start}–{right.stop - 1}"
            )


def attachment_order(nuclearity: str) -> list[int]:
    """Return the positions of the satellites outside the nuclei, in the order in which they attach.

    The nearest comes first, left before right at equal distance.

    >>> attachment_order("SSNS")
    [1, 3, 0]
    """
    first, last = nuclearity.index("N"), nuclearity.rindex("N")
    left = [(first - position, 0, position) for position in range(first)]
    right = [(position - last, 1, position) for position in range(last + 1, len(nuclearity))]
    return [position for _, _, position in sorted(left + right)]


def preorder(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes, parents before children, from left to right."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Unit):
            pending.extend(reversed(node.children))


def postorder(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes, children before parents, from left to right."""
    pending: list[tuple[Tree, bool]] = [(tree, False)]
    while pending:
        node, is_done = pending.pop()
        if isinstance(node, Unit) and not is_done:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(node.children))
        else:
            yield node


def units(tree: Tree) -> Iterator[Unit]:
    """Yield the units of a tree, parents before children, from left to right."""
    return (node for node in preorder(tree) if isinstance(node, Unit))


def fold(tree: Tree, on_leaf: Callable[[Leaf], Result], on_unit: Callable[[Unit, list[Result]], Result]) -> Result:
    """Compute a value bottom-up: `on_unit` gets a unit and the values of its children.

    >>> fold(Unit("joint", "NN", (Leaf(0), Leaf(1))), lambda leaf: 1, lambda unit, counts: sum(counts))
    2
    """
    results: list[Result] = []
    for node in postorder(tree):
        if isinstance(node, Leaf):
            results.append(on_leaf(node))
        else:
            parts = results[-len(node.children) :]
            del results[-len(node.children) :]
            results.append(on_unit(node, parts))
    return results[0]


def relabel(tree: Tree, rename: Callable[[str], str]) -> Tree:
    """Return the tree with every relation renamed, except `span`."""

    def renamed(unit: Unit, children: list[Tree]) -> Tree:
        relations = tuple(name if name == SPAN else rename(name) for name in unit.relations)
        return Unit(rename(unit.relation), unit.nuclearity, tuple(children), relations, *unit.certainty)

    return fold(tree, lambda leaf: leaf, renamed)


_Record: TypeAlias = int | tuple[str, str, tuple[str, ...], Certainty]


def _from_records(records: list[_Record]) -> Tree:
    stack: list[Tree] = []
    for record in records:
        if isinstance(record, int):
            stack.append(Leaf(record))
        else:
            relation, nuclearity, relations, certainty = record
            children = tuple(stack[-len(relations) :])
            del stack[-len(relations) :]
            stack.append(Unit(relation, nuclearity, children, relations, *certainty))
    return stack[0]
