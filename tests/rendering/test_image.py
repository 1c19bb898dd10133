import re
import struct
import subprocess
import sys
import zlib

import pytest

from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.rendering.geometry import with_legend
from genrst.rendering.image import ImageFormat, render_image
from genrst.rendering.svg import Style, coloured, layout
from genrst.trees.node import Leaf, Unit
from tests.rendering.samples import SCRIPTS, bridge, chain, row

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("style", ["classic", "compact"])
def test_png_has_two_pixels_per_pixel_of_the_layout(style: Style):
    picture = with_legend(*coloured(layout(bridge(), style), bridge(), "relation"))
    width, height = _png_size(render_image(bridge(), "png", style))
    assert width == pytest.approx(2 * picture.width, abs=2)
    assert height == pytest.approx(2 * picture.height, abs=2)


@pytest.mark.parametrize("style", ["classic", "compact"])
def test_pdf(style: Style):
    content = render_image(bridge(), "pdf", style)
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")


@pytest.mark.slow
@pytest.mark.parametrize("format", ["png", "pdf"])
def test_any_text_can_be_drawn(format: ImageFormat, caplog: pytest.LogCaptureFixture):
    texts = [text[:40] for texts in SCRIPTS.values() for text in texts]
    hostile = ["$x^2$ and $\\frac{", "\x00\ud800\x1b[0m", "\U0010fffd\u0378", "\u202egnp"]
    tree = Unit("$\\alpha$ & 关系", "NS", (Leaf(0), Leaf(1)))
    assert render_image(row([*texts, *hostile]), format)
    assert render_image(Document.from_edus("two", hostile[:2], tree), format)
    assert not caplog.records


@pytest.mark.slow
def test_huge_pictures_are_drawn_smaller():
    width, height = _png_size(render_image(chain(60, is_right=True), "png", "classic"))
    assert 39_000_000 <= width * height <= 41_000_000
    assert max(width, height) < 2**16
    content = render_image(chain(110, is_right=True), "pdf", "classic")
    assert max(map(float, re.findall(rb"/MediaBox \[ 0 0 ([0-9.]+) ([0-9.]+)", content)[0])) <= 14_400
    assert _n_texts(content) > 110, "the text is there, for readers to enlarge"


@pytest.mark.parametrize(
    ("format", "style", "n_edus"),
    [
        ("png", "classic", 200),
        ("pdf", "classic", 2000),
        ("png", "compact", 2000),
        pytest.param("pdf", "compact", 5000, marks=pytest.mark.slow),
    ],
)
def test_pictures_that_nobody_could_read_are_refused(format: ImageFormat, style: Style, n_edus: int):
    with pytest.raises(UsageError) as caught:
        render_image(chain(n_edus, is_right=True), format, style)
    message = str(caught.value)
    assert f"are too many for a .{format} file: letters would have " in message
    assert f" points, and must have at least {'3' if format == 'png' else '1'}; draw .svg or .html" in message
    assert message.endswith("or in the style compact") == (style == "classic")


def test_unknown_format_is_an_error():
    with pytest.raises(UsageError, match="got 'gif'"):
        render_image(bridge(), "gif")  # type: ignore[arg-type]


def test_a_missing_matplotlib_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(GenrstError, match=r"pip install 'genrst\[plot\]'"):
        render_image(bridge())


@pytest.mark.slow
def test_matplotlib_is_loaded_late_and_without_a_display():
    code = """
import sys
from genrst.document import Document
from genrst.rendering.image import render_image
assert "matplotlib" not in sys.modules
render_image(Document.from_edus("one", ["One."]))
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def _n_texts(pdf: bytes) -> int:
    """How many pieces of text a PDF file shows."""
    streams = re.findall(rb"FlateDecode.*?stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    return sum(len(re.findall(rb"T[jJ]\b", zlib.decompress(stream))) for stream in streams)


def _png_size(content: bytes) -> tuple[int, int]:
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height
