"""What the pictures of a difference share: the two trees in the compact style, coloured by what differs.

A unit's dot, the lines to its children and their labels have one colour, that of plain ink where both trees agree.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from genrst.rendering.characters import printable
from genrst.rendering.difference import Difference, Pairing, Side, Status
from genrst.rendering.geometry import Layout
from genrst.rendering.labels import Range, range_of, titles
from genrst.rendering.subject import Subject
from genrst.trees.analysis import Analysis
from genrst.trees.node import units

Names: TypeAlias = tuple[str, str]

STATUS_COLOURS: dict[str, int] = {"nuclearity": 1, "relation": 7, "both": 9, "missing": 0, "extra": 0}
"""The colour of each status, as a number in `Theme.relations`; a match has none."""

DASHES = f".genrst .r{STATUS_COLOURS['extra']}{{stroke-dasharray:5 3}}"
"""A style rule: the lines of constituents that one tree lacks are dashed, so that not all depends on colour."""


@dataclass(frozen=True, slots=True)
class ComparedTree:
    """One of the two trees, ready to be drawn: binary, and with a status per unit."""

    subject: Subject
    side: Side
    statuses: dict[Range, Status]
    odd_edus: set[int]
    tooltips: dict[Range, str]

    def colour(self, picture: Layout) -> Layout:
        """The picture with each part in the colour of the unit to which it belongs."""
        parents = {range_of(child): range_of(unit) for unit in units(self.side.tree) for child in unit.children}
        rows = {shape.node: shape.points[0][1] for shape in picture.shapes if shape.kind == "dot"}

        def status(node: Range | None) -> str:
            found = self.statuses.get(node, "match") if node else "match"
            return "" if found == "match" else found

        shapes = []
        for shape in picture.shapes:
            owner = shape.node if shape.kind == "dot" else parents.get(shape.node)
            shapes.append(replace(shape, relation="" if shape.kind in ("leader", "fold") else status(owner)))
        boxes = []
        for box in picture.boxes:
            # In the row of its dot stands the label of a unit itself; other labels are about the unit above.
            is_own = box.node in rows and box.y < rows[box.node] < box.y + box.height
            name = status(box.node if is_own else parents.get(box.node))
            if box.kind in ("text", "summary", "number"):
                name = "missing" if box.kind == "number" and box.node[0] in self.odd_edus else ""
            boxes.append(replace(box, relation=name))
        return replace(picture, shapes=tuple(shapes), boxes=tuple(boxes))


def compared_trees(
    documents: tuple[Analysis, Analysis], difference: Difference, names: Names
) -> tuple[ComparedTree, ComparedTree]:
    """The two trees of a difference; where the EDUs are the same, the second has the text of the first."""
    first, second = documents
    sides = (first, difference.first), (first if difference.has_same_edus else second, difference.second)
    one, other = (
        ComparedTree(
            subject := Subject.of(document, side.tree),
            side,
            statuses,
            odd_edus,
            _tooltips(subject, difference, names, number, odd_edus),
        )
        for number, ((document, side), statuses, odd_edus) in enumerate(
            zip(sides, difference.statuses(), difference.boundaries(), strict=True)
        )
    )
    return one, other


def legend(difference: Difference, names: Names) -> list[tuple[Status, str]]:
    """The statuses that occur, with what they mean and how often."""
    meanings: dict[Status, str] = {
        "match": "same in both",
        "nuclearity": "other nuclearity",
        "relation": "other relation",
        "both": "other nuclearity and relation",
        "missing": f"only in {names[0]}",
        "extra": f"only in {names[1]}",
    }
    found = [pairing.status for pairing in difference.pairings]
    return [(status, f"{meaning}: {found.count(status)}") for status, meaning in meanings.items() if status in found]


def scores(difference: Difference) -> str:
    """The Parseval F1 of the two trees, in percent."""
    cells = []
    for aspect in ("S", "N", "R", "F"):
        n_same, n_first, n_second = difference.counts(aspect)
        cells.append(f"{aspect} {100 * 2 * n_same / max(n_first + n_second, 1):.1f}")
    return "Parseval F1: " + " · ".join(cells)


def _tooltips(
    subject: Subject, difference: Difference, names: Names, number: int, odd_edus: set[int]
) -> dict[Range, str]:
    """What is known of each node, and how it differs from the other tree."""
    tooltips = titles(subject)
    for pairing in difference.pairings:
        own = pairing[number]
        if own is not None:
            tooltips[own.edus] += f"\n{printable(_explain(pairing, names, number))}"
    for edu in odd_edus:
        tooltips[edu, edu + 1] += f"\nonly {printable(names[number])} has an EDU that starts here"
    return tooltips


def _explain(pairing: Pairing, names: Names, number: int) -> str:
    own, other = pairing[number], pairing[1 - number]
    if own is None or other is None:
        return f"only in {names[number]}"
    if pairing.status == "match":
        return "same in both"
    return f"here {own.nuclearity} {own.relation}, in {names[1 - number]} {other.nuclearity} {other.relation}"
