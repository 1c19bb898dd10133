"""What an annotator does to a document: random edits in the browser, judged by what must be true of any of them."""

import random
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from genrst.document import Document
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.trees.node import Leaf, Tree, Unit, preorder, units
from tests.rendering.browser import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

NAMES = [
    *("relabelled", "attached", "targets", "joined", "dissolved", "splitEdu", "joinEdus", "moveStart"),
    *("frozen", "demanded", "restored"),
]
WORDS = ["It", "rained", "all", "day", "so", "über", "🙂", "we", "stayed", "in"]
RELATIONS = ["joint", "causal", "elaboration", "my own"]
MODEL = {"labels": [{"relation": "joint", "nuclearity": "NN"}, {"relation": "causal", "nuclearity": "SN"}], "fine": {}}

Json = dict[str, Any]
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def edits() -> "Iterator[Call]":
    """Calls a function of `edits.js`; what it throws is None."""
    source = files("genrst.serve").joinpath("workbench", "edits.js").read_text(encoding="utf-8")
    with open_browser() as page:
        page.evaluate(f"() => {{ {source}\n window.edits = {{ {', '.join(NAMES)} }}; }}")
        yield lambda name, *values: _call(page, name, values)


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


def edit(edits: Call, chance: random.Random, document: Document) -> tuple[str, list[Any], Document | None]:
    spans = nodes(document)
    span = chance.choice(spans)
    name = chance.choice(
        ["relabelled", "attached", "joined", "dissolved", "splitEdu", "joinEdus", "moveStart", "frozen"]
    )
    arguments: dict[str, list[Any]] = {
        "relabelled": [span, {"relation": chance.choice(RELATIONS)}],
        "attached": [span, chance.choice([one for one in spans if span[0] in one or span[1] in one])],
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
    chance = random.Random(2)
    for _ in range(5):
        document = random_document(chance)
        data = document_to_dict(document)
        for span in nodes(document):
            possible = [one for one in nodes(document) if not isinstance(edits("attached", data, span, one), str)]
            assert sorted(edits("targets", data["tree"], span)) == sorted(possible)


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
