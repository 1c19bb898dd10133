"""A tree as the nodes of an `.rs3` file: their numbers, the groups, and what points to what.

The conventions are those of rstWeb. One nucleus with satellites is a span group that holds the nucleus, and the
satellites point to the nucleus. Several nuclei are a multinuclear group whose children carry the relation.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count

from genrst.corpora.rs3_nodes import MULTINUC_GROUP, SPAN_GROUP
from genrst.trees.node import SPAN, Tree, Unit, fold, units


class Layout:
    """The nodes of a document by number, EDUs from 1 and groups after them.

    `ids` has the node of every range of EDUs (start, stop) that is one, `groups` the type of every group, `parents`
    the parent and the relation of every node but the root, `relations` all relations with their type.
    """

    def __init__(self, tree: Tree | None, n_edus: int) -> None:
        self.ids = {(edu, edu + 1): edu + 1 for edu in range(n_edus)}
        self.groups: dict[int, str] = {}
        self.parents: dict[int, tuple[int, str]] = {}
        self.relations: set[tuple[str, str]] = set()
        if tree is not None:
            self.relations = set(_relations(tree))
            self._multinuclear = {name for name, kind in self.relations if kind == MULTINUC_GROUP}
            self._place(fold(tree, lambda leaf: leaf, partial(_expressible, self._multinuclear)))

    def _place(self, tree: Tree) -> None:
        numbers = count(len(self.ids) + 1)
        for unit in units(tree):
            self.ids[unit.start, unit.stop] = number = next(numbers)
            self.groups[number] = SPAN_GROUP if unit.nuclearity.count("N") == 1 else MULTINUC_GROUP
        for unit in units(tree):
            if unit.nuclearity.count("N") == 1:
                self._place_span(unit, numbers)
            else:
                self._point_to(self.ids[unit.start, unit.stop], unit, "NS")

    def _place_span(self, unit: Unit, numbers: Iterator[int]) -> None:
        nucleus = unit.children[unit.nuclearity.index("N")]
        group, target = self.ids[unit.start, unit.stop], self.ids[nucleus.start, nucleus.stop]
        if self.groups.get(target) == MULTINUC_GROUP and self._multinuclear.intersection(unit.relations):
            # Pointing to a multinuclear group, this satellite would read as one more nucleus: a group stands between.
            between = next(numbers)
            self.groups[between] = SPAN_GROUP
            self.parents[target] = between, SPAN
            target = between
        self.parents[target] = group, SPAN
        self._point_to(target, unit, "S")

    def _point_to(self, target: int, unit: Unit, letters: str) -> None:
        for letter, relation, child in zip(unit.nuclearity, unit.relations, unit.children, strict=True):
            if letter in letters:
                self.parents[self.ids[child.start, child.stop]] = target, relation


def _relations(tree: Tree) -> Iterator[tuple[str, str]]:
    for unit in units(tree):
        is_shared = unit.nuclearity.count("N") > 1
        for letter, relation in zip(unit.nuclearity, unit.relations, strict=True):
            if letter == "S":
                yield relation, "rst"
            elif is_shared:
                yield relation, MULTINUC_GROUP


def _expressible(multinuclear: set[str], unit: Unit, children: list[Tree]) -> Tree:
    """The unit as it is or, where satellites stand around several nuclei, the nuclei as a unit inside it.

    Satellites between nuclei stay. If they would read as nuclei, by a relation that joins nuclei elsewhere, each
    attaches to the nucleus on its left, as in `genrst.trees.binarise`.
    """
    letters, relations = unit.nuclearity, unit.relations
    first, stop = letters.index("N"), letters.rindex("N") + 1
    core = children[first]
    if stop - first > 1:
        core = _join_nuclei(multinuclear, relations[first:stop], letters[first:stop], children[first:stop])
    if stop - first == len(letters):
        return core
    return Unit.from_relations(
        (*relations[:first], SPAN, *relations[stop:]),
        f"{letters[:first]}N{letters[stop:]}",
        (*children[:first], core, *children[stop:]),
    )


def _join_nuclei(multinuclear: set[str], relations: tuple[str, ...], letters: str, children: list[Tree]) -> Tree:
    parts = list(zip(relations, letters, children, strict=True))
    if any(letter == "S" and relation in multinuclear for relation, letter, _ in parts):
        nuclei: list[tuple[str, str, Tree]] = []
        for relation, letter, child in parts:
            if letter == "N":
                nuclei.append((relation, letter, child))
            else:
                shared, _, nucleus = nuclei[-1]
                nuclei[-1] = shared, "N", Unit(relation, "NS", (nucleus, child))
        parts = nuclei
    return Unit.from_relations(
        [relation for relation, _, _ in parts],
        "".join(letter for _, letter, _ in parts),
        [child for _, _, child in parts],
    )
