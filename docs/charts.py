"""The charts and diagrams of the docs, with matplotlib; called by `docs/make_pictures.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from genrst.document import Document
from genrst.trees.measures import importance

BLUE, GREY, ORANGE = "#3b76af", "#c8ccd2", "#d9822b"

Box = tuple[float, float, str]
"""Where the middle of a box is, and what stands in it."""

MODEL: dict[str, Box] = {
    "words": (0, 0, "words of an EDU"),
    "edu": (0, 1, "EDU vector\nBiLSTM, eq. 2–3"),
    "unit": (0, 2, "unit vector\nTreeLSTM, eq. 4–5"),
    "stack": (0, 3, "stack\nLSTM, eq. 6"),
    "features": (1.6, 3, "features\nsyntax, layout, eq. 7"),
    "state": (0.8, 4, "state, eq. 8"),
    "actions": (0, 5, "next action\np_trans, eq. 9"),
    "generated": (1.6, 5, "next EDU's words\np_gen, eq. 10–14"),
}
MODEL_ARROWS = (
    ("words", "edu"), ("edu", "unit"), ("unit", "stack"), ("stack", "state"), ("features", "state"),
    ("state", "actions"), ("state", "generated"),
)  # fmt: skip

LAYERS: dict[str, Box] = {
    "trees": (0.8, 0, "trees"),
    "text": (3.2, 0, "text"),
    "encoder": (4.8, 0, "encoder"),
    "root": (6.4, 0, "files at the root,\nfor every room"),
    "evaluation": (0, 1, "evaluation"),
    "formats": (1.6, 1, "formats"),
    "corpora": (1.6, 2, "corpora"),
    "chart": (3.2, 2, "chart"),
    "rnng": (4.8, 2, "rnng"),
    "rendering": (0, 3, "rendering, outputs"),
    "training": (1.6, 3, "training"),
    "parser": (4, 3, "parser"),
    "bulk": (3.2, 4, "bulk"),
    "serve": (4.8, 4, "serve"),
    "cli": (2.4, 5, "cli, integrations"),
}
LAYER_ARROWS = (
    ("trees", "formats"), ("trees", "evaluation"), ("formats", "corpora"), ("evaluation", "rendering"),
    ("evaluation", "chart"), ("evaluation", "rnng"), ("text", "chart"), ("encoder", "chart"),
    ("text", "rnng"), ("encoder", "rnng"),
    ("corpora", "training"), ("chart", "training"), ("rnng", "training"), ("chart", "parser"), ("rnng", "parser"),
    ("parser", "bulk"), ("parser", "serve"), ("rendering", "bulk"), ("rendering", "serve"), ("bulk", "cli"),
    ("serve", "cli"), ("training", "cli"),
)  # fmt: skip
SERVICE: dict[str, Box] = {
    "first": (0, 0, "a client"),
    "second": (1.6, 0, "another"),
    "third": (3.2, 0, "a third"),
    "guard": (1.6, 1, "host, origin, key,\nsize of the body"),
    "documents": (1.6, 2, "JSON to documents"),
    "tools": (3.2, 3, "draw, convert,\nscore"),
    "queue": (0.8, 3, "a queue, bounded in\nnumber and time"),
    "search": (0.8, 4, "one search over\nseveral texts"),
    "answers": (1.6, 5, "JSON, a picture,\na file"),
}
SERVICE_ARROWS = (
    ("first", "guard"), ("second", "guard"), ("third", "guard"), ("guard", "documents"), ("documents", "queue"),
    ("documents", "tools"), ("queue", "search"), ("search", "answers"), ("tools", "answers"),
)  # fmt: skip

RESULTS = {
    "the paper's model (23 M)": 32.1,
    "en-generative (3.7 M)": 40.7,
    "MPNet, generative (119 M)": 47.0,
    "MPNet, step by step (119 M)": 51.6,
    "en (112 M, in 4 bits)": 51.7,
    "MPNet, a chart (112 M)": 54.9,
    "UniRST, published (560 M)": 51.2,
}
"""F on GUM test by parser, with the number of its parameters, as docs/results/index.md has it."""


def draw_diagram(boxes: Mapping[str, Box], arrows: Sequence[tuple[str, str]], path: Path) -> None:
    """Boxes, and an arrow from each to what is made of it."""
    xs, ys = [x for x, _, _ in boxes.values()], [y for _, y, _ in boxes.values()]
    figure, axes = _figure(2.4 + 1.7 * max(xs), 0.8 + 0.75 * max(ys))
    for source, target in arrows:
        (x, y, _), (to_x, to_y, _) = boxes[source], boxes[target]
        style = {"arrowstyle": "-|>", "color": "#5b6470", "shrinkA": 1, "shrinkB": 1}
        axes.annotate("", (to_x, to_y - 0.3), (x, y + 0.3), arrowprops=style)
    for x, y, text in boxes.values():
        axes.add_patch(
            FancyBboxPatch((x - 0.62, y - 0.26), 1.24, 0.52, "round,pad=0.04", facecolor="#eef3f8", edgecolor=BLUE)
        )
        axes.text(x, y, text, ha="center", va="center", fontsize=8)
    axes.set_xlim(min(xs) - 0.8, max(xs) + 0.8)
    axes.set_ylim(min(ys) - 0.5, max(ys) + 0.5)
    axes.axis("off")
    _save(figure, path)


def draw_cells(path: Path, n_edus: int = 12, bound: int = 6, step: int = 11) -> None:
    """The cells of bag-level search: those of one step, those that the bound on the stack leaves out."""
    figure, axes = _figure(4.6, 4.2)
    for i in range(n_edus + 1):
        for j in range(max(i, 1)):
            colour = ORANGE if i + j == step and i - j <= bound else GREY if i - j > bound else "#dfe9f3"
            axes.add_patch(Rectangle((i - 0.45, j - 0.45), 0.9, 0.9, facecolor=colour))
    axes.annotate("GEN", (5, -0.9), (3.4, -0.9), arrowprops={"arrowstyle": "-|>"}, va="center", annotation_clip=False)
    axes.annotate("RE", (-0.9, 4.6), (-0.9, 3), arrowprops={"arrowstyle": "-|>"}, ha="center", annotation_clip=False)
    axes.set_xlim(-1.2, n_edus + 0.6)
    axes.set_ylim(-1.2, n_edus - 0.4)
    axes.set_xlabel("i, EDUs generated")
    axes.set_ylabel("j, reductions")
    axes.set_title("orange: one step; grey: beyond the bound on the stack", fontsize=9)
    _save(figure, path)


def draw_importance(document: Document, path: Path) -> None:
    """How important each EDU of a document is."""
    assert document.tree is not None
    scores = importance(document.tree)
    texts = [f"{edu[:58]}…" if len(edu) > 60 else edu for edu in document.edu_texts]
    _draw_bars(texts, scores, "importance", path)


def draw_results(path: Path) -> None:
    """F on test by parser."""
    _draw_bars(list(RESULTS), list(RESULTS.values()), "F, GUM test, gold EDUs", path)


def _draw_bars(names: Sequence[str], values: Sequence[float], label: str, path: Path) -> None:
    figure, axes = _figure(7, 0.9 + 0.26 * len(names))
    bars = axes.barh(range(len(names)), values, color=BLUE)
    axes.bar_label(bars, list(map(str, values)), padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), list(names), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _save(figure: Figure, path: Path) -> None:
    # Without the salt and with a date no two files would be the same.
    with rc_context({"svg.hashsalt": "genrst", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
