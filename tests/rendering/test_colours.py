from itertools import combinations
from math import dist
from operator import mul

import pytest

from genrst.rendering.colours import (
    CLASSES,
    DARK,
    LIGHT,
    Scheme,
    Theme,
    colour_number,
    relation_colours,
    relation_scheme,
)
from genrst.rendering.geometry import MARGIN, layout_legend, with_legend
from genrst.rendering.svg import layout
from genrst.trees.relations import load_inventory
from tests.rendering.samples import bridge


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_is_readable_on_its_paper(theme: Theme):
    for colour in (theme.ink, theme.faint, *theme.relations):
        assert _contrast(colour, theme.paper) >= 4.5, colour


def test_themes_have_the_same_number_of_colours_all_different():
    for theme in (LIGHT, DARK):
        assert len(set(theme.relations)) == len(theme.relations) == len(CLASSES) == 15


def test_all_classes_have_different_colours():
    assert [colour_number(name) for name in load_inventory("gum").coarse_relations] == [
        CLASSES.index(name) for name in load_inventory("gum").coarse_relations
    ]
    assert colour_number("background") == colour_number("context"), "RST-DT's classes have those of GUM's"


# Machado, Oliveira and Fernandes (2009): how people see without red, green or blue cones.
VISIONS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


@pytest.mark.parametrize("vision", VISIONS.values(), ids=VISIONS.keys())
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_differ_for_all_eyes(theme: Theme, vision: tuple[tuple[float, float, float], ...]):
    places = [_lab([sum(map(mul, row, _linear(colour))) for row in vision]) for colour in theme.relations]
    assert min(dist(one, other) for one, other in combinations(places, 2)) > 9


def _lab(channels: list[float]) -> tuple[float, float, float]:
    """The place of a colour in CIE 1976 L*a*b*."""
    red, green, blue = (max(0.0, min(value, 1.0)) for value in channels)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_the_legend_has_a_key_per_class_families_together():
    scheme = relation_scheme(["joint-list", "causal-cause", "causal-result", "elaboration-additional", "span"])
    assert scheme.keys == [
        ("elaboration-additional", "elaboration"),
        ("causal-cause", "causal"),
        ("joint-list", "joint"),
    ]


def test_relations_of_a_class_share_a_colour():
    colours = relation_colours(["elaboration-additional", "elaboration-attribute", "joint-list", ""])
    assert colours["elaboration-additional"] == colours["elaboration-attribute"] != colours["joint-list"]
    assert "" not in colours


def test_odd_names_have_colours():
    assert set(relation_colours(["\ud800", "关系"]).values()) <= set(range(15))


def _contrast(colour: str, paper: str) -> float:
    lighter, darker = sorted((_luminance(colour), _luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(colour: str) -> list[float]:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]


# Legends

KEYS = [(f"key-{number}", f"what number {number} means") for number in range(5)]


def test_keys_stand_in_rows_that_fit():
    wide, narrow = layout_legend(KEYS, 2000.0, 100.0), layout_legend(KEYS, 400.0, 100.0, "heading")
    assert len({box.y for box in wide.boxes}) == 1
    assert len({box.y for box in narrow.boxes}) == 4
    assert all(box.x + box.width <= 400.0 - MARGIN for box in narrow.boxes)
    assert [shape.relation for shape in narrow.shapes] == [name for name, _ in KEYS]
    assert min(box.y for box in wide.boxes) >= 100.0


def test_a_legend_is_below_its_picture_and_may_be_wider():
    picture = layout(bridge(), "compact")
    assert with_legend(picture, Scheme({})) is picture
    long = with_legend(picture, Scheme({}, keys=[("a", "x" * 500)]))
    assert long.height > picture.height
    assert long.width > 3000 > picture.width
    assert (long.boxes[: len(picture.boxes)], long.shapes[: len(picture.shapes)]) == (picture.boxes, picture.shapes)
