"""Draw the pictures of the README and the docs from our own examples: `make pictures`."""

from pathlib import Path

import genrst
from docs.charts import (
    LAYER_ARROWS,
    LAYERS,
    MODEL,
    MODEL_ARROWS,
    draw_cells,
    draw_diagram,
    draw_importance,
    draw_relations,
)
from genrst.evaluation.plot import plot_systems
from genrst.rendering.difference_picture import render_difference_svg
from genrst.rendering.svg import render_svg

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"

PARSED = (
    "The council has closed the swimming pool because its roof leaks. Repairs will cost two million pounds, which the "
    "town does not have. If no sponsor is found, the pool may never open again."
)

NARY = genrst.Document.from_edus(
    "list",
    ["Bring three things:", "a rope,", "a lamp,", "and bread for two days."],
    genrst.Unit("elaboration", "NS", (genrst.Leaf(0), genrst.Unit("joint", "NNN", tuple(map(genrst.Leaf, (1, 2, 3)))))),
)


def main() -> None:
    """Write every picture."""
    draw_trees()
    draw_parsed()
    draw_charts()


def draw_trees() -> None:
    """The example, as one tree and against another; a tree with three nuclei."""
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    predicted = genrst.read(ROOT / "examples" / "predicted" / "ferry.json")
    pictures = {
        "ferry-compact.svg": render_svg(document, style="compact"),
        "ferry-classic.svg": render_svg(document, style="classic"),
        "ferry-difference.svg": render_difference_svg(document, predicted),
        "nary.svg": render_svg(NARY, style="classic"),
    }
    for name, picture in pictures.items():
        (IMAGES / name).write_text(picture, encoding="utf-8")


def draw_parsed() -> None:
    """What the parser makes of a text."""
    document = genrst.load()(PARSED, id="pool")
    (IMAGES / "parsed.svg").write_text(render_svg(document, style="compact"), encoding="utf-8")


def draw_charts() -> None:
    """Everything that is no tree."""
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    predicted = genrst.read(ROOT / "examples" / "predicted" / "ferry.json")
    draw_diagram(MODEL, MODEL_ARROWS, IMAGES / "model.svg")
    draw_diagram(LAYERS, LAYER_ARROWS, IMAGES / "layers.svg")
    draw_cells(IMAGES / "cells.svg")
    draw_importance(document, IMAGES / "importance.svg")
    draw_relations([document], IMAGES / "relations.svg")
    plot_systems({"ferry": genrst.evaluate([document], [predicted])}, IMAGES / "scores.svg")


if __name__ == "__main__":
    main()
