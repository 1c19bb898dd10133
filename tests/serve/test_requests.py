"""Bodies of every kind are read or refused in a line; the description of the service tells how they must be."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from genrst.errors import GenrstError
from genrst.serve.openapi import schemas
from genrst.serve.requests import (
    EXAMPLE,
    ConvertRequest,
    EvaluateRequest,
    ParseRequest,
    RenderRequest,
    SegmentRequest,
    read_request,
)

SCHEMAS = schemas([ParseRequest, SegmentRequest, EvaluateRequest, RenderRequest, ConvertRequest])
PATHS = {
    "/v1/parse": "ParseRequest",
    "/v1/segment": "SegmentRequest",
    "/v1/evaluate": "EvaluateRequest",
    "/v1/render": "RenderRequest",
    "/v1/convert": "ConvertRequest",
}
TEXTS = st.text(max_size=12) | st.sampled_from(["It rained, so we left.", "\ud800", "<b>&</b>", "\0", "\u202e.", " "])
ANYTHING = st.one_of(
    *(st.none(), st.booleans(), st.integers(-2, 4), st.integers(), st.floats(), TEXTS),
    *(st.lists(TEXTS, max_size=2), st.dictionaries(TEXTS, TEXTS, max_size=2)),
)
CONSTRAINED = {"document": {**EXAMPLE, "constraints": [{"edus": [1, 3], "nuclearity": "NS"}]}, "model": "chart"}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container inside a value, with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Any]:
    """A request that the description allows, with options as their schema has them, and some places changed."""
    path, name = draw(st.sampled_from(sorted(PATHS.items())))
    schema = SCHEMAS[name]
    extra = [CONSTRAINED] if path == "/v1/parse" else []
    body = deepcopy(draw(st.sampled_from([*schema["examples"], *extra])))
    for option, values in OPTIONS.items():
        if option in schema["properties"] and draw(st.booleans()):
            body[option] = draw(st.sampled_from(values))
    for _ in range(draw(st.integers(0, 2))):
        container, key = draw(st.sampled_from(list(places(body)) or [({"": 0}, "")]))
        if draw(st.booleans()):
            container[key] = draw(ANYTHING)
        else:
            del container[key]
    return path, body


OPTIONS: dict[str, list[Any]] = {
    **{"trees": [1, 3], "alternatives": [0, 2], "model": ["tiny", "chart", None], "labels": ["coarse", "fine"]},
    **{"format": ["svg", "html", "txt"], "style": ["classic", "compact"], "colours": ["relation", "certainty"]},
    **{
        "from": ["dis", "rs3", "rs4", "json", "jsonl", "edus"],
        "to": ["dis", "rs3", "rs4", "json", "jsonl", "rsd", "edus"],
    },
}


def test_options_are_those_of_the_description():
    for name in PATHS.values():
        for option, schema in SCHEMAS[name]["properties"].items():
            choices = schema.get("enum") or next(
                (one["enum"] for one in schema.get("anyOf", []) if "enum" in one), None
            )
            if choices and option in OPTIONS:
                assert set(OPTIONS[option]) <= set(choices)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(requests())
@example(("/v1/parse", {"document": {"text": None, "edus": [{"start": 0, "end": 0}]}, "model": "chart"}))
@example(("/v1/segment", {"text": "\0"}))
def test_no_request_makes_the_service_fail(client: TestClient, asked: tuple[str, Any]):
    path, data = asked
    answer = client.post(path, content=json.dumps(data), headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 422:
        assert answer.json().keys() == {"error"}
        assert "\n" not in answer.json()["error"]


def test_every_reference_of_the_description_leads_somewhere():
    assert '{"const": "a document"' not in json.dumps(SCHEMAS)
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(SCHEMAS)):
        assert name in SCHEMAS
    assert set(PATHS.values()) | {"Document", "node"} <= SCHEMAS.keys()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body must be JSON, got Expecting property name enclosed in double quotes at column 2"),
        (b"", "the body must be JSON, got Expecting value at column 1"),
        (b"\xff", "the body must be UTF-8, got invalid start byte at byte 0"),
        (b'{"trees": NaN}', "the body must be JSON, got a number must be finite, got NaN"),
        (b"[" * 4_000, "the body must be JSON, got Expecting value at column 4001"),
        (b"[" * 5_000, "the body is nested too deeply (limit 4020 levels)"),
        (b"[]", "the body: Input should be a valid dictionary or instance of ParseRequest, got []"),
        (b'{"text": 3}', "text: Input should be a valid string, got 3"),
        (b'{"text": "a", "tree": 2}', "tree: Extra inputs are not permitted, got 2"),
        (b'{"text": "a", "trees": 0}', "trees: Input should be greater than or equal to 1, got 0"),
        (b'{"text": "a", "trees": true}', "trees: Input should be a valid integer, got True"),
    ],
)
def test_bodies_that_are_refused(body: bytes, message: str):
    with pytest.raises(GenrstError, match=re.escape(message)):
        read_request(ParseRequest, body)


def test_there_must_be_one_thing_to_parse():
    for body, was in ((b"{}", "none"), (b'{"text": "a", "edus": ["b"]}', "text, edus")):
        with pytest.raises(GenrstError, match=f"one of text, edus and document, got {was}"):
            read_request(ParseRequest, body).item()


def test_there_must_be_one_thing_to_convert():
    for body in (b"{}", b'{"content": "a"}', b'{"from": "rs3"}', b'{"content": "a", "from": "dis", "documents": [{}]}'):
        with pytest.raises(GenrstError, match="either content and from, or documents"):
            read_request(ConvertRequest, body).check()


def test_nesting_is_counted_outside_of_strings():
    brackets = '[{\\\\"' * 5000
    assert read_request(ParseRequest, json.dumps({"text": brackets}).encode()).text == brackets
    flat = b'{"document": {"metadata": {}, "edus": [' + b", ".join([b"[]"] * 9000) + b"]}}"
    assert len(read_request(RenderRequest, flat).document["edus"]) == 9000
    # Ends at once, although it has many places where a string could begin.
    for body in (b"[" * 1_000_000, b"[" * 5000 + b'"' + b'\\"' * 500_000, b"[" * 5000 + b'"' + b"\\" * 999_999):
        with pytest.raises(GenrstError, match=r"nested too deeply \(limit 4020 levels\)"):
            read_request(ParseRequest, body)


def test_trees_may_be_deep():
    depth = 3000
    tree = '{"relation": "r", "nuclearity": "NS", "children": [{"edu": 0}, ' * depth + '{"edu": 1}' + "]}" * depth
    request = read_request(RenderRequest, f'{{"document": {{"tree": {tree}}}}}'.encode(), depth + 1)
    assert request.document["tree"]["relation"] == "r"
