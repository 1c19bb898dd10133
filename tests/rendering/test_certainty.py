"""Trees coloured by how probable their units are, and the list of the least probable ones."""

import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.rendering.colours import CERTAINTIES, CERTAINTY_COLOURS, certainties, least_certain, render_least_certain
from genrst.rendering.geometry import with_legend
from genrst.rendering.image import render_image
from genrst.rendering.page import render_html
from genrst.rendering.svg import Style, coloured, layout, render_svg
from genrst.rendering.terminal import render_text
from genrst.trees.node import Leaf, Tree, Unit, fold, units
from tests.rendering.page_parser import parse_page
from tests.rendering.samples import BRIDGE, bridge, row
from tests.rendering.test_svg import HOSTILE, NAMESPACE
from tests.rendering.test_terminal import ANSI
from tests.strategies import documents

styles = pytest.mark.parametrize("style", ["classic", "compact"])

CLASS_OF = {1.0: "sure", 0.9: "sure", 0.899: "likely", 0.7: "likely", 0.5: "open", 0.499: "doubtful", 0.0: "doubtful"}


def with_probabilities(document: Document) -> Document:
    """Each unit gets a probability, and its name as its relation."""
    numbers, values = count(), list(CLASS_OF)

    def make(unit: Unit, children: list[Tree]) -> Tree:
        number = next(numbers)
        return Unit(f"u{number}", unit.nuclearity, tuple(children), probability=values[number % len(values)])

    assert document.tree is not None
    return replace(document, tree=fold(document.tree, lambda leaf: leaf, make))


def sure_bridge() -> Document:
    """Five units: two sure, one of each other class."""
    decision = Unit("purpose", "NS", (Leaf(0), Leaf(1)), probability=0.953)
    warning = Unit("attribution", "SN", (Leaf(2), Leaf(3)), probability=0.75)
    ferry = Unit("joint", "NN", (Leaf(4), Leaf(5)), probability=0.51)
    concession = Unit("concession", "NS", (decision, warning), probability=0.25)
    return replace(bridge(), tree=Unit("elaboration", "NS", (concession, ferry), probability=1.0))


def css_class(name: str) -> list[str]:
    return [f"r{CERTAINTY_COLOURS[name]}"] if name in CERTAINTY_COLOURS else []


def test_classes():
    tree: Tree = Leaf(0)
    for number, probability in enumerate(CLASS_OF, start=1):
        tree = Unit("joint", "NN", (tree, Leaf(number)), probability=probability)
    found = certainties(Document.from_edus("classes", ["x"] * (len(CLASS_OF) + 1), tree))
    assert {stop - 2: name for (_, stop), name in found.items()} == dict(enumerate(CLASS_OF.values()))
    assert list(CERTAINTIES) == sorted(CERTAINTIES, key=lambda name: -CERTAINTIES[name].least)
    assert len({one.dashes for one in CERTAINTIES.values()}) == len(CERTAINTIES), "not by colour alone"


@styles
@settings(max_examples=20)
@given(document=documents())
def test_parts_have_the_colours_of_their_units(style: Style, document: Document):
    document = with_probabilities(document)
    assert document.tree is not None
    wanted = {unit.relation: CLASS_OF[unit.probability or 0.0] for unit in units(document.tree)}
    spans = {(unit.start, unit.stop): unit.relation for unit in units(document.tree)}
    svg = ElementTree.fromstring(render_svg(document, style, "certainty"))
    labels = [text for text in svg.iter(f"{NAMESPACE}text") if (text.get("class") or "").startswith("relation")]
    assert all((text.get("class") or "").split()[1:] == css_class(wanted[text.text or ""]) for text in labels)
    assert {text.text for text in labels} == set(wanted)
    for group in svg.findall(f"{NAMESPACE}g"):
        unit = spans.get((int(group.attrib["data-start"]), int(group.attrib["data-stop"])))
        for part in group.findall(f"{NAMESPACE}path"):
            kind, *colour = (part.get("class") or "").split()
            if kind in ("span", "dot"):
                assert colour == (css_class(wanted[unit]) if unit else []), "EDUs are given"


@styles
def test_the_legend_counts_and_says_how_lines_look(style: Style):
    svg = render_svg(sure_bridge(), style, "certainty")
    meanings = ["sure, p ≥ 0.9: 2", "likely, p ≥ 0.7: 1", "open, p ≥ 0.5: 1", "doubtful, p &lt; 0.5: 1"]
    assert [re.search(f">{meaning}</text>", svg) is not None for meaning in meanings] == [True] * 4
    legend = ElementTree.fromstring(svg).findall(f"{NAMESPACE}path")
    assert [path.get("class") for path in legend] == [
        "nucleus",
        *(f"nucleus r{number}" for number in CERTAINTY_COLOURS.values()),
    ]
    for number, dashes in zip(CERTAINTY_COLOURS.values(), ("12 4", "6 5", "2 5"), strict=True):
        assert f".genrst .r{number}{{stroke-dasharray:{dashes}}}" in svg
    assert "stroke-dasharray:2 5" not in render_svg(sure_bridge(), style)


@styles
def test_pages_have_legend_and_tooltips(style: Style):
    html = render_html(sure_bridge(), style, "certainty")
    assert "likely, p ≥ 0.7: 1</span>" in html
    assert f'<path class="nucleus r{CERTAINTY_COLOURS["doubtful"]}" d="M2,2H22"/>' in html
    assert html.count("stroke-dasharray:2 5") == 2, "in both styles"
    titles = {(record["start"], record["stop"]): record["title"] for record in parse_page(html).data[0]["nodes"]}
    assert "· unit 25%\n" in titles[0, 4]
    assert "%" not in titles[0, 1]
    plain = render_html(sure_bridge(), style)
    assert "p ≥" not in plain
    assert parse_page(plain).data == parse_page(html).data


def test_images_have_dashes_and_a_legend():
    pytest.importorskip("matplotlib")
    page = render_image(sure_bridge(), "pdf", "compact", "certainty")
    streams = re.findall(rb"FlateDecode.*?stream\r?\n(.*?)endstream", page, re.DOTALL)
    drawn = b"".join(map(zlib.decompress, streams))
    assert {b"12 4", b"6 5", b"2 5"} <= set(re.findall(rb"\[ ([0-9.]+ [0-9.]+) \] 0 d\b", drawn))
    picture, scheme = coloured(layout(sure_bridge(), "compact"), sure_bridge(), "certainty")
    height = float(re.findall(rb"/MediaBox \[ 0 0 [0-9.]+ ([0-9.]+)", page)[0])
    assert height == pytest.approx(with_legend(picture, scheme).height, abs=1)


def test_the_terminal_shows_probabilities():
    shown = render_text(sure_bridge(), colours="certainty")
    assert shown.splitlines()[:3] == [
        "elaboration 1–6 p = 1.00",
        "├─N concession 1–4 p = 0.25",
        "│ ├─N purpose 1–2 p = 0.95",
    ]
    painted = render_text(sure_bridge(), colour=True, colours="certainty")
    assert ANSI.sub("", painted) == shown
    assert "\x1b[1;38;5;166mconcession\x1b[0m" in painted
    assert "\x1b[1;38;5;33mattribution\x1b[0m" in painted
    assert "m\x1b[0melaboration \x1b" not in painted
    assert painted.startswith("elaboration ")


@settings(max_examples=20)
@given(document=documents())
def test_any_tree_can_be_shown_in_the_terminal(document: Document):
    document = with_probabilities(document)
    shown = render_text(document, 60, colours="certainty")
    assert ANSI.sub("", render_text(document, 60, colour=True, colours="certainty")) == shown
    assert document.tree is not None
    assert shown.count(" p = ") >= sum(1 for _ in units(document.tree))


RENDERERS: dict[str, Callable[..., object]] = {
    "svg": render_svg,
    "html": render_html,
    "image": render_image,
    "text": render_text,
}


UNJUDGED = Document.from_edus("bridge", BRIDGE, Unit("joint", "NNNNNN", tuple(map(Leaf, range(6)))))


@pytest.mark.parametrize("render", RENDERERS.values(), ids=RENDERERS)
def test_what_cannot_be_coloured(render: Callable[..., object]):
    with pytest.raises(GenrstError, match=r"^bridge: the units have no probabilities; parse the document with a chart"):
        render(UNJUDGED, colours="certainty")
    with pytest.raises(GenrstError, match=r"^bridge: the document must have a tree"):
        render(Document.from_edus("bridge", BRIDGE), colours="certainty")
    with pytest.raises(UsageError, match=r"^colours must be one of relation, certainty, got 'mood'$"):
        render(sure_bridge(), colours="mood")


def test_one_edu_is_drawn_as_ever():
    alone = row(["Alone."])
    assert "p ≥" not in render_svg(alone, colours="certainty")
    assert render_text(alone, colours="certainty") == render_text(alone)
    assert render_least_certain(alone, 3) == ""


def test_the_least_certain_units():
    assert [unit.relation for unit in least_certain(sure_bridge(), 2)] == ["concession", "joint"]
    assert len(least_certain(sure_bridge(), 99)) == 5
    assert render_least_certain(sure_bridge(), 3, width=60).splitlines() == [
        "least probable units:",
        "  0.25  1–4  concession NS   The city council voted on…",
        "  0.51  5–6  joint NN        Cyclists may still cross, and …",
        "  0.75  3–4  attribution SN  although shop owners had warne…",
    ]
    assert render_least_certain(sure_bridge(), 1, width=0).splitlines()[1] == "  0.25  1–4  concession NS  The city…"
    textless = replace(sure_bridge(), text=None)
    assert render_least_certain(textless, 1).splitlines()[1] == "  0.25  1–4  concession NS"
    with pytest.raises(GenrstError, match="the units have no probabilities"):
        least_certain(UNJUDGED, 1)


def test_units_that_somebody_corrected_have_no_colour_but_others_do():
    """In the bridge only one unit has a probability."""
    assert [unit.relation for unit in least_certain(bridge(), 9)] == ["purpose"]
    for render in RENDERERS.values():
        assert render(bridge(), colours="certainty")
    assert render_text(bridge(), colours="certainty").count(" p = ") == 1
    assert "likely, p ≥ 0.7: 1" in render_svg(bridge(), colours="certainty")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_inert(hostile: str):
    tree = Unit(hostile, "NN", (Leaf(0), Leaf(1)), probability=0.4)
    document = Document.from_edus(hostile, [hostile, hostile], tree)
    listed = render_least_certain(document, 1)
    assert len(listed.splitlines()) == 2
    assert all(character.isprintable() for character in listed.replace("\n", ""))
