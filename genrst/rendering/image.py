"""Draw pictures as PNG or PDF with matplotlib, without a browser or a display.

Matplotlib 3.11 and later support Arabic and other connected scripts. Earlier versions draw their letters separately.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from logging import getLogger
from math import sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from genrst.document import Document
from genrst.errors import MissingDependencyError, UsageError
from genrst.rendering import Colours
from genrst.rendering.colours import LIGHT, Scheme
from genrst.rendering.geometry import FONT_SIZES, Picture, Shape, TextBox, with_legend
from genrst.rendering.svg import Style, coloured, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ImageFormat: TypeAlias = Literal["png", "pdf"]

FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "PingFang SC", "Yu Gothic"),
    *("Microsoft YaHei", "Malgun Gothic", "WenQuanYi Zen Hei", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Emoji"),
    *("Noto Sans Symbols", "Noto Sans Symbols2", "Arial Unicode MS"),
)

_DPI = 144
_POINTS_PER_INCH = 72
_MOST_PIXELS = 40_000_000
_LONGEST_SIDE = 60_000  # in pixels; the limit of matplotlib is 65,536
_LONGEST_PAGE = 14_400  # in points; the limit of PDF readers
_SMALLEST_FONTS = {"png": 3.0, "pdf": 1.0}  # in points: 6 pixels high in PNG; PDF readers can zoom in
_LINE_WIDTHS = {"nucleus": 2.0, "leader": 0.8, "rule": 0.4}


def render_image(
    document: Document, format: ImageFormat = "png", style: Style | None = None, colours: Colours = "relation"
) -> bytes:
    """Draw the tree of a document as a PNG or PDF file, coloured by `relation` or `certainty`.

    Pictures that are too large are scaled down. If the letters would become unreadable, an error is raised.
    """
    if format not in get_args(ImageFormat):
        raise UsageError(f"an image format must be one of {', '.join(get_args(ImageFormat))}, got {format!r}")
    picture, scheme = coloured(layout(document, style), document, colours)
    instead = "draw .svg or .html" + (", or in the style compact" if style == "classic" else "")
    return draw_image(with_legend(picture, scheme), format, scheme, document, instead)


def check_matplotlib() -> None:
    """Raise an error if matplotlib is not installed. Callers can check this before parsing a text."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("PNG and PDF pictures need matplotlib: pip install 'genrst[plot]'") from error


def draw_image(
    picture: Picture, format: ImageFormat, scheme: Scheme, document: Document, instead: str = "draw .svg or .html"
) -> bytes:
    """Draw the picture of a document as PNG or PDF. If it is too large, the error suggests `instead`."""
    check_matplotlib()
    from matplotlib.figure import Figure

    scale = _scale(picture, format)
    if (size := FONT_SIZES["text"] * scale) < _SMALLEST_FONTS[format]:
        raise UsageError(
            f"{document.id}: {len(document.edus)} EDUs are too many for a .{format} file: letters would have "
            f"{size:.2f} points, and must have at least {_SMALLEST_FONTS[format]:g}; {instead}"
        )
    inches = picture.width * scale / _POINTS_PER_INCH, picture.height * scale / _POINTS_PER_INCH
    figure = Figure(figsize=inches, dpi=_DPI, facecolor=LIGHT.paper)
    content = BytesIO()
    with _quietly():
        _draw(figure, picture, scheme, scale)
        figure.savefig(content, format=format)
    return content.getvalue()


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress matplotlib's warnings about letters that no font has, which are drawn as boxes.

    The warning filter is never removed, because restoring the old filters would undo changes by other threads.
    """
    logger = getLogger("matplotlib.font_manager")
    was_disabled, logger.disabled = logger.disabled, True
    warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
    try:
        yield
    finally:
        logger.disabled = was_disabled


def _scale(picture: Picture, format: ImageFormat) -> float:
    """Return the points per pixel of the layout: 1, or less if the picture would be too large to draw."""
    longest = max(picture.width, picture.height)
    if format == "pdf":
        return min(1.0, _LONGEST_PAGE / longest)
    pixels_per_point = _DPI / _POINTS_PER_INCH
    area = picture.width * picture.height * pixels_per_point**2
    return min(1.0, _LONGEST_SIDE / pixels_per_point / longest, sqrt(_MOST_PIXELS / area))


def _draw(figure: "Figure", picture: Picture, scheme: Scheme, scale: float) -> None:
    from matplotlib.font_manager import fontManager

    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, picture.width), ylim=(picture.height, 0.0))
    axes.set_axis_off()
    _draw_shapes(axes, picture.shapes, scheme, scale)
    installed = {font.name for font in fontManager.ttflist}
    fonts = [font for font in FONTS if font in installed]
    for box in picture.boxes:
        _draw_text(axes, box, _colour(box, scheme), scale, fonts)


def _draw_shapes(axes: "Axes", shapes: Sequence[Shape], scheme: Scheme, scale: float) -> None:
    """Draw all shapes of the same kind and colour together, which is ten times as fast as one by one."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    alike: dict[tuple[str, str, tuple[int, int] | None], list[Path]] = defaultdict(list)
    for shape in shapes:
        codes = [Path.MOVETO, *[Path.CURVE4 if shape.is_curved else Path.LINETO] * (len(shape.points) - 1)]
        alike[shape.kind, _colour(shape, scheme), scheme.dashes.get(shape.relation)].append(Path(shape.points, codes))
    for (kind, colour, dashes), paths in alike.items():
        width = _LINE_WIDTHS.get(kind, 1.4)
        is_filled = kind in ("arrow", "dot")
        axes.add_collection(
            PathCollection(
                paths,
                facecolors=colour if is_filled else "none",
                edgecolors="none" if is_filled else colour,
                linewidths=width * scale,
                # Matplotlib measures dashes in units of the line width.
                linestyles=":"
                if kind == "leader"
                else "--"
                if kind == "edge"
                else (0, [part / width for part in dashes])
                if dashes
                else "-",
                zorder=2 if is_filled else 1,
            ),
            autolim=False,
        )


def _draw_text(axes: "Axes", box: TextBox, colour: str, scale: float, fonts: list[str]) -> None:
    for (x, y), line in box.baselines():
        axes.text(
            x,
            y,
            line,
            ha="center" if box.align == "centre" else box.align,
            va="baseline",
            fontsize=FONT_SIZES[box.kind] * scale,
            fontweight="bold" if box.is_strong or box.kind in ("relation", "mark", "edge") else "normal",
            fontfamily=fonts[:1] if line.isascii() else fonts,  # trying all fonts is slow
            color=colour,
            parse_math=False,
        )


def _colour(part: Shape | TextBox, scheme: Scheme) -> str:
    if part.relation in scheme.numbers:
        return LIGHT.relations[scheme.numbers[part.relation]]
    return LIGHT.faint if part.kind in ("number", "mark", "leader", "rule") else LIGHT.ink
