import pytest

from genrst.rendering.colours import (
    DARK,
    LIGHT,
    Scheme,
    Theme,
    colour_number,
    layout_legend,
    relation_colours,
    with_legend,
)
from genrst.rendering.geometry import MARGIN
from genrst.rendering.svg import layout
from tests.rendering.samples import bridge


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_is_readable_on_its_paper(theme: Theme):
    for colour in (theme.ink, theme.faint, *theme.relations):
        assert _contrast(colour, theme.paper) >= 4.5, colour


def test_themes_have_the_same_number_of_colours_all_different():
    for theme in (LIGHT, DARK):
        assert len(set(theme.relations)) == len(theme.relations) == 12


def test_frequent_classes_have_different_colours():
    frequent = ["elaboration", "joint", "attribution", "same-unit", "contrast", "explanation"]
    assert len({colour_number(name) for name in frequent}) == len(frequent)


def test_relations_of_a_class_share_a_colour():
    colours = relation_colours(["elaboration-additional", "elaboration-attribute", "joint-list", ""])
    assert colours["elaboration-additional"] == colours["elaboration-attribute"] != colours["joint-list"]
    assert "" not in colours


def test_odd_names_have_colours():
    assert set(relation_colours(["\ud800", "关系"]).values()) <= set(range(12))


def _contrast(colour: str, paper: str) -> float:
    lighter, darker = sorted((_luminance(colour), _luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
