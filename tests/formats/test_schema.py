"""The JSON Schema says what we write: all of it passes, and what the reader refuses does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.document import Document
from genrst.errors import CorpusFormatError
from genrst.formats import json_format
from genrst.formats.json_format import KEYS, document_from_dict, document_to_dict
from tests.rendering.samples import marked_bridge
from tests.strategies import documents, hostile_documents

SCHEMA = json.loads(Path(json_format.__file__).with_name("document.schema.json").read_text(encoding="utf-8"))


def errors(data: object) -> list[Any]:
    return list(pytest.importorskip("jsonschema").Draft202012Validator(SCHEMA).iter_errors(data))


def test_it_is_a_schema():
    pytest.importorskip("jsonschema").Draft202012Validator.check_schema(SCHEMA)


def test_it_has_the_keys_of_documents():
    assert {*SCHEMA["properties"]} == {*KEYS}


@settings(max_examples=15)
@given(documents() | hostile_documents() | st.just(marked_bridge()))
def test_documents_pass(document: Document):
    assert errors(document_to_dict(document)) == []


LEAVES = [{"edu": 0}, {"edu": 1}]


@pytest.mark.parametrize(
    "changes",
    [
        {"edus": []},
        {"edus": [{"start": 0}]},
        {"edus": [{"start": -1, "end": 2}]},
        {"text": 3},
        {"id": 3},
        {"tree": {"edu": 0.5}},
        {"tree": {"relation": "r", "nuclearity": "SS", "children": LEAVES}},
        {"tree": {"relation": "r", "nuclearity": "NX", "children": LEAVES}},
        {"tree": {"nuclearity": "NN", "children": LEAVES}},
        {"tree": {"relation": "r", "nuclearity": "NN", "children": LEAVES, "probability": 2}},
        {"tokens": [{"start": 0, "end": 1}]},
        {"signals": [{"unit": [0], "type": "a", "subtype": "b"}]},
        {"secondary_edges": [{"source": [0, 1], "target": [1, 2]}]},
        {"constraints": [{"edus": [0, 1], "nuclearity": "NNN"}]},
        {"metadata": {"genre": 3}},
        {"log_probability": "low"},
    ],
    ids=lambda changes: json.dumps(changes)[:60],
)
def test_what_is_refused_does_not(changes: dict[str, object]):
    document = document_to_dict(Document.from_edus("rain", ["It rained,", "so we stayed in."]))
    assert errors(document) == []
    with pytest.raises(CorpusFormatError):
        document_from_dict(document | changes)
    assert errors(document | changes) != []
