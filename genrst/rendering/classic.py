"""The classic drawing of RST trees, as in RSTTool and rstWeb.

A column per EDU. Every node has a horizontal line over its EDUs; below the line of a unit, a vertical line leads to its
nucleus, or a fan of lines to its nuclei, and a labelled arrow leads from each satellite to its nucleus. A unit draws
only between its own line and those of its children and inside its own columns, so units never touch each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from genrst.rendering.arcs import Arc, arcs_height, draw_arcs, plan_arcs
from genrst.rendering.characters import is_right_to_left
from genrst.rendering.fans import Fan, draw_fan, plan_fan
from genrst.rendering.geometry import MARGIN, Canvas, Layout, wrap_text
from genrst.rendering.labels import Range, edu_texts, levels, range_label, range_of, roots
from genrst.trees.analysis import Analysis
from genrst.trees.node import Leaf, Tree, Unit, fold, preorder

COLUMN_WIDTH = 128.0

_GAP = 18.0  # between two columns
_HEAD = 19.0  # the line of a node and the number below it


def layout_classic(document: Analysis, column_width: float = COLUMN_WIDTH) -> Layout:
    """Place the tree of a document in the classic style, its EDUs in columns of this width."""
    plan = _Plan(roots(document), column_width + _GAP)
    texts = edu_texts(document)
    canvas = Canvas()
    for node in plan.nodes():
        key = range_of(node)
        top = plan.top(node)
        left, right = plan.edges(node)
        canvas.line(key, "span", (left, top), (right, top))
        canvas.text(key, "number", (plan.anchors[key], top + 3.0), [range_label(node)], "centre")
        if isinstance(node, Leaf):
            lines = wrap_text(texts[node.edu], column_width)
            canvas.text(key, "text", (plan.anchors[key], top + _HEAD), lines, "centre")
        else:
            _draw_links(canvas, plan, node)
    return canvas.finish(is_mirrored=is_right_to_left(document.text or ""))


@dataclass(slots=True)
class _Plan:
    """Where the lines of all nodes are. The anchor of a node is where lines from above meet it."""

    trees: list[Tree]
    pitch: float
    anchors: dict[Range, float] = field(default_factory=dict)
    arcs: dict[Range, list[Arc]] = field(default_factory=dict)
    fans: dict[Range, Fan] = field(default_factory=dict)
    levels: dict[Range, int] = field(default_factory=dict)
    tops: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for tree in self.trees:
            fold(tree, lambda leaf: self._place(leaf, []), self._place)
        self.levels = levels(self.trees)
        heights = [0.0] * (1 + max(self.levels.values()))
        for node in self.nodes():
            if isinstance(node, Unit):
                key = range_of(node)
                self.arcs[key] = plan_arcs(node, self.anchors)
                self.fans[key] = plan_fan(node, self.anchors, self.edges(node), self.pitch - _GAP)
                height = _HEAD + self.fans[key].height + arcs_height(self.arcs[key])
                heights[self.levels[key]] = max(heights[self.levels[key]], height)
        self.tops = list(accumulate(heights[:-1], initial=MARGIN))

    def nodes(self) -> Iterator[Tree]:
        """All nodes, each before its children."""
        return (node for tree in self.trees for node in preorder(tree))

    def top(self, node: Tree) -> float:
        """The height of the line of a node."""
        return self.tops[self.levels[range_of(node)]]

    def edges(self, node: Tree) -> tuple[float, float]:
        """The ends of the line of a node."""
        return MARGIN + node.start * self.pitch + _GAP / 2, MARGIN + node.stop * self.pitch - _GAP / 2

    def _place(self, node: Tree, below: list[float]) -> float:
        if isinstance(node, Leaf):
            anchor = MARGIN + (node.edu + 0.5) * self.pitch
        else:
            anchor = (below[node.nuclearity.index("N")] + below[node.nuclearity.rindex("N")]) / 2
        self.anchors[range_of(node)] = anchor
        return anchor


def _draw_links(canvas: Canvas, plan: _Plan, unit: Unit) -> None:
    """Place what joins a unit to its children."""
    key = range_of(unit)
    bottom = plan.top(unit.children[0])
    knee = bottom - arcs_height(plan.arcs[key])
    draw_fan(canvas, plan.fans[key], plan.top(unit) + _HEAD, knee, bottom)
    draw_arcs(canvas, plan.arcs[key], bottom)
