"""Draw the pictures of the README and the docs from our own examples: `make pictures`."""

from dataclasses import replace
from pathlib import Path

import genrst
from docs.charts import (
    LAYER_ARROWS,
    LAYERS,
    MODEL,
    MODEL_ARROWS,
    SERVICE,
    SERVICE_ARROWS,
    draw_cells,
    draw_diagram,
    draw_importance,
    draw_results,
)
from genrst.rendering import Colours
from genrst.rendering.difference import render_difference_svg
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

_WHY_EDUS = ("The ferry is slow,", "but islanders love it,", "because it never stops,", "even if a storm is coming.")
_WHY_TREE = genrst.Unit(
    "contrast",
    "NN",
    (
        genrst.Unit(
            "concession",
            "SN",
            (
                genrst.Leaf(0),
                genrst.Unit(
                    "cause",
                    "NS",
                    (genrst.Leaf(1), genrst.Unit("concession", "NS", (genrst.Leaf(2), genrst.Leaf(3)))),
                ),
            ),
        ),
        genrst.Unit("sequence", "NN", (genrst.Leaf(4), genrst.Leaf(5))),
    ),
)
WHY = replace(
    genrst.Document.from_edus(
        "why",
        [*_WHY_EDUS, "A bridge, however, would bring visitors,", "and then the silence would be gone."],
        _WHY_TREE,
    ),
    signals=(
        genrst.Signal((0, 1), "dm", "dm", (5,)),
        genrst.Signal((2, 4), "dm", "dm", (9,)),
        genrst.Signal((3, 4), "dm", "dm", (13, 14)),
        genrst.Signal((4, 6), "dm", "dm", (21,)),
        genrst.Signal((4, 6), "semantic", "antonymy", (2, 20)),
        genrst.Signal((5, 6), "dm", "dm", (25,)),
        genrst.Signal((5, 6), "orphan", "orphan", (26,), target=(4, 5)),
    ),
    secondary_edges=(genrst.SecondaryEdge((5, 6), (4, 5), "result"),),
)
"""A text of ours with signals and a secondary edge."""


def main() -> None:
    """Write every picture."""
    draw_trees(IMAGES)
    draw_parsed(IMAGES)
    draw_charts(IMAGES)


def draw_trees(folder: Path) -> None:
    """The example, as one tree and against another; a tree with three nuclei; one with signals."""
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    predicted = genrst.read(ROOT / "examples" / "predicted" / "ferry.json")
    pictures = {
        "ferry-compact.svg": render_svg(document, style="compact"),
        "ferry-classic.svg": render_svg(document, style="classic"),
        "ferry-difference.svg": render_difference_svg(document, predicted),
        "nary.svg": render_svg(NARY, style="classic"),
        "why.svg": render_svg(WHY, style="compact"),
    }
    for name, picture in pictures.items():
        (folder / name).write_text(picture, encoding="utf-8")


def draw_parsed(folder: Path) -> None:
    """What the parser makes of texts, drawn as `genrst parse` does it, and how certain it is."""
    parser = genrst.load()
    ferry = (ROOT / "examples" / "ferry.txt").read_text(encoding="utf-8")
    pictures: dict[str, tuple[str, Colours]] = {
        "parsed.svg": (PARSED, "relation"),
        "certainty.svg": (ferry, "certainty"),
    }
    for name, (text, colours) in pictures.items():
        document = parser(text, id=name)
        assert document.tree is not None
        document = replace(document, tree=genrst.flatten(document.tree))
        (folder / name).write_text(render_svg(document, style="compact", colours=colours), encoding="utf-8")


def draw_charts(folder: Path) -> None:
    """Diagrams and bar charts."""
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    draw_diagram(MODEL, MODEL_ARROWS, folder / "model.svg")
    draw_diagram(LAYERS, LAYER_ARROWS, folder / "layers.svg")
    draw_diagram(SERVICE, SERVICE_ARROWS, folder / "service.svg")
    draw_cells(folder / "cells.svg")
    draw_importance(document, folder / "importance.svg")
    draw_results(folder / "results.svg")


if __name__ == "__main__":
    main()
