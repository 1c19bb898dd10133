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
    draw_relations,
    draw_results,
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


def certain() -> genrst.Document:
    """What a large chart made of a text, with its probabilities."""

    def unit(relation: str, nuclearity: str, probability: float, *children: genrst.Tree | int) -> genrst.Unit:
        nodes = tuple(genrst.Leaf(child) if isinstance(child, int) else child for child in children)
        return genrst.Unit(relation, nuclearity, nodes, probability=probability)

    edus = [
        *("The service stopped two years ago", "when a storm damaged the east pier.", "Repairs took longer"),
        *("than planned", "because divers found cracks in the foundations,"),
        *("and the bill rose to four million crowns.", "To pay for it,", "the council raised mooring fees"),
        *("and sold an unused warehouse.", "Commuters are less pleased:", "the last boat will leave at seven,"),
        *("so anyone", "working late", "must still take the bus."),
    ]
    cracks = unit("causal", "NS", 0.691, unit("adversative", "NS", 0.921, 2, 3), 4)
    repairs = unit("causal", "NS", 0.51, unit("causal", "NS", 1.0, 0, 1), unit("causal", "NS", 1.0, cracks, 5))
    paid = unit("purpose", "SN", 1.0, 6, unit("joint", "NN", 0.934, 7, 8))
    late = unit("same-unit", "NN", 0.889, unit("elaboration", "NS", 0.953, 11, 12), 13)
    bus = unit("organization", "SN", 1.0, 9, unit("causal", "NS", 0.641, 10, late))
    tree = unit("joint", "NN", 1.0, unit("causal", "NS", 0.751, repairs, paid), bus)
    return genrst.Document.from_edus("repairs", edus, tree, paragraph_starts=[9])


def main() -> None:
    """Write every picture."""
    draw_trees(IMAGES)
    draw_parsed(IMAGES)
    draw_charts(IMAGES)


def draw_trees(folder: Path) -> None:
    """The example, as one tree and against another; how certain a tree is; a tree with three nuclei."""
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    predicted = genrst.read(ROOT / "examples" / "predicted" / "ferry.json")
    pictures = {
        "ferry-compact.svg": render_svg(document, style="compact"),
        "ferry-classic.svg": render_svg(document, style="classic"),
        "ferry-difference.svg": render_difference_svg(document, predicted),
        "certainty.svg": render_svg(certain(), style="compact", colours="certainty"),
        "nary.svg": render_svg(NARY, style="classic"),
    }
    for name, picture in pictures.items():
        (folder / name).write_text(picture, encoding="utf-8")


def draw_parsed(folder: Path) -> None:
    """What the parser makes of a text, drawn as `genrst parse` does it."""
    document = genrst.load()(PARSED, id="pool")
    assert document.tree is not None
    document = replace(document, tree=genrst.flatten(document.tree))
    (folder / "parsed.svg").write_text(render_svg(document, style="compact"), encoding="utf-8")


def draw_charts(folder: Path) -> None:
    """Diagrams and bar charts."""
    document = genrst.read(ROOT / "examples" / "ferry.rs3")
    predicted = genrst.read(ROOT / "examples" / "predicted" / "ferry.json")
    draw_diagram(MODEL, MODEL_ARROWS, folder / "model.svg")
    draw_diagram(LAYERS, LAYER_ARROWS, folder / "layers.svg")
    draw_diagram(SERVICE, SERVICE_ARROWS, folder / "service.svg")
    draw_cells(folder / "cells.svg")
    draw_importance(document, folder / "importance.svg")
    draw_relations([document], folder / "relations.svg")
    draw_results(folder / "results.svg")
    plot_systems({"ferry": genrst.evaluate([document], [predicted])}, folder / "scores.svg")


if __name__ == "__main__":
    main()
