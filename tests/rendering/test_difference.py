import re
from collections import Counter
from dataclasses import replace
from typing import Literal
from xml.etree import ElementTree

import pytest
from hypothesis import given

from genrst.characters import printable
from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.counts import Counts
from genrst.evaluation.report import evaluate
from genrst.rendering.colours import BLUE, BROWN, GREEN, PURPLE, RED
from genrst.rendering.difference import (
    STATUS_COLOURS,
    Difference,
    compare,
    render_difference_html,
    render_difference_image,
    render_difference_svg,
)
from genrst.rendering.geometry import Picture
from genrst.trees.node import SPAN, Leaf, Unit
from tests.evaluation.samples import WordPair, word_pairs
from tests.rendering.page_parser import parse_page
from tests.rendering.samples import BRIDGE, SCRIPTS, bridge, chain, row
from tests.rendering.test_svg import HOSTILE, NAMESPACE


def other_bridge() -> Document:
    """Another tree over the same EDUs: two units the same, one with other nuclearity, one with both, one missing."""
    attribution = Unit("attribution", "NS", (Leaf(2), Leaf(3)))
    contrast = Unit("contrast", "NN", (attribution, Unit("cause", "NS", (Leaf(4), Leaf(5)))))
    return replace(bridge(), tree=Unit("elaboration", "NS", (Unit("purpose", "NS", (Leaf(0), Leaf(1))), contrast)))


def resegmented_bridge() -> Document:
    """The same text with the first two EDUs as one."""
    tree = Unit("joint", "NN", (Unit("attribution", "SN", (Leaf(1), Leaf(2))), Unit("joint", "NN", (Leaf(3), Leaf(4)))))
    edus = [f"{BRIDGE[0]} {BRIDGE[1]}", *BRIDGE[2:]]
    return Document.from_edus("bridge", edus, Unit("elaboration", "NS", (Leaf(0), tree)))


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["coarse", "fine"])
@given(pair=word_pairs())
def test_counts_are_those_of_the_evaluation(labels: Literal["coarse", "fine"], pair: WordPair):
    scores = evaluate([pair.gold], [pair.predicted], labels=labels).micro("parseval")
    assert compare(pair.gold, pair.predicted, labels).comparison.counts == scores


@given(pair=word_pairs())
def test_statuses_add_up_to_the_counts(pair: WordPair):
    difference = compare(pair.gold, pair.predicted)
    counts = difference.comparison.counts
    found = Counter(one.status for one in difference.pairs)
    same_span = sum(found[status] for status in ("match", "nuclearity", "relation", "both"))
    assert counts["S"] == Counts(same_span, same_span + found["missing"], same_span + found["extra"])
    assert found["match"] + found["relation"] == counts["N"].tp
    assert found["match"] + found["nuclearity"] == counts["R"].tp
    assert found["match"] == counts["F"].tp


@given(pair=word_pairs())
def test_boundaries_are_those_of_the_segmentation(pair: WordPair):
    counts = evaluate([pair.gold], [pair.predicted]).segmentation()
    first, second = compare(pair.gold, pair.predicted).boundaries()
    assert (len(first), len(second)) == (counts.n_gold - counts.tp, counts.n_pred - counts.tp)


@given(pair=word_pairs())
def test_a_tree_does_not_differ_from_itself(pair: WordPair):
    difference = compare(pair.gold, pair.gold)
    assert {one.status for one in difference.pairs} <= {"match"}
    assert difference.boundaries() == (set(), set())
    assert difference.has_same_edus


def test_empty_edus_are_counted_as_in_the_evaluation():
    edus = (Span(0, 1), Span(1, 1), Span(1, 1), Span(1, 2))
    inner = Unit("joint", "NN", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
    first = Document("empty", "ab", edus, Unit("cause", "NS", (inner, Leaf(3))))
    second = Document("empty", "ab", edus, Unit("joint", "NNNN", tuple(map(Leaf, range(4)))))
    for gold, predicted in ((first, second), (second, first), (first, first)):
        scores = evaluate([gold], [predicted]).micro("parseval")
        difference = compare(gold, predicted)
        assert difference.comparison.counts == scores
        assert len({one.first for one in difference.pairs if one.first}) == scores["S"].n_gold


def test_statuses_of_the_example():
    first, second = compare(bridge(), other_bridge()).statuses()
    shared = {(0, 6): "match", (0, 2): "match", (2, 4): "nuclearity", (4, 6): "both"}
    assert first == shared | {(0, 4): "missing"}
    assert second == shared | {(2, 6): "extra"}


def test_fine_labels_tell_apart_what_coarse_ones_do_not():
    first = Document.from_edus("two", ["One,", "two."], Unit("elaboration-additional", "NS", (Leaf(0), Leaf(1))))
    second = replace(first, tree=Unit("Elaboration-Attribute", "NS", (Leaf(0), Leaf(1))))
    assert [pair.status for pair in compare(first, second).pairs] == ["match"]
    assert [pair.status for pair in compare(first, second, "fine").pairs] == ["relation"]


def test_what_cannot_be_compared():
    segmented = Document.from_edus("bridge", list(BRIDGE))
    for pair in ((bridge(), segmented), (segmented, bridge())):
        with pytest.raises(GenrstError, match=r"^bridge: the document must have a tree, but is only segmented$"):
            compare(*pair)
    with pytest.raises(GenrstError, match="text must be the same"):
        compare(bridge(), row(["Something", "else."]))
    with pytest.raises(UsageError, match="got 'middling'"):
        compare(bridge(), bridge(), "middling")  # type: ignore[arg-type]


# Pictures.


def dots(svg: str) -> list[dict[tuple[int, int], str]]:
    """For each tree of a picture, the colour class of the dot of each unit."""
    found: list[dict[tuple[int, int], str]] = []
    for tree in ElementTree.fromstring(svg).findall(f"{NAMESPACE}g"):
        found.append({})
        for group in tree.findall(f"{NAMESPACE}g"):
            for path in group.findall(f"{NAMESPACE}path"):
                kind, *colour = (path.get("class") or "").split()
                if kind == "dot":
                    found[-1][int(group.attrib["data-start"]), int(group.attrib["data-stop"])] = "".join(colour)
    return found


def colours(difference: Difference) -> list[dict[tuple[int, int], str]]:
    return [
        {key: f"r{STATUS_COLOURS[status]}" if status != "match" else "" for key, status in statuses.items()}
        for statuses in difference.statuses()
    ]


@given(pair=word_pairs())
def test_dots_have_the_colours_of_their_units(pair: WordPair):
    svg = render_difference_svg(pair.gold, pair.predicted)
    assert dots(svg) == colours(compare(pair.gold, pair.predicted))


def test_labels_have_the_colours_of_the_units_they_are_about():
    svg = ElementTree.fromstring(render_difference_svg(bridge(), other_bridge(), names=("gold", "predicted")))
    found = [(text.text, (text.get("class") or "").split()[1:]) for text in svg.iter(f"{NAMESPACE}text")]
    labels = Counter((text, *colour) for text, colour in found if text and text.isalpha() and len(text) > 3)
    assert labels == Counter(
        {
            ("gold",): 1,
            ("predicted",): 1,
            ("elaboration",): 2,
            ("purpose",): 2,
            ("concession", f"r{RED}"): 1,
            ("contrast", f"r{GREEN}"): 1,
            ("attribution", f"r{BROWN}"): 2,
            ("joint", f"r{PURPLE}"): 1,
            ("cause", f"r{PURPLE}"): 1,
        }
    )


def test_a_unit_may_have_a_label_below_and_one_above_it():
    """Both belong to its group in the picture: that of its own nuclei, and that of the unit in which it is."""
    inner = Unit("joint", "NN", (Leaf(1), Leaf(2)))
    first = Document.from_edus("three", ["One,", "two,", "three."], Unit("cause", "NS", (Leaf(0), inner)))
    second = replace(first, tree=Unit("contrast", "NS", (Leaf(0), inner)))
    svg = render_difference_svg(first, second)
    assert svg.count(f'class="relation r{BLUE}"') == 2
    assert re.search(rf'class="relation r{BLUE}"[^>]*>cause<', svg)
    assert re.search(r'class="relation"[^>]*>joint<', svg)


def test_the_text_stands_once_where_the_edus_are_the_same():
    same = render_difference_svg(bridge(), other_bridge())
    assert same.count(">Cyclists may still cross,</text>") == 1
    different = render_difference_svg(bridge(), resegmented_bridge())
    assert different.count(">Cyclists may still cross,</text>") == 2
    assert "only first has an EDU that starts here" in different


def test_legend_and_tooltips():
    svg = render_difference_svg(bridge(), other_bridge(), names=("gold", "predicted"))
    assert "Parseval F1: S 80.0 · N 40.0 · R 60.0 · F 40.0" in svg
    for meaning in ("same in both: 2", "different nuclearity: 1", "only in gold: 1", "only in predicted: 1"):
        assert f">{meaning}</text>" in svg
    assert "different relation:" not in svg
    assert "here SN attribution, in predicted NS attribution" in svg
    assert "here NS attribution, in gold SN attribution" in svg


def test_texts_from_right_to_left_have_the_first_tree_on_the_right():
    first = row(SCRIPTS["hebrew"])
    second = replace(first, tree=Unit.from_relations([SPAN, "a", "b"], "NSS", tuple(map(Leaf, range(3)))))
    svg = ElementTree.fromstring(render_difference_svg(first, second, names=("gold", "predicted")))
    names = [text.text for text in svg.findall(f"{NAMESPACE}text")][:2]
    assert names == ["predicted", "gold"]
    left, right = svg.findall(f"{NAMESPACE}g")
    assert not [text for text in left.iter(f"{NAMESPACE}text") if text.get("class") == "text"]
    assert [text for text in right.iter(f"{NAMESPACE}text") if text.get("class") == "text"]


def test_pages_hold_both_trees_with_shared_places():
    page = parse_page(render_difference_html(bridge(), resegmented_bridge()))
    first, second = page.data
    spans = [
        {(record["start"], record["stop"]): tuple(record["span"]) for record in tree["nodes"]} for tree in page.data
    ]
    assert spans[0][0, 2] == spans[1][0, 1]
    assert spans[0][0, 6] == spans[1][0, 5]
    assert spans[0][4, 6] == spans[1][3, 5]
    assert (first["axis"], second["axis"]) == ("y", "y")


@pytest.mark.parametrize("hostile", [*HOSTILE, "</script><script>alert(1)</script>", "<!--<script>"])
def test_hostile_texts_are_inert(hostile: str):
    tree = Unit(hostile, "NS", (Leaf(0), Unit(hostile, "NN", (Leaf(1), Leaf(2)))))
    first = Document.from_edus(hostile, [hostile, hostile, "end"], tree)
    second = replace(first, tree=Unit("joint", "NNN", tuple(map(Leaf, range(3)))))
    names = hostile, hostile
    plain = parse_page(render_difference_html(bridge(), other_bridge()))
    page = parse_page(render_difference_html(first, second, names=names))
    assert page.tags == plain.tags
    assert page.scripts[1:] == plain.scripts[1:]
    svg = ElementTree.fromstring(render_difference_svg(first, second, names=names))
    assert printable(hostile) in "".join(svg.itertext())
    tags = {element.tag.removeprefix(NAMESPACE) for element in svg.iter()}
    assert tags == {"svg", "title", "style", "rect", "g", "path", "text"}


@pytest.mark.slow
def test_deep_trees():
    left, right = chain(1200, is_right=False), chain(1200, is_right=True)
    assert len(render_difference_svg(left, right)) < 10_000_000
    assert len(render_difference_html(left, right)) < 20_000_000


def test_one_edu_each():
    document = row(["Alone."])
    assert "Parseval F1: S 100.0" in render_difference_svg(document, document)
    assert len(parse_page(render_difference_html(document, document)).data) == 2


@pytest.mark.parametrize("other", [other_bridge(), resegmented_bridge()], ids=["same EDUs", "other EDUs"])
def test_an_image_shows_what_the_svg_does(other: Document, monkeypatch: pytest.MonkeyPatch):
    names = "gold.rs3", "mine.json"
    root = ElementTree.fromstring(render_difference_svg(bridge(), other, names=names))
    image = render_difference_image(bridge(), other, names=names)
    assert image.startswith(b"\x89PNG")
    size = [int.from_bytes(image[at : at + 4], "big") for at in (16, 20)]
    assert size == [pytest.approx(2 * float(root.attrib[side]), abs=2) for side in ("width", "height")]
    assert render_difference_image(bridge(), other, "pdf").startswith(b"%PDF")
    drawn: list[Picture] = []
    monkeypatch.setattr("genrst.rendering.difference.draw_image", lambda picture, *_: drawn.append(picture))
    render_difference_image(bridge(), other, names=names)
    lines = Counter(line for box in drawn[0].boxes for line in box.lines)
    assert lines == Counter("".join(text.itertext()) for text in root.iter(f"{NAMESPACE}text"))
    assert len(drawn[0].shapes) == len(list(root.iter(f"{NAMESPACE}path")))
    edges = [box.x for box in drawn[0].boxes] + [box.x + box.width for box in drawn[0].boxes]
    assert 0 < min(edges) < max(edges) < drawn[0].width
