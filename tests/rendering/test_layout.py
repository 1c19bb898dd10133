import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.characters import printable
from genrst.document import Document
from genrst.errors import UsageError
from genrst.formats.rs3_reader import read_rs3
from genrst.rendering.geometry import Picture
from genrst.rendering.svg import Style, layout
from genrst.trees.node import SPAN, Leaf, Unit, preorder, units
from tests.rendering.geometry_checks import assert_sound, crossings
from tests.rendering.samples import BRIDGE, SCRIPTS, bridge, chain, row, several_satellites
from tests.strategies import documents, nary_trees

STYLES: tuple[Style, ...] = ("classic", "compact")
styles = pytest.mark.parametrize("style", STYLES)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


@st.composite
def mixed_units(draw: st.DrawFn) -> Document:
    """A unit with nuclei and satellites in any order, as some files have them."""
    nuclearity = draw(st.text("NS", min_size=2, max_size=8).filter(lambda letters: "N" in letters))
    names = st.sampled_from(["joint", "elaboration-object-attribute-e", "evaluation", "x" * 60, ""])
    relations = [draw(names) for _ in nuclearity]
    if nuclearity.count("N") == 1:
        relations[nuclearity.index("N")] = SPAN
    tree = Unit.from_relations(relations, nuclearity, tuple(map(Leaf, range(len(nuclearity)))))
    return Document.from_edus("mixed", [draw(ANY_TEXT) for _ in nuclearity], tree)


@pytest.mark.slow
@styles
@given(document=documents())
def test_no_boxes_overlap_and_nothing_is_outside(style: Style, document: Document):
    assert_sound(layout(document, style))


@pytest.mark.slow
@styles
@given(document=st.one_of(documents(nary_trees(min_edus=8)), mixed_units()))
def test_no_line_runs_through_a_text(style: Style, document: Document):
    assert not list(crossings(layout(document, style)))


@styles
@given(document=mixed_units())
def test_nuclei_and_satellites_in_any_order(style: Style, document: Document):
    assert_sound(layout(document, style))


@styles
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts(style: Style, script: str):
    assert_sound(layout(row(SCRIPTS[script]), style))


@styles
@pytest.mark.parametrize("document", [row(["One."]), row([""]), bridge(), several_satellites()], ids=repr)
def test_small_documents(style: Style, document: Document):
    picture = layout(document, style)
    assert_sound(picture)
    assert not list(crossings(picture))


@styles
def test_a_document_without_a_tree_or_text_still_shows_its_edus(style: Style):
    segmented = Document.from_edus("segmented", BRIDGE)
    assert _edu_texts(layout(segmented, style)) == [edu.replace(" ", "") for edu in BRIDGE]
    textless = Document("textless", None, bridge().edus, bridge().tree)
    assert _edu_texts(layout(textless, style)) == [f"EDU{number}" for number in range(1, 7)]


@pytest.mark.slow
@styles
@pytest.mark.parametrize("is_right", [True, False])
def test_chains_of_2000_units(style: Style, is_right: bool):
    picture = layout(chain(2000, is_right), style)
    assert_sound(picture)
    assert len(picture.boxes) + len(picture.shapes) < 20_000
    assert picture.height < 200_000
    if style == "compact":
        assert picture.width < 8_000


@styles
@pytest.mark.parametrize("nuclearity", ["N" * 300, "N" + "S" * 299, "S" * 299 + "N"])
def test_very_wide_units(style: Style, nuclearity: str):
    tree = Unit("joint", nuclearity, tuple(map(Leaf, range(300))))
    assert_sound(layout(Document.from_edus("wide", ["A few words."] * 300, tree), style))


@styles
@given(document=documents())
def test_every_text_and_relation_is_shown(style: Style, document: Document):
    picture = layout(document, style)
    assert _edu_texts(picture) == ["".join(printable(text).split()) for text in document.edu_texts]
    assert document.tree is not None
    shown = {(box.node, "".join(box.lines)) for box in picture.boxes if box.kind == "relation"}
    for unit in units(document.tree):
        children = {(child.start, child.stop) for child in unit.children}
        if unit.is_multinuclear:
            assert shown & {(node, unit.relation) for node in children | {(unit.start, unit.stop)}}
        for letter, child, relation in zip(unit.nuclearity, unit.children, unit.relations, strict=True):
            assert letter == "N" or ((child.start, child.stop), relation) in shown


@given(document=documents())
def test_classic_draws_a_line_over_the_columns_of_every_node(document: Document):
    picture = layout(document, "classic")
    assert document.tree is not None
    lines = {shape.node: sorted(shape.points) for shape in picture.shapes if shape.kind == "span"}
    assert set(lines) == {(node.start, node.stop) for node in preorder(document.tree)}
    for (start, stop), (left, right) in lines.items():
        assert (left[0], right[0]) in [
            (lines[start, start + 1][0][0], lines[stop - 1, stop][1][0]),
            (lines[stop - 1, stop][0][0], lines[start, start + 1][1][0]),
        ]


@given(document=documents())
def test_classic_texts_stay_below_their_own_line(document: Document):
    picture = layout(document, "classic")
    lines = {shape.node: sorted(shape.points) for shape in picture.shapes if shape.kind == "span"}
    for box in picture.boxes:
        if box.kind in ("text", "number"):
            (left, top), (right, _) = lines[box.node]
            assert left <= box.x + 1e-6
            assert box.x + box.width <= right + 1e-6
            assert top < box.y


def test_classic_arrows_lead_from_satellite_to_nucleus():
    picture = layout(several_satellites(), "classic")
    centres = {box.node: box.x + box.width / 2 for box in picture.boxes if box.kind == "number"}
    arcs = {shape.node: shape.points for shape in picture.shapes if shape.kind == "satellite"}
    assert set(arcs) == {(edu, edu + 1) for edu in (0, 1, 3, 4)}
    for node, points in arcs.items():
        assert points[0][0] == pytest.approx(centres[node])
        assert abs(points[-1][0] - centres[2, 3]) < 40


def test_compact_has_an_edu_per_row_in_order_and_a_branch_per_child():
    document = bridge()
    assert document.tree is not None
    picture = layout(document, "compact")
    rows = [box.y for box in picture.boxes if box.kind == "text"]
    assert rows == sorted(rows)
    branches = [shape.node for shape in picture.shapes if shape.kind in ("nucleus", "satellite")]
    assert sorted(branches) == sorted((node.start, node.stop) for node in list(preorder(document.tree))[1:])
    marks = {box.node: box.lines for box in picture.boxes if box.kind == "mark"}
    assert (marks[0, 4], marks[4, 6], marks[4, 5]) == (("N",), ("S",), ("N",))


def test_right_to_left_texts_mirror_the_picture():
    for style in STYLES:
        arabic, russian = layout(row(SCRIPTS["arabic"]), style), layout(row(SCRIPTS["russian"]), style)
        assert _first_text_is_on_the_right(arabic)
        assert not _first_text_is_on_the_right(russian)


def test_unknown_style_is_an_error():
    with pytest.raises(UsageError, match="got 'round'"):
        layout(bridge(), "round")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.corpus
@styles
def test_gum(corpora, style: Style):
    paths = sorted((corpora / "gum" / "rs4").glob("*.rs4"))[::13]
    assert len(paths) >= 20
    for path in paths[:20]:
        assert_sound(layout(read_rs3(path.read_bytes(), path), style))


def _edu_texts(picture: Picture) -> list[str]:
    boxes = sorted((box for box in picture.boxes if box.kind == "text"), key=lambda box: box.node)
    return ["".join("".join(box.lines).split()) for box in boxes]


def _first_text_is_on_the_right(picture: Picture) -> bool:
    """Whether the picture starts at its right side: the first column, or the root of the tree."""
    marks = [box for box in picture.boxes if box.kind in ("number", "mark")]
    return min(marks, key=lambda box: box.node).x > picture.width / 2
