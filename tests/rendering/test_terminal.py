import doctest
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.characters import inert
from genrst.document import Document, SecondaryEdge, Signal
from genrst.rendering import terminal
from genrst.rendering.terminal import LEAST_WIDTH, render_text
from genrst.trees.node import SPAN, Leaf, Unit
from tests.rendering.samples import BRIDGE, SCRIPTS, bridge, chain, marked_bridge, row, several_satellites
from tests.strategies import documents

ANSI = re.compile("\x1b\\[[0-9;]*m")
LINES = re.compile("[│├└─┊\\s]")


def test_docstring():
    assert doctest.testmod(terminal).failed == 0


def test_several_satellites_show_their_relations():
    assert render_text(several_satellites()).splitlines() == [
        "1–5",
        f"├─S (preparation) 1 {BRIDGE[0]}",
        f"├─S (background) 2 {BRIDGE[1]}",
        f"├─N 3 {BRIDGE[2]}",
        f"├─S (elaboration-object-attribute-e) 4 {BRIDGE[3]}",
        f"└─S (evaluation) 5 {BRIDGE[4]}",
    ]


def test_documents_without_tree_or_text():
    assert render_text(Document.from_edus("segmented", ["One.", "Two."])) == "1 One.\n2 Two.\n"
    textless = Document("textless", None, bridge().edus[:2], Unit("joint", "NN", (Leaf(0), Leaf(1))))
    assert render_text(textless) == "joint 1–2\n├─N 1 EDU 1\n└─N 2 EDU 2\n"
    assert render_text(row([""])) == "1\n"


def test_signals_are_beside_the_relations_that_they_mark():
    lines = render_text(marked_bridge(), why=True).splitlines()
    assert lines == [
        "elaboration ← layout 1–6",
        '├─N concession ← "although … that", indicative word "had warned" 1–4',
        '│ ├─N purpose ← infinitival clause "to" 1–2',
        f"│ │ ├─N 1 {BRIDGE[0]}",
        f"│ │ └─S 2 {BRIDGE[1]}",
        "│ └─S attribution 3–4",
        f"│   ├─S 3 {BRIDGE[2]}",
        f"│   └─N 4 {BRIDGE[3]}",
        '└─S joint ← "and" 5–6',
        f"  ├─N 5 {BRIDGE[4]}",
        f"  └─N 6 {BRIDGE[5]}",
        "",
        '5 ⇢ 3–4 contrast ← "still"',
    ]
    assert render_text(marked_bridge()) == render_text(bridge()), "only if asked for"
    assert render_text(bridge(), why=True) == render_text(bridge())
    assert render_text(marked_bridge().root.children[1], why=True).splitlines()[0] == 'joint ← "and" 5–6'
    assert "⇢" not in render_text(marked_bridge().root.children[1], why=True), "one end of the edge is elsewhere"


def test_signals_of_several_satellites():
    signals = Signal((0, 1), "dm", "dm", (1,)), Signal((4, 5), "dm", "dm", (1000, 0)), Signal((1, 2), "dm", "dm", (10,))
    lines = render_text(replace(several_satellites(), signals=signals), why=True).splitlines()
    assert lines[1].startswith('├─S (preparation ← "The") 1 ')
    assert lines[2].startswith('├─S (background ← "old") 2 ')
    assert lines[5].startswith("└─S (evaluation ← dm) 5 "), "the words of its signal are not there"


@pytest.mark.slow
@given(document=documents(), width=st.integers(0, 100))
def test_lines_fit_and_no_text_is_lost(document: Document, width: int):
    edus = {(edu, edu + 1) for edu in range(len(document.edus))}
    signals = tuple(Signal(edu, "dm", "dm", tuple(range(1, 30))) for edu in edus)
    document = replace(document, signals=signals, secondary_edges=(SecondaryEdge((0, 1), (0, 1), "ab " * 80),))
    shown = render_text(document, width, why=True)
    assert all(_columns(line) <= max(width, LEAST_WIDTH) for line in shown.splitlines())
    flat = LINES.sub("", shown)
    at = 0
    for text in document.edu_texts:
        wanted = LINES.sub("", inert(text))
        assert wanted in flat[at:]
        at = flat.index(wanted, at) + len(wanted)


@given(document=documents(), width=st.integers(20, 90))
def test_colours_change_nothing_else(document: Document, width: int):
    assert ANSI.sub("", render_text(document, width, colour=True)) == render_text(document, width)


@pytest.mark.parametrize("width", range(40, 60))
def test_long_relations_are_cut_to_fit(width: int):
    inner = Unit("n" * 100, "NN", (Leaf(2), Leaf(3)))
    tree = Unit.from_relations(["l" * 100, SPAN, "r" * 100], "SNS", (Leaf(0), Leaf(1), inner))
    lines = render_text(Document.from_edus("long", BRIDGE[:4], tree), width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert sum(line.count("…") for line in lines) == 3


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_fit(script: str):
    assert all(_columns(line) <= 40 for line in render_text(row(SCRIPTS[script]), 40).splitlines())


@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("width", [10, 80])
def test_deep_trees_show_levels_instead_of_indentation(is_right: bool, width: int):
    lines = render_text(chain(2000, is_right), width).splitlines()
    assert all(len(line) <= max(width, LEAST_WIDTH) for line in lines)
    assert sum("┊1999 " in line for line in lines) == 2
    assert sum(map(len, lines)) < 800_000


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=())), min_size=2, max_size=2),
    relation=st.text(st.characters(exclude_categories=())),
)
def test_any_text_is_inert(texts: list[str], relation: str):
    document = Document.from_edus("any", texts, Unit(relation, "SN", (Leaf(0), Leaf(1))))
    shown = render_text(document).replace("\n", " ")
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}


def test_escape_sequences_are_shown():
    hostile = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp"
    tree = Unit(hostile, "NN", (Leaf(0), Leaf(1)))
    shown = render_text(Document.from_edus("hostile", [hostile, "b"], tree), colour=True)
    assert "\x1b" not in ANSI.sub("", shown)
    assert "␛]0;title␇␛[2J\ufffd31m\ufffdgnp" in shown


def _columns(line: str) -> int:
    """Columns as terminals count them, from the Unicode database."""
    marks = ("Mn", "Me", "Cf")
    shown = [c for c in line if unicodedata.category(c) not in marks and not "\u1160" <= c <= "\u11ff"]
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)
