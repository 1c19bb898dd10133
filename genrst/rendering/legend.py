"""What the colours of a picture mean, below it: a stroke and a few words for each, in rows."""

from collections.abc import Sequence

from genrst.characters import printable
from genrst.rendering.colours import Scheme
from genrst.rendering.geometry import MARGIN, Canvas, Picture, line_height, line_width
from genrst.rendering.labels import Range

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
