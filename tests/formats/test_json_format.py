"""Documents as JSON."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.errors import CorpusFormatError, CorpusWarning, UsageError
from genrst.formats.json_format import (
    document_from_dict,
    document_to_dict,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from genrst.trees.constraints import Constraint
from genrst.trees.node import Leaf, Tree, Unit, fold, units
from tests.strategies import documents

PATH = Path("folder/rain.json")
LINES = Path("folder/rain.jsonl")

ACME = """\
{"id": "acme",
 "text": "Acme closed. The CEO said it was no longer profitable.",
 "edus": [{"start": 0, "end": 12}, {"start": 13, "end": 25}, {"start": 26, "end": 54}],
 "tree": {"relation": "justify", "nuclearity": "NS", "children": [{"edu": 0}, {"relation": "attribution", \
"nuclearity": "SN", "children": [{"edu": 1}, {"edu": 2}]}]}}
"""


def acme(**changes: object) -> dict[str, Any]:
    return {**json.loads(ACME), **changes}


def read(data: object, with_tree: bool = True) -> Document:
    (document,) = read_json(json.dumps(data).encode(), PATH, with_tree=with_tree)
    return document


def deep_document(n_levels: int) -> Document:
    tree: Tree = Leaf(n_levels)
    for edu in reversed(range(n_levels)):
        tree = Unit("elaboration", "NS", (Leaf(edu), tree), probability=0.5)
    return Document.from_edus("deep", ["x"] * (n_levels + 1), tree)


# Round trips

# Two halves of a surrogate pair side by side are one character in JSON, so only high ones are drawn.
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from('\ud800\u2028\x85\x7f\0\r\n"\\')))
SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), TEXTS).map(lambda s: Span(s[0], s[0] + s[1], s[2])))
RANGES = st.tuples(st.integers(0, 9), st.integers(1, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SIGNALS = st.builds(
    Signal,
    RANGES,
    TEXTS,
    TEXTS,
    st.lists(st.integers(1, 99)).map(tuple),
    TEXTS,
    st.none() | RANGES,
)


@st.composite
def rich_documents(draw: st.DrawFn) -> Document:
    document = draw(documents())
    assert document.tree is not None
    names = draw(st.dictionaries(st.sampled_from(["joint", "contrast"]), TEXTS))

    def enriched(unit: Unit, children: list[Tree]) -> Tree:
        relations = tuple(names.get(label, label) for label in unit.relations)
        relation = names.get(unit.relation, unit.relation)
        return Unit(relation, unit.nuclearity, tuple(children), relations, draw(st.none() | st.floats(0, 1)))

    n_tokens = draw(st.integers(0, 4))
    token = st.builds(Token, st.just(3), st.integers(3, 9), st.integers(0, max(n_tokens - 1, 0)), TEXTS, TEXTS)
    return replace(
        document,
        id=draw(TEXTS),
        text=draw(st.sampled_from([document.text, None])),
        tree=draw(st.sampled_from([fold(document.tree, lambda leaf: leaf, enriched), None])),
        tokens=tuple(draw(st.lists(token, min_size=n_tokens, max_size=n_tokens))),
        sentences=tuple(draw(SPANS)),
        paragraphs=tuple(draw(SPANS)),
        entities=tuple(draw(SPANS)),
        signals=tuple(draw(st.lists(SIGNALS, max_size=3))),
        secondary_edges=tuple(draw(st.lists(st.builds(SecondaryEdge, RANGES, RANGES, TEXTS), max_size=3))),
        log_probability=draw(st.none() | NUMBERS),
        model=draw(st.none() | TEXTS),
        metadata=draw(st.dictionaries(TEXTS, TEXTS, max_size=3)),
    )


def assert_same(left: Document, right: Document) -> None:
    assert left == right
    # Equality of trees leaves these out.
    for a, b in zip(units(left.tree or Leaf(0)), units(right.tree or Leaf(0)), strict=True):
        assert (a.relation, a.probability) == (b.relation, b.probability)


@pytest.mark.slow
@given(rich_documents())
def test_json_keeps_everything(document: Document) -> None:
    text = write_json(document)
    (read_back,) = read_json(text.encode(), PATH)
    assert_same(read_back, document)
    assert json.loads(text) == document_to_dict(document)
    assert_same(document_from_dict(document_to_dict(document)), document)


@pytest.mark.slow
@given(st.lists(rich_documents(), max_size=2))
def test_jsonl_keeps_everything_line_by_line(written: list[Document]) -> None:
    text = write_jsonl(written)
    read_back = read_jsonl(text.encode(), LINES)
    assert len(read_back) == len(written)
    for left, right in zip(read_back, written, strict=True):
        assert_same(left, right)
    # No character that some program takes for a line end stands inside a line.
    assert len(text.splitlines()) == len(written)


@pytest.mark.slow
@given(documents(), st.booleans())
def test_a_file_may_hold_a_list(document: Document, is_twice: bool) -> None:
    objects = [document_to_dict(document)] * (1 + is_twice)
    assert read_json(json.dumps(objects).encode(), PATH) == [document] * (1 + is_twice)


def test_the_form_is_exact() -> None:
    document = read(acme())
    assert document.edu_texts == ["Acme closed.", "The CEO said", "it was no longer profitable."]
    assert document.tree == Unit("justify", "NS", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))
    assert write_json(document) == ACME
    assert write_jsonl([document, document]) == (json.dumps(json.loads(ACME)) + "\n") * 2


def test_several_satellites_have_a_label_each() -> None:
    tree = Unit.from_relations(["background", "span", "elaboration"], "SNS", [Leaf(0), Leaf(1), Leaf(2)])
    data = document_to_dict(Document.from_edus("x", ["a", "b", "c"], tree))
    assert data["tree"] == {
        "relation": "elaboration",
        "nuclearity": "SNS",
        "relations": ["background", "span", "elaboration"],
        "children": [{"edu": 0}, {"edu": 1}, {"edu": 2}],
    }


def test_only_what_is_there_is_written() -> None:
    assert list(document_to_dict(Document("x", None, (Span(0, 1),)))) == ["id", "text", "edus", "tree"]
    full = Document(
        "x",
        "abc",
        (Span(0, 3),),
        Leaf(0),
        tokens=(Token(0, 3, 0),),
        sentences=(Span(0, 3),),
        paragraphs=(Span(0, 3, "head"),),
        log_probability=0.0,
        model="",
        metadata={"genre": "news"},
    )
    data = document_to_dict(full)
    assert list(data)[4:] == ["log_probability", "model", "sentences", "paragraphs", "tokens", "metadata"]
    assert data["paragraphs"] == [{"start": 0, "end": 3, "label": "head"}]
    assert data["tokens"] == [{"start": 0, "end": 3, "head": 0}]


def test_signals_have_their_words() -> None:
    signals = [
        {"unit": [0, 1], "type": "dm", "subtype": "dm", "tokens": [4, 1, 2], "words": "whatever"},
        {"unit": [1, 2], "type": "graphical", "subtype": "layout", "target": [0, 1]},
    ]
    written: Any = document_to_dict(read(acme(signals=signals)))["signals"]
    first, second = written
    assert first["words"] == [{"text": "Acme closed", "start": 0, "end": 11}, {"text": "CEO", "start": 17, "end": 20}]
    assert second == signals[1]


def test_text_stays_readable_and_encodable() -> None:
    text = write_json(Document.from_edus("x", ["Grüße 🙂 \ud800"]))
    assert "Grüße 🙂 \\ud800" in text
    assert text.encode()


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_json_has_no_infinity(number: float) -> None:
    with pytest.raises(UsageError, match="finite"):
        write_json(replace(read(acme()), log_probability=number))


# Deep trees


@pytest.mark.slow
def test_a_deep_tree() -> None:
    document = deep_document(2000)
    text = write_json(document)
    assert len(text) < 2000 * 200
    assert_same(read_json(text.encode(), PATH)[0], document)
    assert_same(read_jsonl(write_jsonl([document] * 2).encode(), LINES)[1], document)


@pytest.mark.slow
def test_errors_in_a_deep_tree_have_a_short_place() -> None:
    text = write_json(deep_document(2000)).replace('{"edu": 2000}', '{"edu": true}')
    with pytest.raises(
        CorpusFormatError, match=r"tree\.children\[1\]\.children.*…\S*children\[1\]\.edu must be"
    ) as caught:
        read_json(text.encode(), PATH)
    assert len(str(caught.value)) < 300


# What may be missing, and other ways to give EDUs


def test_without_text_and_without_tree() -> None:
    segmented = read({"id": "x", "edus": [{"start": 3, "end": 5}, {"start": 5, "end": 9}]})
    assert segmented == Document("x", None, (Span(3, 5), Span(5, 9)))
    assert read(acme(text=None, tree=None)).tree is None


def test_an_unknown_key_is_a_warning() -> None:
    with pytest.warns(
        CorpusWarning, match=r"^folder/rain.json: the unknown key 'constraint' is ignored; the known keys are id, "
    ):
        assert read(acme(constraint=[])).constraints == ()
    with pytest.warns(CorpusWarning, match=r"^folder/rain.jsonl:1: "):
        read_jsonl(json.dumps(acme(surprise=1)).encode(), LINES)


def test_constraints() -> None:
    constraints = [{"edus": [1, 3], "relation": "attribution", "nuclearity": "SN"}, {"edus": [0, 2], "is_unit": False}]
    document = read(acme(constraints=constraints), with_tree=False)
    assert document.constraints == (Constraint(1, 3, True, "attribution", "SN"), Constraint(0, 2, is_unit=False))
    assert document_to_dict(document)["constraints"] == constraints
    with pytest.raises(CorpusFormatError, match=r"rain.json: constraints\[1\]: edus must be two numbers.*got 3$"):
        read(acme(constraints=[{"edus": [0, 1]}, {"edus": 3}]))


def test_the_id_may_come_from_the_file() -> None:
    data = {"edus": ["a"]}
    assert read(data).id == "rain"
    assert [document.id for document in read_json(json.dumps([data, data]).encode(), PATH)] == ["rain-1", "rain-2"]
    lines = f"{json.dumps(data)}\n\n{json.dumps(data)}"
    assert [document.id for document in read_jsonl(lines.encode(), LINES)] == ["rain-1", "rain-3"]
    assert document_from_dict(data).id == "document"


def test_without_edus_the_tree_counts_them() -> None:
    data = {"tree": acme()["tree"]}
    assert read(data).edus == (Span(0, 1), Span(2, 3), Span(4, 5))
    assert read(data).text is None
    assert read(data, with_tree=False) == Document("rain", None, (Span(0, 1), Span(2, 3), Span(4, 5)))


@pytest.mark.parametrize("as_object", [False, True])
def test_edus_by_their_text(as_object: bool) -> None:
    texts = ["Acme closed.", "The CEO  said", "it was no longer\nprofitable."]
    edus = [{"text": text} for text in texts] if as_object else texts
    assert read(acme(edus=edus)) == read(acme())
    joined = read(acme(edus=edus, text=None))
    assert joined == Document.from_edus("acme", texts, read(acme()).tree)


def test_without_its_tree_nothing_of_it_is_read() -> None:
    data = acme(tree={"relation": 1}, signals=3, secondary_edges=4, model=5, log_probability="x", metadata={"a": "b"})
    document = read(data, with_tree=False)
    assert document == replace(read(acme(tree=None)), metadata={"a": "b"})


def test_empty_files_and_lines() -> None:
    assert read_jsonl(b"", LINES) == read_jsonl(b"\xef\xbb\xbf\r\n \n", LINES) == read_json(b"[]", PATH) == []


# Errors

UNIT = {"relation": "joint", "nuclearity": "NN", "children": [{"edu": 0}, {"edu": 1}]}
SHIFTED = {"relation": "joint", "nuclearity": "NN", "children": [{"edu": 1}, {"edu": 2}]}


def child(**changes: object) -> dict[str, object]:
    """A tree over three EDUs in whose second child something is wrong."""
    return {"relation": "justify", "nuclearity": "NS", "children": [{"edu": 0}, {**SHIFTED, **changes}]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "a document must be an object, got 3"),
        ("x", "a document must be an object, got 'x'"),
        (None, "a document must be an object, but is missing"),
        ([[]], "a document must be an object, got []"),
        ({}, "edus must be a list, but is missing"),
        (acme(id=3), "id must be a string, got 3"),
        (acme(text=3), "text must be a string, got 3"),
        (acme(edus=None), "edus must be a list, but is missing"),
        (acme(edus=[]), "a document must have at least one EDU"),
        (acme(edus={}), "edus must be a list, got {}"),
        (acme(edus=[3]), "edus[0] must be an object, got 3"),
        (acme(edus=[{"start": 0}]), "edus[0].end must be a whole number from 0 to 2147483647, but is missing"),
        (acme(edus=[{"start": True, "end": 2}]), "edus[0].start must be a whole number"),
        (acme(edus=[{"start": 0.0, "end": 2}]), "edus[0].start must be a whole number"),
        (acme(edus=[{"start": -1, "end": 2}]), "edus[0].start must be a whole number"),
        (acme(edus=[{"start": 0, "end": 2**31}]), "edus[0].end must be a whole number"),
        (acme(edus=[{"start": 2, "end": 1}]), "edus[0].end must be at least the start, 2, got 1"),
        (acme(edus=[{"start": 5, "end": 7}, {"start": 0, "end": 2}]), "EDU 1 must start at 7 or later, got 0–2"),
        (acme(edus=[{"start": 5, "end": 99}]), "EDUs must lie within the text of 54 characters"),
        (acme(edus=["Acme", {"start": 1, "end": 2}]), "edus[1].text must be a string, but is missing"),
        (acme(edus=["Acme closed.", "The CFO said"]), "EDU 2 of 2 must match the text"),
        (acme(tree=3), "tree must be an object, got 3"),
        (acme(tree=[]), "tree must be an object, got []"),
        (acme(tree={}), "tree.children must be a list, but is missing"),
        (acme(tree={"edu": 0}), "the tree must cover the EDUs 0–2, got 0–0"),
        (acme(tree={"edu": 10**12}), "tree.edu must be a whole number"),
        (acme(tree={"edu": False}), "tree.edu must be a whole number"),
        (acme(tree={"edu": 0, "children": []}), "tree must be either a leaf with edu or a unit with children"),
        (acme(tree=UNIT), "the tree must cover the EDUs 0–2, got 0–1"),
        (acme(tree=SHIFTED), "the tree must cover the EDUs 0–2, got 1–2"),
        ({"tree": SHIFTED}, "the tree must cover the EDUs 0–1, got 1–2"),
        (acme(tree=child(relation=None)), "tree.children[1].relation must be a string, but is missing"),
        (acme(tree=child(nuclearity=1)), "tree.children[1].nuclearity must be a string, got 1"),
        (
            acme(tree=child(nuclearity="NX")),
            "tree.children[1].nuclearity must be an N or S for each of the 2 children and at least one N, got 'NX'",
        ),
        (acme(tree=child(nuclearity="SS")), "tree.children[1].nuclearity must be an N or S"),
        (acme(tree=child(nuclearity="NNN")), "tree.children[1].nuclearity must be an N or S"),
        (acme(tree=child(children=[{"edu": 1}], nuclearity="N")), "tree.children[1]: a unit must have at least two"),
        (acme(tree=child(children=[{"edu": 2}, {"edu": 1}])), "tree.children[1]: children must be adjacent"),
        (
            acme(tree=child(children=[{"edu": 1}, None])),
            "tree.children[1].children[1] must be an object, but is missing",
        ),
        (acme(tree=child(relations=["a"])), "tree.children[1]: relations must have one entry per child (2)"),
        (acme(tree=child(relations=["a", 2])), "tree.children[1].relations[1] must be a string, got 2"),
        (acme(tree=child(probability="x")), "tree.children[1].probability must be a finite number, got 'x'"),
        (acme(tree=child(probability=1.5)), "tree.children[1].probability must be a number from 0 to 1, got 1.5"),
        (acme(tree=child(probability=True)), "tree.children[1].probability must be a finite number, got True"),
        (acme(log_probability=10**400), "log_probability must be a finite number"),
        (acme(model=3), "model must be a string"),
        (acme(sentences=3), "sentences must be a list, got 3"),
        (acme(paragraphs=[{"start": 0, "end": 1, "label": 3}]), "paragraphs[0].label must be a string, got 3"),
        (acme(tokens=[{"start": 0, "end": 1, "head": 1}]), "tokens[0].head must be the index of one of the 1 tokens"),
        (acme(entities=[None]), "entities[0] must be an object"),
        (acme(metadata=[]), "metadata must be an object"),
        (acme(metadata={"a": 1}), "metadata.a must be a string, got 1"),
        (acme(signals=[{}]), "signals[0].unit must be a list, but is missing"),
        (acme(signals=[{"unit": [0, 1, 2]}]), "signals[0].unit must be [start, stop] with start < stop"),
        (acme(signals=[{"unit": [1, 1]}]), "signals[0].unit must be [start, stop] with start < stop"),
        (acme(signals=[{"unit": [0, 1], "type": "dm"}]), "signals[0].subtype must be a string, but is missing"),
        (acme(secondary_edges=[{"source": [0, 1]}]), "secondary_edges[0].target must be a list, but is missing"),
    ],
)
def test_errors_name_the_place(data: object, message: str) -> None:
    with pytest.raises(CorpusFormatError) as caught:
        read_json(json.dumps(data).encode(), PATH)
    assert str(caught.value).startswith(f"{PATH}: {message}")
    content = f"{ACME.replace(chr(10), ' ')}\n{json.dumps(data)}\n"
    with pytest.raises(CorpusFormatError) as caught:
        read_jsonl(content.encode(), LINES)
    # A list is a document neither here nor there, but only here at the top.
    expected = "a document must be an object" if isinstance(data, list) else message
    assert str(caught.value).startswith(f"{LINES}:2: {expected}")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "invalid JSON: Expecting value at column 1"),
        ('{"id": "x",\n "edus": ["a",]}', 2, "invalid JSON"),
        ('{"id": "x"}\n{"id": "y"}', 2, "invalid JSON: Extra data"),
        ('{"id": "x\n"}', 1, "invalid JSON: Invalid control character"),
        ('{"edus": ["a"], "log_probability": NaN}', None, "a number must be finite, got NaN"),
        ('{"edus": ["a"], "log_probability": -Infinity}', None, "a number must be finite, got -Infinity"),
        ('{"edus": ["a"], "log_probability": 1e999}', None, "log_probability must be a finite number, got inf"),
        ('{"edus": [{"start": 0, "end": ' + "9" * 5000 + "}]}", None, "digits"),
        ("[" * 5000, 1, "invalid JSON"),
        ("[" * 3000 + "NaN" + "]" * 3000, None, "a number must be finite"),
    ],
)
def test_errors_of_syntax(text: str, line: int | None, message: str) -> None:
    with pytest.raises(CorpusFormatError, match=re.escape(message)) as caught:
        read_json(text.encode(), PATH)
    assert (caught.value.path, caught.value.line) == (PATH, line)


def test_errors_of_syntax_in_a_line() -> None:
    with pytest.raises(CorpusFormatError) as caught:
        read_jsonl(b'{"edus": ["a"]}\n\n{"edus": ["a"}\n', LINES)
    assert caught.value.line == 3
