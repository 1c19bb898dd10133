"""What notebooks call: `_repr_html_` of documents, `_repr_svg_` of trees."""

import subprocess
import sys
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given

from genrst.document import Document
from genrst.rendering.page import render_html
from genrst.trees.node import Leaf, Tree, Unit, preorder
from tests.rendering.test_svg import NAMESPACE
from tests.strategies import nary_trees


def html(shown: Any) -> str:
    """What a notebook asks of a document; `genrst/__init__.py` adds the method."""
    text: str = shown._repr_html_()
    return text


def svg_of(shown: Any) -> str:
    """What a notebook asks of a tree."""
    text: str = shown._repr_svg_()
    return text


class Frame(HTMLParser):
    """The attributes of the one element of a fragment."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(fragment)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", ["bridge", "</iframe><script>alert(1)</script>", "\" onload='alert(1)'"])
def test_a_document_is_a_page_in_a_frame_without_rights(name: str):
    document = Document.from_edus(name, [name, "end"], Unit("joint", "NN", (Leaf(0), Leaf(1))))
    [(tag, attributes)] = Frame(html(document)).elements
    assert tag == "iframe"
    assert attributes.keys() == {"sandbox", "srcdoc", "title", "style"}
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == render_html(document)


@pytest.mark.slow
@given(nary_trees())
def test_a_tree_shows_the_numbers_of_its_edus(tree: Tree):
    for node in preorder(tree):
        svg = ElementTree.fromstring(svg_of(node))
        texts = [text.text for text in svg.iter(f"{NAMESPACE}text") if text.get("class") == "text"]
        assert sorted(texts, key=lambda text: int((text or "")[4:])) == [
            f"EDU {edu + 1}" for edu in range(node.start, node.stop)
        ]


def test_part_of_a_tree_needs_no_more_room_than_a_tree_of_its_own():
    def size(tree: Tree) -> tuple[str | None, str | None]:
        svg = ElementTree.fromstring(svg_of(tree))
        return svg.get("width"), svg.get("height")

    assert size(Unit("joint", "NN", (Leaf(500), Leaf(501)))) == size(Unit("joint", "NN", (Leaf(0), Leaf(1))))
    assert size(Leaf(500)) == size(Leaf(0))
    long = [Unit("joint", "N" * 30, tuple(map(Leaf, range(start, start + 30)))) for start in (0, 60)]
    assert size(long[0]) == size(long[1])


def test_nothing_is_loaded_before_it_is_drawn():
    program = (
        "import sys\n"
        "from genrst.trees.node import Leaf\n"
        "loaded = [name for name in sys.modules if name.startswith('genrst.rendering')]\n"
        "assert not loaded, loaded\n"
        "assert Leaf(2)._repr_svg_().startswith('<svg')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
