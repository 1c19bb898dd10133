import struct
import subprocess
import sys

import pytest

from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.rendering.image import ImageFormat, render_image
from genrst.rendering.svg import Style, layout
from genrst.trees.node import Leaf, Unit
from tests.rendering.samples import SCRIPTS, bridge, chain, row

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("style", ["classic", "compact"])
def test_png_has_two_pixels_per_pixel_of_the_layout(style: Style):
    picture = layout(bridge(), style)
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
    document = chain(2000, is_right=True)
    width, height = _png_size(render_image(document, "png", "classic"))
    assert width * height <= 41_000_000
    assert max(width, height) < 2**16
    assert b"MediaBox" in render_image(document, "pdf", "classic")


def test_unknown_format_is_an_error():
    with pytest.raises(UsageError, match="was: 'gif'"):
        render_image(bridge(), "gif")  # type: ignore[arg-type]


def test_a_missing_matplotlib_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(GenrstError, match=r"pip install genrst\[plot\]"):
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


def _png_size(content: bytes) -> tuple[int, int]:
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height
