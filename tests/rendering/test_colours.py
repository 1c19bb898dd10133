import pytest

from genrst.rendering.colours import DARK, LIGHT, Theme, colour_number, relation_colours


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
