"""Checks of pictures that hold for every layout."""

from collections.abc import Iterator
from itertools import pairwise

from genrst.rendering.geometry import Picture, Point, Shape, TextBox

TOLERANCE = 1e-6


def assert_sound(picture: Picture) -> None:
    """No two boxes overlap, and nothing lies outside the canvas."""
    assert_inside(picture)
    assert not [(left.lines, right.lines) for left, right in overlaps(picture)]


def assert_inside(picture: Picture) -> None:
    for box in picture.boxes:
        assert box.x >= 0, box
        assert box.y >= 0, box
        assert box.x + box.width <= picture.width, box
        assert box.y + box.height <= picture.height, box
    for shape in picture.shapes:
        assert all(0 <= x <= picture.width and 0 <= y <= picture.height for x, y in shape.points), shape


def overlaps(picture: Picture) -> Iterator[tuple[TextBox, TextBox]]:
    """Pairs of boxes with a common area, found by a sweep along the longer side."""
    is_wide = picture.width > picture.height
    boxes = sorted(picture.boxes, key=lambda box: box.x if is_wide else box.y)
    active: list[TextBox] = []
    for box in boxes:
        edge = box.x if is_wide else box.y
        active = [other for other in active if (other.x + other.width if is_wide else other.y + other.height) > edge]
        yield from ((other, box) for other in active if _overlap(other, box))
        active.append(box)


def _overlap(left: TextBox, right: TextBox) -> bool:
    across = min(left.x + left.width, right.x + right.width) - max(left.x, right.x)
    down = min(left.y + left.height, right.y + right.height) - max(left.y, right.y)
    return across > TOLERANCE and down > TOLERANCE


def crossings(picture: Picture, inset: float = 1.0) -> Iterator[tuple[Shape, TextBox]]:
    """Lines that run through a box, its outermost pixels apart."""
    for shape in picture.shapes:
        points = list(_trace(shape))
        for box in picture.boxes:
            left, right = box.x + inset, box.x + box.width - inset
            top, bottom = box.y + inset, box.y + box.height - inset
            if any(left < x < right and top < y < bottom for x, y in points):
                yield shape, box


def _trace(shape: Shape) -> Iterator[Point]:
    """Points along a shape, a few pixels apart."""
    if shape.is_curved:
        corners = shape.points
        for at in range(0, len(corners) - 1, 3):
            yield from (_bezier(corners[at : at + 4], step / 40) for step in range(41))
    else:
        for (x, y), (end_x, end_y) in pairwise(shape.points):
            steps = 1 + int(max(abs(end_x - x), abs(end_y - y)) / 2)
            yield from ((x + (end_x - x) * step / steps, y + (end_y - y) * step / steps) for step in range(steps + 1))


def _bezier(corners: tuple[Point, ...], t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    x, y = (sum(weight * corner[axis] for weight, corner in zip(weights, corners, strict=True)) for axis in (0, 1))
    return x, y
