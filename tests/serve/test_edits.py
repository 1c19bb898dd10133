"""What an annotator does to a document: random edits in the browser, judged by what must be true of any of them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from genrst.document import Document, SecondaryEdge, Signal
from genrst.formats.files import format_documents, read_content
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.trees.node import Leaf, Tree, Unit, preorder, units

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NAMES = [
    *("relabelled", "attached", "targets", "joined", "dissolved", "splitEdu", "joinEdus", "moveStart"),
    *("frozen", "demanded", "restored", "noted", "notesOf", "frozenWhole", "isWholeFrozen", "outgoing", "losses"),
]
WORDS = ["It", "rained", "all", "day", "so", "über", "🙂", "we", "stayed", "in"]
RELATIONS = ["joint", "causal", "elaboration", "my own"]
MODEL = {"labels": [{"relation": "joint", "nuclearity": "NN"}, {"relation": "causal", "nuclearity": "SN"}], "fine": {}}

CHAIN = Unit("joint", "NN", (Leaf(0), Unit("causal", "SN", (Unit("joint", "NN", (Leaf(1), Leaf(2))), Leaf(3)))))

Json = dict[str, Any]
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def edits(browser: "Browser") -> "Iterator[Call]":
    """Calls a function of `edits.js`; what it throws is None."""
    folder = files("genrst.serve").joinpath("workbench")
    source = "".join(folder.joinpath(f"{name}.js").read_text("utf-8") for name in ("edits", "segments", "notes"))
    page = browser.new_page()
    page.evaluate(f"() => {{ {source}\n window.edits = {{ {', '.join(NAMES)} }}; }}")
    yield lambda name, *values: _call(page, name, values)
    page.close()


def _call(page: "Page", name: str, values: tuple[Any, ...]) -> Any:
    script = """([name, values]) => {
        try { return window.edits[name](...values); } catch (error) { return `refused: ${error.message}`; }
    }"""
    return page.evaluate(script, [name, list(values)])


def random_tree(chance: random.Random, start: int, stop: int) -> Tree:
    if stop - start == 1:
        return Leaf(start)
    n = min(chance.choice([2, 2, 2, 3, 4]), stop - start)
    edges = [start, *sorted(chance.sample(range(start + 1, stop), n - 1)), stop]
    parts = [random_tree(chance, left, right) for left, right in pairwise(edges)]
    letters = chance.choice(["N" * n, "".join("N" if place == chance.randrange(n) else "S" for place in range(n))])
    letters = letters if "N" in letters else f"N{letters[1:]}"
    lone = letters.count("N") == 1
    shared = chance.choice(RELATIONS)
    labels = [("span" if lone else shared) if letter == "N" else chance.choice(RELATIONS) for letter in letters]
    return Unit.from_relations(labels, letters, parts)


def random_document(chance: random.Random) -> Document:
    n = chance.randint(2, 9)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(n)]
    return Document.from_edus("random", texts, random_tree(chance, 0, n))


def nodes(document: Document) -> list[list[int]]:
    assert document.tree is not None
    return [[node.start, node.stop] for node in preorder(document.tree)]


def shape(tree: Tree, kept: set[int]) -> Any:
    """The brackets around some EDUs; those with one part are that part."""
    if isinstance(tree, Leaf):
        return tree.edu if tree.edu in kept else None
    parts = [part for part in (shape(child, kept) for child in tree.children) if part is not None]
    return parts[0] if len(parts) == 1 else tuple(parts) or None


def check(before: Document, after: Document) -> None:
    """Whatever was done: no word is lost, and what is fixed holds."""
    assert " ".join(after.edu_texts).split() == " ".join(before.edu_texts).split()
    assert after.tree is not None
    labels = {(unit.start, unit.stop): (unit.relation, unit.nuclearity) for unit in units(after.tree)}
    for one in after.constraints:
        assert one.is_unit == (one.span in labels)
        if one.is_labelled:
            assert (one.relation, one.nuclearity) == labels[one.span]


def neighbours(n_edus: int, span: list[int]) -> list[list[int]]:
    """All that is next to some EDUs, whether it is a unit or not."""
    before = [[start, span[0]] for start in range(span[0])]
    return [*before, *([span[1], stop] for stop in range(span[1] + 1, n_edus + 1))]


def edit(edits: Call, chance: random.Random, document: Document) -> tuple[str, list[Any], Document | None]:
    spans = nodes(document)
    span = chance.choice(spans)
    name = chance.choice(
        ["relabelled", "attached", "joined", "dissolved", "splitEdu", "joinEdus", "moveStart", "frozen"]
    )
    arguments: dict[str, list[Any]] = {
        "relabelled": [span, {"relation": chance.choice(RELATIONS)}],
        "attached": [span, chance.choice(neighbours(len(document.edus), span) or [span])],
        "joined": [span],
        "dissolved": [span],
        "splitEdu": [chance.randrange(len(document.edus)), chance.randint(0, 4)],
        "joinEdus": [chance.randrange(len(document.edus))],
        "moveStart": [chance.randrange(len(document.edus)), chance.choice([-1, 1])],
        "frozen": [span, {"deep": chance.random() < 0.5, "thaw": chance.random() < 0.3}],
    }
    if name == "relabelled" and span[1] - span[0] == 1:
        name = "frozen"
    result = edits(name, document_to_dict(document), *arguments[name])
    if isinstance(result, str):
        assert result.startswith("refused: ")
        assert "undefined" not in result
        assert "null" not in result
        return name, arguments[name], None
    return name, arguments[name], document_from_dict(result)


def test_random_edits(edits: Call):
    chance = random.Random(1)
    done: dict[str, int] = {}
    for _ in range(60):
        document = random_document(chance)
        for _ in range(8):
            name, arguments, after = edit(edits, chance, document)
            if after is None:
                continue
            done[name] = done.get(name, 0) + 1
            check(document, after)
            assert document.tree is not None
            assert after.tree is not None
            if name == "relabelled":
                assert shape(after.tree, set(range(len(after.edus)))) == shape(document.tree, set(range(99)))
            if name == "attached":
                span, target = arguments
                joined = [min(span[0], target[0]), max(span[1], target[1])]
                assert joined in nodes(after)
                rest = set(range(len(document.edus))) - set(range(*span))
                assert shape(after.tree, rest) == shape(document.tree, rest)
                assert shape(after.tree, set(range(*span))) == shape(document.tree, set(range(*span)))
            if name == "dissolved":
                assert [one for one in nodes(document) if one not in nodes(after)] == [arguments[0]]
            if name in ("moveStart", "frozen"):
                assert after.tree == document.tree
            document = after
    assert min(done.values()) > 5
    assert len(done) == 8


def test_targets_are_what_can_be_attached_to(edits: Call):
    """Also what is left of a unit around the source: that is how it is attached higher."""
    chance = random.Random(2)
    n_higher = 0
    for _ in range(5):
        document = random_document(chance)
        data = document_to_dict(document)
        for span in nodes(document):
            near = neighbours(len(document.edus), span)
            possible = [one for one in near if not isinstance(edits("attached", data, span, one), str)]
            found = edits("targets", data["tree"], span)
            assert sorted(one["target"] for one in found) == sorted(possible)
            assert all(one["shown"] in nodes(document) for one in found)
            n_higher += sum(one["target"] not in nodes(document) for one in found)
    assert n_higher > 3


def test_splitting_and_joining_an_edu_changes_nothing(edits: Call):
    chance = random.Random(3)
    n_split = 0
    for _ in range(40):
        data = document_to_dict(random_document(chance))
        edu = chance.randrange(len(data["edus"]))  # type: ignore[arg-type]
        split = edits("splitEdu", data, edu, 1)
        if not isinstance(split, str):
            n_split += 1
            again = edits("joinEdus", split, edu)
            assert isinstance(again, str) or document_from_dict(again).tree == document_from_dict(data).tree
    assert n_split > 10


def test_frozen_units_come_back_from_any_parser(edits: Call):
    """What is demanded of the parser, and what becomes of any binary tree that obeys."""
    chance = random.Random(4)
    for _ in range(60):
        document = random_document(chance)
        data = document_to_dict(document)
        spans = [span for span in nodes(document) if span[1] - span[0] > 1]
        for span in chance.sample(spans, chance.randint(1, len(spans))):
            data = edits("frozen", data, span)
        before = document_from_dict(data)
        demanded = document_from_dict({**data, "constraints": edits("demanded", data, MODEL)}).constraints
        tree = obeying(chance, 0, len(document.edus), [one.span for one in demanded])
        answer = document_to_dict(Document("x", document.text, document.edus, tree))["tree"]
        after = document_from_dict({**data, "tree": edits("restored", data, answer)})
        check(before, after)
        assert document.tree is not None
        assert after.tree is not None
        kept = {demand.span for demand in before.constraints}
        old = {(one.start, one.stop): one for one in units(document.tree)}
        new = {(one.start, one.stop): one for one in units(after.tree)}
        for one in kept:
            assert (old[one].relations, old[one].nuclearity) == (new[one].relations, new[one].nuclearity)


def obeying(chance: random.Random, start: int, stop: int, whole: list[tuple[int, int]]) -> Tree:
    """A random binary tree in which these spans are units."""
    if stop - start == 1:
        return Leaf(start)
    cuts = [
        cut
        for cut in range(start + 1, stop)
        if not any(a < cut < b and (a, b) != (start, stop) and start <= a and b <= stop for a, b in whole)
    ]
    cut = chance.choice(cuts)
    return Unit("joint", "NN", (obeying(chance, start, cut, whole), obeying(chance, cut, stop, whole)))


def test_notes_follow_their_edus_and_outlive_their_units(edits: Call):
    document = Document.from_edus("x", ["one two", "three", "four", "five"], CHAIN)
    data = edits("noted", document_to_dict(document), [1, 3], {"text": 'why "so" -- and\nhow?', "flag": True})
    data = edits("noted", data, [3, 4], {"text": "end"})
    note = {"edus": [1, 3], "text": 'why "so" -- and\nhow?', "flag": True}
    split = edits("splitEdu", data, 0, 1)
    assert edits("notesOf", split) == [{**note, "edus": [2, 4]}, {"edus": [4, 5], "text": "end"}]
    assert edits("notesOf", edits("joinEdus", split, 0)) == edits("notesOf", data)
    assert edits("notesOf", edits("dissolved", data, [1, 3])) == edits("notesOf", data), (
        "the unit is gone, the note not"
    )
    without = edits("noted", edits("noted", data, [3, 4], {"text": None}), [1, 3], {"text": None, "flag": None})
    assert "notes" not in without["metadata"]
    for suffix in (".rs3", ".rs4", ".json"):
        content = format_documents([document_from_dict(data)], suffix).encode()
        (again,) = read_content(content, Path(f"x{suffix}"))
        assert edits("notesOf", document_to_dict(again)) == edits("notesOf", data), suffix


def test_a_tree_of_a_person_is_frozen_without_a_word_in_its_file(edits: Call):
    chance = random.Random(5)
    for _ in range(20):
        data = document_to_dict(random_document(chance))
        whole = edits("frozenWhole", data)
        assert edits("isWholeFrozen", whole)
        assert edits("outgoing", whole)["constraints"] == []
        assert not edits("isWholeFrozen", {**whole, "model": "en"})
        thawed = edits("frozen", whole, [0, len(data["edus"])], {"thaw": True})  # type: ignore[arg-type]
        assert not edits("isWholeFrozen", thawed)
        assert edits("outgoing", thawed) == thawed


def test_what_an_edit_drops_is_told(edits: Call):
    signals = (Signal((2, 3), "dm", "dm", (3,)), Signal((1, 3), "dm", "dm", (2,)))
    document = replace(
        Document.from_edus("x", ["one two", "three", "four", "five"], CHAIN),
        signals=signals,
        secondary_edges=(SecondaryEdge((1, 3), (0, 1), "causal"),),
    )
    data = document_to_dict(document)
    assert edits("losses", data, edits("dissolved", data, [1, 3])) == "1 signal and 1 secondary edge"
    assert edits("losses", data, edits("relabelled", data, [1, 3], {"relation": "joint"})) == ""
