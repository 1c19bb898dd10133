import pytest

from genrst.document import Document
from genrst.rendering.labels import levels, nucleus_of, range_label, shared_relation, titles
from genrst.trees.node import SPAN, Leaf, Unit
from tests.rendering.samples import bridge


def test_ranges_are_counted_from_one():
    assert range_label(Leaf(0)) == "1"
    assert range_label(Unit("joint", "NN", (Leaf(1), Leaf(2)))) == "2–3"


@pytest.mark.parametrize(
    ("nuclearity", "expected"), [("SN", [1]), ("SSN", [2, 2]), ("NSNS", [0, 2]), ("SNSSN", [1, 1, 1])]
)
def test_satellites_point_to_the_nearest_nucleus(nuclearity: str, expected: list[int]):
    satellites = [position for position, letter in enumerate(nuclearity) if letter == "S"]
    assert [nucleus_of(nuclearity, position) for position in satellites] == expected


def test_only_several_nuclei_share_a_relation():
    assert shared_relation(Unit("joint", "NN", (Leaf(0), Leaf(1)))) == "joint"
    assert shared_relation(Unit("cause", "NS", (Leaf(0), Leaf(1)))) == ""
    mixed = Unit.from_relations([SPAN, "cause", "joint"], "NSN", (Leaf(0), Leaf(1), Leaf(2)))
    assert shared_relation(mixed) == "joint"


def test_levels_count_the_units_around_a_node():
    tree = bridge().tree
    assert tree is not None
    found = levels([tree])
    assert (found[0, 6], found[0, 4], found[4, 5], found[2, 3]) == (0, 1, 2, 3)


def test_titles_tell_range_relation_role_probability_offsets_and_text():
    tips = titles(bridge())
    assert tips[0, 2] == "EDUs 1–2 · purpose NS · nucleus · unit 88%\ncharacters 0–74"
    assert tips[0, 6] == "EDUs 1–6 · elaboration NS\ncharacters 0–204"
    assert tips[2, 3] == "EDU 3 · satellite: attribution\ncharacters 75–106\nalthough shop owners had warned"
    sure = Unit("purpose", "NS", (Leaf(0), Leaf(1)), (), 0.875, 0.5, True)
    tips = titles(Document.from_edus("sure", ["One", "two."], sure))
    assert tips[0, 2] == "EDUs 1–2 · purpose NS · unit 88% (assumed) · label 50%\ncharacters 0–8"
    assert titles(Document.from_edus("plain", ["One."]))[0, 1] == "EDU 1\ncharacters 0–4\nOne."
