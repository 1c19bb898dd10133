"""Lay out trees in the compact style: from left to right, with an EDU per row, for documents of any length.

Exactly one unit is split between two adjacent EDUs, so the row between them is free for the relation of that unit: all
deeper units end above it or start below it. So labels never overlap, however long they are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from genrst.rendering.geometry import (
    CIRCLE,
    MARGIN,
    Canvas,
    Picture,
    ShapeKind,
    line_height,
    line_width,
    wrap_relation,
    wrap_text,
)
from genrst.rendering.labels import Range, levels, nucleus_of, range_of, shared_relation
from genrst.trees.node import SPAN, Leaf, Tree, Unit, units

TEXT_WIDTH = 480.0

_STEP, _LEAST_STEP = 28.0, 3.0  # from a unit to its children
_TREE_WIDTH = 1000.0  # deep trees use smaller steps to stay within this width
_MARK_STEP = 14.0  # the smallest step with room for N and S
_LABEL_WIDTH = 200.0
_PADDING = 4.0  # above and below the text of an EDU
_UNIT_ROW, _EMPTY_ROW = 18.0, 4.0
_DOT, _CORNER = 3.0, 7.0


def layout_compact(
    trees: Sequence[Tree],
    texts: Sequence[str],
    text_width: float = TEXT_WIDTH,
    headings: Collection[int] = (),
    paragraph_starts: Collection[int] = (),
) -> Picture:
    """Lay out trees on the left and the texts of their EDUs, wrapped to this width, on the right.

    Headings are bold, and a rule is drawn above every EDU that starts a paragraph.
    """
    wrapped = [wrap_text(text, text_width, edu in headings) for edu, text in enumerate(texts)]
    plan = _plan(trees, wrapped)
    canvas = Canvas()
    for tree in trees:
        for unit in units(tree):
            _draw_unit(canvas, plan, unit)
    for edu, lines in enumerate(wrapped):
        middle = plan.edu_rows[edu]
        half_number, half_line = line_height("number") / 2, line_height("text") / 2
        canvas.text((edu, edu + 1), "number", (plan.text_column - 8.0, middle - half_number), [str(edu + 1)], "right")
        at = plan.text_column, middle - half_line
        canvas.text((edu, edu + 1), "text", at, lines, is_strong=edu in headings)
        if edu in paragraph_starts:
            y = plan.gap_rows[edu - 1]
            canvas.line((edu, edu + 1), "rule", (plan.text_column, y), (plan.text_column + text_width, y))
    return canvas.finish()


@dataclass(frozen=True, slots=True)
class _Label:
    """The label in a gap: the relation of a satellite, or of the nuclei of a unit."""

    node: Range
    relation: str
    lines: list[str]


@dataclass(slots=True)
class _Plan:
    """The positions of all parts: a row per EDU and per gap after it, a column per level, and one for the text.

    `splits` maps each unit to the gap, given by the EDU before it, in which lines from above meet the unit.
    """

    levels: dict[Range, int]
    step: float
    splits: dict[Range, int] = field(default_factory=dict)
    labels: dict[Range, dict[int, _Label]] = field(default_factory=dict)
    edu_rows: list[float] = field(default_factory=list)
    gap_rows: list[float] = field(default_factory=list)
    number_column: float = 0.0
    text_column: float = 0.0

    def column(self, node: Tree) -> float:
        """Return the horizontal position of a unit, or of the end of an EDU's branch."""
        return MARGIN + _DOT + self.levels[range_of(node)] * self.step

    def row(self, node: Tree) -> float:
        """Return the vertical position of a node: an EDU's first line, or the gap in which a unit splits."""
        return self.edu_rows[node.edu] if isinstance(node, Leaf) else self.gap_rows[self.splits[range_of(node)]]


def _plan(trees: Sequence[Tree], texts: list[list[str]]) -> _Plan:
    depths = levels(trees)
    depth = max(depths.values())
    plan = _Plan(depths, max(_LEAST_STEP, min(_STEP, _TREE_WIDTH / max(depth, 1))))
    right = MARGIN + _DOT + depth * plan.step
    for tree in trees:
        for unit in units(tree):
            plan.splits[range_of(unit)] = _split(unit)
            labels = plan.labels[range_of(unit)] = _labels(unit)
            widths = (line_width(line, "relation") for label in labels.values() for line in label.lines)
            right = max(right, plan.column(unit) + _CORNER + max(widths, default=0.0))
    plan.number_column = right + 10.0
    plan.text_column = plan.number_column + line_width(str(len(texts)), "number") + 10.0
    _stack_rows(plan, texts)
    return plan


def _stack_rows(plan: _Plan, texts: list[list[str]]) -> None:
    used_gaps = set(plan.splits.values()).union(*plan.labels.values())
    top = MARGIN
    for edu, lines in enumerate(texts):
        plan.edu_rows.append(top + _PADDING + line_height("text") / 2)
        top += max(1, len(lines)) * line_height("text") + 2 * _PADDING
        height = _UNIT_ROW if edu in used_gaps else _EMPTY_ROW
        plan.gap_rows.append(top + height / 2)
        top += height


def _split(unit: Unit) -> int:
    """Return the middle one of the gaps before the second and later nuclei; of all gaps if there is one nucleus."""
    nuclei = [child for letter, child in zip(unit.nuclearity, unit.children, strict=True) if letter == "N"]
    later = nuclei[1:] or unit.children[1:]
    return later[(len(later) - 1) // 2].start - 1


def _labels(unit: Unit) -> dict[int, _Label]:
    """Return the labels of a unit by gap: next to a satellite, towards its nucleus, or at the split for the nuclei."""
    labels: dict[int, _Label] = {}
    for position, (letter, child) in enumerate(zip(unit.nuclearity, unit.children, strict=True)):
        if letter == "S":
            gap = child.stop - 1 if nucleus_of(unit.nuclearity, position) > position else child.start - 1
            labels[gap] = _label(range_of(child), unit.relations[position])
    if shared_relation(unit):
        labels[_split(unit)] = _label(range_of(unit), shared_relation(unit))
    return labels


def _label(node: Range, relation: str) -> _Label:
    return _Label(node, relation, wrap_relation(relation, _LABEL_WIDTH, limit=1))


def _draw_unit(canvas: Canvas, plan: _Plan, unit: Unit) -> None:
    x, y = plan.column(unit), plan.row(unit)
    shared = shared_relation(unit)
    branches = zip(unit.nuclearity, unit.relations, unit.children, strict=True)
    # The nearest child last, so that a line shared by several branches has the colour of the branch that ends first.
    for letter, relation, child in sorted(branches, key=lambda branch: -abs(plan.row(branch[2]) - y)):
        _draw_branch(canvas, plan, unit, child, letter, shared if letter == "N" else relation)
    for gap, label in plan.labels[range_of(unit)].items():
        at = x + _CORNER, plan.gap_rows[gap] - line_height("relation") / 2
        canvas.text(label.node, "relation", at, label.lines, relation=label.relation, unit=range_of(unit))
    _draw_dot(canvas, range_of(unit), x, y, shared)


def _draw_branch(canvas: Canvas, plan: _Plan, unit: Unit, child: Tree, letter: str, relation: str) -> None:
    """Draw the line from a unit to a child, with N or S on it, and on to the text if the child is an EDU."""
    key = range_of(child)
    (x, y), (end, row) = (plan.column(unit), plan.row(unit)), (plan.column(child), plan.row(child))
    corner = min(_CORNER, plan.step)
    turn = row - corner if row > y else row + corner
    bend = (x, row + (turn - row) * (1 - CIRCLE)), (x + corner * (1 - CIRCLE), row), (x + corner, row)
    kind: ShapeKind = "nucleus" if letter == "N" else "satellite"
    points = (x, y), (x, y), (x, turn), (x, turn), *bend, bend[-1], (end, row), (end, row)
    shown = "" if relation == SPAN else relation
    canvas.line(key, kind, *points, is_curved=True, relation=shown, unit=range_of(unit))
    if plan.step >= _MARK_STEP:
        mark = (x + plan.step / 2 + 1.0, row - line_height("mark") - 0.5)
        canvas.text(key, "mark", mark, [letter], "centre", unit=range_of(unit))
    if isinstance(child, Leaf):
        canvas.line(key, "leader", (end, row), (plan.number_column, row))


def _draw_dot(canvas: Canvas, node: Range, x: float, y: float, relation: str) -> None:
    side = _DOT * CIRCLE
    canvas.line(
        node,
        "dot",
        (x - _DOT, y),
        *((x - _DOT, y - side), (x - side, y - _DOT), (x, y - _DOT)),
        *((x + side, y - _DOT), (x + _DOT, y - side), (x + _DOT, y)),
        *((x + _DOT, y + side), (x + side, y + _DOT), (x, y + _DOT)),
        *((x - side, y + _DOT), (x - _DOT, y + side), (x - _DOT, y)),
        is_curved=True,
        relation=relation,
        unit=node,
    )
