from itertools import pairwise

import pytest
from hypothesis import given

from genrst.document import Document
from genrst.rendering.folding import Area, folding_layout, summaries
from genrst.rendering.labels import Range, levels, range_of
from genrst.rendering.measure import is_right_to_left
from genrst.rendering.svg import Style, layout
from genrst.trees.measures import promotion_sets
from genrst.trees.node import Leaf, Unit, units
from tests.rendering.geometry_checks import assert_inside
from tests.rendering.samples import SCRIPTS, bridge, row
from tests.strategies import documents

styles = pytest.mark.parametrize("style", ["compact", "classic"])


@pytest.mark.slow
@styles
@given(document=documents())
def test_areas_are_nested_and_siblings_do_not_meet(style: Style, document: Document):
    assert document.tree is not None
    folding = folding_layout(document, style)
    for unit in units(document.tree):
        outer = folding.areas[range_of(unit)]
        for child in unit.children:
            inner = folding.areas[range_of(child)]
            assert outer.left <= inner.left
            assert inner.right <= outer.right
            assert outer.top <= inner.top
            assert inner.bottom <= outer.bottom
        spans = sorted(_along(folding.axis, folding.areas[range_of(child)]) for child in unit.children)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.slow
@styles
@given(document=documents())
def test_a_folded_unit_is_smaller_and_its_anchor_is_well_inside(style: Style, document: Document):
    """What `folding.js` relies on."""
    assert document.tree is not None
    folding = folding_layout(document, style)
    for unit in units(document.tree):
        area = folding.areas[range_of(unit)]
        start, end = _along(folding.axis, area)
        assert end - start > folding.size
        assert start + 0.4 * folding.size < area.anchor < end - 0.4 * folding.size


def _along(axis: str, area: Area) -> tuple[float, float]:
    return (area.left, area.right) if axis == "x" else (area.top, area.bottom)


@styles
@pytest.mark.parametrize("document", [bridge(), row(SCRIPTS["arabic"])], ids=["ltr", "rtl"])
def test_the_picture_is_the_plain_one_with_summaries(style: Style, document: Document):
    assert document.tree is not None
    plain, folding = layout(document, style), folding_layout(document, style).picture
    assert [box.lines for box in folding.boxes if box.kind != "summary"] == [box.lines for box in plain.boxes]
    assert len([shape for shape in folding.shapes if shape.kind != "fold"]) == len(plain.shapes)
    summarised = {box.node for box in folding.boxes if box.kind == "summary"}
    assert summarised == {range_of(unit) for unit in units(document.tree)}
    assert_inside(folding)
    # Wider only where a summary is longer than every EDU; then all moves alike.
    shift = folding.width - plain.width if is_right_to_left(document.text or "") else 0.0
    places = [box.x - shift for box in folding.boxes if box.kind != "summary"]
    assert places == pytest.approx([box.x for box in plain.boxes])


@given(document=documents())
def test_summaries_start_with_the_promoted_texts(document: Document):
    assert document.tree is not None
    sets = promotion_sets(document.tree)
    for key, lines in summaries(document, 100_000, 1).items():
        first = document.edu_texts[min(sets[key])]
        assert " ".join(lines).startswith(first.split()[0])


def test_summaries_show_what_is_left_out():
    tree = Unit("joint", "NN", (Unit("cause", "NS", (Leaf(0), Leaf(1))), Unit("cause", "SN", (Leaf(2), Leaf(3)))))
    document = Document.from_edus("four", ["One,", "two,", "three,", "four."], tree)
    expected: dict[Range, list[str]] = {(0, 4): ["1–4 · One, … four."], (0, 2): ["1–2 · One,"], (2, 4): ["3–4 · four."]}
    assert summaries(document, 1000, 1, with_range=True) == expected
    assert summaries(document, 60, 1)[0, 4] == ["One, …"]


def test_many_nuclei_need_no_more_room_than_a_few():
    tree: Leaf | Unit = Leaf(0)
    for edu in range(1, 3000):
        tree = Unit("joint", "NN", (tree, Leaf(edu)))
    document = Document.from_edus("long", ["x"] * 3000, tree)
    assert len(summaries(document, 100, 1)) == 2999
    assert max(levels([tree]).values()) == 2999
