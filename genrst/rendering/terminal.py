"""Draw trees as text for a terminal, with box-drawing characters.

>>> from genrst.document import Document
>>> from genrst.trees.node import Leaf, Unit
>>> tree = Unit("justify", "NS", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))
>>> edus = ["Acme has closed several factories.", "The CEO told investors", "they make no profit, whatever he does."]
>>> print(render_text(Document.from_edus("acme", edus, tree), width=40), end="")
justify 1–3
├─N 1 Acme has closed several factories.
└─S attribution 2–3
  ├─S 2 The CEO told investors
  └─N 3 they make no profit, whatever he
        does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from genrst.characters import inert
from genrst.document import Document, Node
from genrst.rendering import Colours, check_colours
from genrst.rendering.labels import Range, edu_texts, range_label, range_of, roots, shared_relation
from genrst.rendering.measure import columns, shorten, wrap
from genrst.rendering.signals import Mark, Marks, because, edge_label, ends_label, find_marks
from genrst.trees.node import Tree, Unit, units

LEAST_WIDTH = 40
"""The minimum width. Smaller values are raised to it."""

_SHARE_OF_INDENTATION = 0.4
_INDENT = 2
# The closest terminal colours to `colours.Theme.relations`, neither too light nor too dark for any background.
_HUES = (33, 68, 166, 130, 137, 164, 97, 133, 34, 65, 37, 30, 36, 136, 101)


@dataclass(frozen=True, slots=True)
class _Row:
    """A node and its prefix: `bars`, then `branch`, and `below` for further lines of its text.

    `relation` is the relation of a satellite to its nucleus, unless the unit above, `parent`, shows it.
    """

    node: Tree
    parent: Unit | None = None
    level: int = 0
    bars: str = ""
    branch: str = ""
    below: str = ""
    relation: str = ""


def render_text(
    shown: Document | Node, width: int = 80, colour: bool = False, colours: Colours = "relation", why: bool = False
) -> str:
    """Draw the tree of a document, or a node of it, as lines of at most `width` columns, with optional ANSI colours.

    Colours show relations or, with `certainty`, classes of probability, with the probabilities beside the units.
    With `why`, signals are shown beside relations, and secondary edges are listed below the tree.
    If a tree is so deep that there would not be enough room for the text, lines show their level instead of being
    indented further.
    """
    width = max(width, LEAST_WIDTH)
    deepest = int(width * _SHARE_OF_INDENTATION / _INDENT)
    document, trees = (shown.document, [shown.tree]) if isinstance(shown, Node) else (shown, roots(shown))
    paint = _Paint(document, colour, colours)
    marks = find_marks(document) if why else {}
    texts = edu_texts(document)
    lines: list[str] = []
    for root in trees:
        for row in _rows(root, deepest):
            if isinstance(row.node, Unit):
                lines.append(_unit_line(row, row.node, width, paint, marks))
            else:
                lines.extend(_edu_lines(row, inert(texts[row.node.edu]), width, paint, marks))
    lines.extend(_edge_lines(document, trees, width, marks) if why else ())
    return "\n".join(lines) + "\n"


def _rows(root: Tree, deepest: int) -> Iterator[_Row]:
    pending = [_Row(root)]
    while pending:
        row = pending.pop()
        yield row
        if isinstance(row.node, Unit):
            pending.extend(reversed(_children(row, row.node, deepest)))


def _children(row: _Row, unit: Unit, deepest: int) -> list[_Row]:
    rows = []
    for position, (letter, child) in enumerate(zip(unit.nuclearity, unit.children, strict=True)):
        is_last = position == len(unit.children) - 1
        relation = unit.relations[position] if letter == "S" and len(unit.children) > 2 else ""
        if row.level < deepest:
            branch, below = f"{'└' if is_last else '├'}─{letter} ", row.below + ("  " if is_last else "│ ")
        else:
            branch, below = f"┊{row.level + 1} {letter} ", row.below
        rows.append(_Row(child, unit, row.level + 1, row.below, branch, below, relation))
    return rows


def _unit_line(row: _Row, unit: Unit, width: int, paint: "_Paint", marks: Marks) -> str:
    number = range_label(unit) + paint.probability(unit)
    room = width - len(row.bars + row.branch + number) - 1
    relation = unit.relations[unit.nuclearity.index("S")] if unit.nuclearity in ("NS", "SN") else shared_relation(unit)
    if row.relation and relation:
        room = (room - 1) // 2
    link = _fit(_because(row, marks), room - 2, "({})")
    own = paint.relation(_fit(because(relation, _marks_inside(unit, marks)), room), relation, unit)
    labels = paint.relation(link, row.relation, row.parent), own, paint.faint(number)
    return paint.faint(row.bars + row.branch) + " ".join(filter(None, labels))


def _edu_lines(row: _Row, text: str, width: int, paint: "_Paint", marks: Marks) -> Iterator[str]:
    number = range_label(row.node)
    prefix = row.bars + row.branch
    room = width - len(prefix) - len(number) - 1
    link = _fit(_because(row, marks), room // 2 - 3, "({}) ")
    hang = len(number) + 1 + sum(map(columns, link))
    first, *others = wrap(text, max(2, width - len(prefix) - hang), columns) or [""]
    link = paint.relation(link, row.relation, row.parent)
    yield f"{paint.faint(prefix)}{link}{paint.faint(number)} {first}".rstrip()
    for line in others:
        yield paint.faint(row.below.ljust(len(prefix))) + " " * hang + line


def _because(row: _Row, marks: Marks) -> str:
    """Return the relation of a satellite with its signals."""
    return row.relation and because(row.relation, marks.get((range_of(row.node), None), []))


def _marks_inside(unit: Unit, marks: Marks) -> Iterator[Mark]:
    """Yield the signals of the relation that a unit shows, except for satellites that show their own."""
    for letter, child in zip(unit.nuclearity, unit.children, strict=True):
        if letter == "N" or len(unit.children) == 2:
            yield from marks.get((range_of(child), None), [])


def _edge_lines(document: Document, trees: list[Tree], width: int, marks: Marks) -> Iterator[str]:
    """Yield a blank line and the secondary edges between units of these trees."""
    start, stop = trees[0].start, trees[-1].stop
    inside = [
        edge for edge in document.secondary_edges if all(start <= a < b <= stop for a, b in (edge.source, edge.target))
    ]
    yield from [""] if inside else []
    for edge in inside:
        line = f"{ends_label(edge)} {edge_label(edge, marks)}"
        yield from wrap(inert(line), width, columns)


def _fit(relation: str, room: int, form: str = "{}") -> str:
    """Shorten a relation name to fit the room, and format it; empty if there is no name or no room."""
    lines = wrap(inert(relation), room, columns) if room > 1 else []
    return form.format(shorten(lines, 1, room, columns)[0]) if lines else ""


class _Paint:
    """Colours text with ANSI codes, or leaves it as it is."""

    def __init__(self, document: Document, is_on: bool, colours: Colours) -> None:
        check_colours(colours)
        self.is_on = is_on
        self.by_relation: dict[str, int] = {}
        self.by_unit: dict[Range, int | None] | None = None
        if colours == "certainty":
            from genrst.rendering.colours import CERTAINTIES, certainties

            self.by_unit = {unit: CERTAINTIES[name].colour for unit, name in certainties(document).items()}
        elif is_on:
            from genrst.rendering.colours import relation_colours

            names = (name for tree in roots(document) for unit in units(tree) for name in unit.relations)
            self.by_relation = relation_colours(names)

    def relation(self, text: str, name: str, unit: Unit | None) -> str:
        """Return the text in the colour of a relation, or of its unit."""
        if self.by_unit is not None and unit is not None:
            number = self.by_unit.get(range_of(unit))
        else:
            number = self.by_relation.get(name)
        return text if number is None else self._paint(text, f"1;38;5;{_HUES[number]}")

    def probability(self, unit: Unit) -> str:
        """Return the probability of a unit, if colours show certainty."""
        if self.by_unit is None or unit.probability is None:
            return ""
        label = "" if unit.label_probability is None else f", label {unit.label_probability:.2f}"
        return f" p = {unit.probability:.2f}{label}"

    def faint(self, text: str) -> str:
        """Return the text in a fainter colour."""
        return self._paint(text, "2")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and text else text
