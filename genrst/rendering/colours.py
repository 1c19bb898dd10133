"""The colours of pictures: ink and paper, light and dark, a colour for each class of relations, and legends.

A relation has the same colour in every picture and in every part of one. Every colour has a contrast of at least 4.5
to 1 with its paper, as WCAG asks for text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args
from zlib import crc32

from genrst.characters import printable
from genrst.errors import UsageError
from genrst.rendering.geometry import MARGIN, Canvas, Picture, line_height, line_width
from genrst.rendering.labels import Range
from genrst.trees.relations import detect_inventory

Colours: TypeAlias = Literal["relation", "certainty"]
"""What the colours of a tree say: which relations there are, or how probable its units are."""


def check_colours(colours: str) -> None:
    """Raise an error unless trees can be coloured by this."""
    if colours not in get_args(Colours):
        raise UsageError(f"colours must be one of {', '.join(get_args(Colours))}, was: {colours!r}")


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours on one kind of paper: `ink` for text and lines, `faint` for what matters less."""

    paper: str
    ink: str
    faint: str
    relations: tuple[str, ...]


LIGHT = Theme(
    "#ffffff",
    "#1f2933",
    "#616e7c",
    (
        *("#b42318", "#b54708", "#8a5a00", "#4d7c0f", "#15803d", "#0f766e"),
        *("#0e7490", "#1d4ed8", "#4338ca", "#7e22ce", "#a21caf", "#be185d"),
    ),
)
DARK = Theme(
    "#14181d",
    "#e4e7eb",
    "#9aa5b1",
    (
        *("#fb8b82", "#fb9d5c", "#e0b040", "#a3d14f", "#5fd38a", "#45d0bd"),
        *("#4cc9e8", "#85b1ff", "#a5a5ff", "#c79bff", "#e88bf0", "#ff8fbf"),
    ),
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """Which colours the parts of a picture have, by name; what has none is drawn in ink."""

    numbers: Mapping[str, int]
    """Places in `Theme.relations`."""
    dashes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How long the dashes of a line are, and the gaps between them, so that not all depends on colour."""
    keys: Sequence[tuple[str, str]] = ()
    """The legend: names, and what they mean."""


# With this seed the frequent classes of RST-DT and GUM have colours of their own.
_SEED = 26425


def relation_colours(names: Iterable[str]) -> dict[str, int]:
    """The number of the colour of each relation in a document, by its coarse class."""
    distinct = set(names) - {""}
    inventory = detect_inventory(distinct)
    return {name: colour_number(inventory.coarse(name)) for name in distinct}


def colour_number(coarse_class: str) -> int:
    """The place of a class of relations in `Theme.relations`."""
    return crc32(f"{_SEED}{coarse_class}".encode(errors="replace")) % len(LIGHT.relations)


NOWHERE: Range = (0, 0)
"""Instead of a node: no EDUs."""

_ROW = 20.0
_STROKE, _STROKE_GAP, _KEY_GAP = 22.0, 6.0, 24.0


def with_legend(picture: Picture, scheme: Scheme) -> Picture:
    """A picture and its legend, if it needs one."""
    if not scheme.keys:
        return picture
    legend = layout_legend(scheme.keys, picture.width, picture.height)
    boxes, shapes = picture.boxes + legend.boxes, picture.shapes + legend.shapes
    return Picture(max(picture.width, legend.width), legend.height, boxes, shapes)


def layout_legend(keys: Sequence[tuple[str, str]], width: float, top: float, heading: str = "") -> Picture:
    """Place a legend in this width, from `top` down, below a heading if there is one."""
    canvas = Canvas()
    x, y = MARGIN, top
    if heading:
        _place(canvas, heading, x, y)
        y += _ROW
    for name, meaning in keys:
        length = _STROKE + _STROKE_GAP + line_width(printable(meaning), "text")
        if x > MARGIN and x + length > width - MARGIN:
            x, y = MARGIN, y + _ROW
        middle = y + _ROW / 2
        canvas.line(NOWHERE, "nucleus", (x, middle), (x + _STROKE, middle), relation=name)
        _place(canvas, meaning, x + _STROKE + _STROKE_GAP, y)
        x += length + _KEY_GAP
    return canvas.finish()


def _place(canvas: Canvas, text: str, x: float, y: float) -> None:
    canvas.text(NOWHERE, "text", (x, y + (_ROW - line_height("text")) / 2), [printable(text)])
