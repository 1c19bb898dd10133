"""The tree: immutable leaves and units, and the walks over them.

Not here: text (a leaf is only the number of an EDU, see `genrst.document`) and anything that changes trees
(`genrst.trees.binarise`). Section 2 of the paper.

Trees of real corpora are up to 2,000 levels deep, so nothing here recurses: equality, hashing, printing and pickling
are loops, and other modules get theirs from `fold`, `preorder` and `postorder`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypeVar

from genrst.errors import TreeError

SPAN = "span"
"""The label of a lone nucleus in RST files, where the relation belongs to the satellite."""

JOINT = "joint"
"""The relation of nuclei to which a file gives none."""

Result = TypeVar("Result")
Certainty: TypeAlias = tuple[float | None, float | None, bool]
"""How probable a unit and its label are, and whether the unit is only assumed."""
UNKNOWN: Certainty = (None, None, False)


@dataclass(frozen=True, slots=True, repr=False)
class Leaf:
    """An elementary discourse unit, by its number in the document (from 0)."""

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

    `nuclearity` has a letter per child. With one nucleus and one satellite (`NS`, `SN`) `relation` is the
    satellite's; with nuclei only (`NN`, `NNN`, …) it is the relation they share.

    Files also have units with several satellites, each with a relation of its own. `relations` holds a label per
    child: a satellite's relation, the shared relation of nuclei, or `span` for the one nucleus among satellites. It
    follows from `relation` unless given; `relation` is then the one of the satellite that attaches last (see
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
    """That these EDUs are a unit, by the model that made the tree."""
    label_probability: float | None = None
    """That relation and nuclearity are right, given that they are a unit."""
    is_assumed: bool = False
    """Whether the model did not choose the unit, because sentences are kept whole, say."""
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
        """What the model says of the unit: the last arguments of another one like it."""
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
        # Pickle would recurse into the children; a flat list does not.
        records: list[_Record] = [
            node.edu if isinstance(node, Leaf) else (node.relation, node.nuclearity, node.relations, node.certainty)
            for node in postorder(self)
        ]
        return _from_records, (records,)

    def __deepcopy__(self, memo: object) -> "Unit":
        return self


Tree: TypeAlias = Leaf | Unit
"""A tree is its topmost node: a unit, or a lone leaf in a document of one EDU."""


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
    """The satellites outside the nuclei, by position, in the order in which they attach to them.

    The nearest comes first, left before right at equal distance.

    >>> attachment_order("SSNS")
    [1, 3, 0]
    """
    first, last = nuclearity.index("N"), nuclearity.rindex("N")
    left = [(first - position, 0, position) for position in range(first)]
    right = [(position - last, 1, position) for position in range(last + 1, len(nuclearity))]
    return [position for _, _, position in sorted(left + right)]


def preorder(tree: Tree) -> Iterator[Tree]:
    """All nodes, each before its children, from left to right."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Unit):
            pending.extend(reversed(node.children))


def postorder(tree: Tree) -> Iterator[Tree]:
    """All nodes, each after its children, from left to right."""
    pending: list[tuple[Tree, bool]] = [(tree, False)]
    while pending:
        node, is_done = pending.pop()
        if isinstance(node, Unit) and not is_done:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(node.children))
        else:
            yield node


def units(tree: Tree) -> Iterator[Unit]:
    """The units of a tree, each before those inside it, from left to right."""
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
    """The same tree with every relation renamed; `span` stays."""

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
