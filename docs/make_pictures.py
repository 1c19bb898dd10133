"""Draw the pictures of the README and the docs from our own example: `make pictures`."""

from pathlib import Path

import genrst
from genrst.rendering.difference_svg import render_difference_svg
from genrst.rendering.layout import Style
from genrst.rendering.svg import render_svg

ROOT = Path(__file__).parent.parent
PICTURES: dict[str, Style] = {"ferry-compact.svg": "compact", "ferry-classic.svg": "classic"}


def main() -> None:
    """Write every picture."""
    images = ROOT / "docs" / "images"
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    for name, style in PICTURES.items():
        (images / name).write_text(render_svg(document, style=style), encoding="utf-8")
    predicted = genrst.read(ROOT / "examples" / "predicted" / "ferry.json")
    (images / "ferry-difference.svg").write_text(render_difference_svg(document, predicted), encoding="utf-8")


if __name__ == "__main__":
    main()
