from genrst.rendering.colours import Scheme
from genrst.rendering.geometry import MARGIN
from genrst.rendering.legend import layout_legend, with_legend
from genrst.rendering.svg import layout
from tests.rendering.samples import bridge

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
