"""The service from outside: every example, answers equal to those without it, limits, logs."""

import json
import logging
import re
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pytest
from starlette.testclient import TestClient

from genrst.document import Document
from genrst.errors import CorpusWarning
from genrst.evaluation.report import evaluate
from genrst.formats.files import format_documents
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.parser.parser import Parser
from genrst.rendering.svg import render_svg
from genrst.serve.app import make_app
from genrst.serve.documents import collected_warnings
from genrst.serve.middleware import JsonFormatter
from genrst.serve.openapi import examples
from genrst.serve.requests import EXAMPLE, OTHER
from genrst.serve.worker import Limits
from genrst.trees.constraints import Constraint
from genrst.trees.node import units
from tests.parser.samples import TEXT

pytestmark = pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")

EDUS = ["The ferry stopped", "because of a storm,", "and nobody was hurt.", "It rained,", "it rained."]


@contextmanager
def service(parsers: list[Parser], limits: Limits) -> Iterator[TestClient]:
    with TestClient(make_app(parsers, limits), base_url="http://localhost") as client:
        yield client


def documents(answer: Any) -> list[Document]:
    assert answer.status_code == 200, answer.text
    return [document_from_dict(one) for one in answer.json()["documents"]]


def same(found: Document, wanted: Document) -> bool:
    """Whether documents are equal, but for the last digits of probabilities."""
    plain = [document_to_dict(replace(one, log_probability=None)) for one in (found, wanted)]
    texts = [json.dumps(_rounded(one), sort_keys=True) for one in plain]
    return texts[0] == texts[1] and found.log_probability == pytest.approx(wanted.log_probability, abs=1e-3)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 3) if isinstance(value, float) else value


@pytest.mark.slow
def test_every_example_runs(client: TestClient):
    description = client.get("/openapi.json").json()
    n_examples = 0
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            for example in examples(description, operation) or [None]:
                answer = client.request(method, path, json=example)
                assert answer.status_code == 200, (path, answer.text)
                assert answer.headers["content-type"].partition(";")[0] in operation["responses"]["200"]["content"]
                n_examples += 1
    assert n_examples == 13


def test_pages_for_people(client: TestClient):
    home, docs = client.get("/"), client.get("/docs")
    assert 'href="/docs"' in home.text
    assert "/v1/parse" in docs.text
    assert all("default-src 'none'" in page.headers["content-security-policy"] for page in (home, docs))


@pytest.mark.slow
def test_a_text_is_parsed_as_without_the_service(client: TestClient, parsers: list[Parser]):
    for parser in parsers:
        body = {"text": TEXT, "id": "ferry", "model": parser.config.name}
        (found,) = documents(client.post("/v1/parse", json=body))
        assert same(found, parser(TEXT, id="ferry"))
        (segmented,) = documents(client.post("/v1/segment", json=body))
        assert segmented == parser.segment(TEXT, id="ferry")


def test_constraints_and_the_best_trees(client: TestClient, parsers: list[Parser], chart: Parser):
    constraints = (Constraint(1, 3, relation="joint"), Constraint(0, 3, is_unit=False))
    document = replace(Document.from_edus("text", EDUS), constraints=constraints)
    data = document_to_dict(document)
    body = {"document": data, "model": "chart", "trees": 3, "alternatives": 2}
    answer = client.post("/v1/parse", json=body)
    wanted = chart.kbest(document, 3)
    assert [same(*pair) for pair in zip(documents(answer), wanted, strict=True)] == [True] * 3
    spans = {(unit.start, unit.stop): unit.relation for unit in units(wanted[0].tree)} if wanted[0].tree else {}
    assert spans[1, 3] == "joint"
    assert (0, 3) not in spans
    alternatives = answer.json()["alternatives"]
    assert [tuple(one["edus"]) for one in alternatives] == list(spans)
    distribution = chart.distribution(document)
    for one in alternatives:
        probabilities = distribution.label_probabilities(*one["edus"])
        best = sorted(probabilities.values(), reverse=True)[:2]
        assert [label["probability"] for label in one["labels"]] == pytest.approx(best, abs=1e-4)
        assert one["probability"] == pytest.approx(distribution.probability(*one["edus"]), abs=1e-4)
    (constrained,) = documents(client.post("/v1/parse", json={"document": data}))
    assert same(constrained, parsers[0].parse(document))
    refusal = client.post("/v1/parse", json={"edus": EDUS, "alternatives": 1})
    assert refusal.json() == {"error": "alternatives require a chart parser, got the model tiny"}
    (first, second) = documents(client.post("/v1/parse", json={"edus": EDUS, "trees": 2}))
    steps = parsers[0].kbest(EDUS, 2)
    assert same(first, steps[0])
    assert same(second, steps[1])


@pytest.mark.slow
def test_many_clients_get_what_they_would_get_alone(client: TestClient, parsers: list[Parser]):
    """Also if one among them asks what cannot be."""
    asked = [(parser, [*EDUS[start:], *EDUS[:length]]) for parser in parsers for start in range(4) for length in (0, 4)]
    wanted = [parser.parse_edus(edus, id="text") for parser, edus in asked]

    def ask(parser: Parser, edus: list[str]) -> Any:
        return client.post("/v1/parse", json={"edus": edus, "model": parser.config.name})

    impossible = {"document": {"edus": EDUS, "constraints": [{"edus": [0, 2]}, {"edus": [1, 3]}]}, "model": "chart"}
    with ThreadPoolExecutor(16) as threads:
        refused = [threads.submit(client.post, "/v1/parse", json=impossible) for _ in range(3)]
        answers = [threads.submit(ask, *one) for one in asked]
        assert {one.result().status_code for one in refused} == {422}
        found = [documents(answer.result())[0] for answer in answers]
    assert all(map(same, found, wanted))
    metrics = client.get("/metrics").text
    n_batches = next(float(line.split()[1]) for line in metrics.splitlines() if "batch_requests_count" in line)
    n_requests = next(float(line.split()[1]) for line in metrics.splitlines() if "batch_requests_sum" in line)
    assert n_batches < n_requests, "some were parsed together"


@pytest.mark.slow
def test_scores_pictures_and_files_are_those_of_the_package(client: TestClient):
    gold, predicted = document_from_dict(EXAMPLE), document_from_dict(OTHER)
    scores = client.post("/v1/evaluate", json={"gold": [EXAMPLE], "predicted": [OTHER]}).json()
    assert scores == {**evaluate([gold], [predicted]).as_dict(), "warnings": []}
    segmented = {**OTHER, "tree": None}
    scores = client.post("/v1/evaluate", json={"gold": [EXAMPLE], "predicted": [segmented]}).json()
    assert scores["segmentation"]["f1"] == 1
    assert client.post("/v1/render", json={"document": EXAMPLE, "style": "compact"}).text == render_svg(gold, "compact")
    assert client.post("/v1/render", json={"document": EXAMPLE, "format": "png"}).content[:4] == b"\x89PNG"
    for format in ("dis", "rs3", "rs4", "json", "jsonl", "rsd", "edus"):
        written = client.post("/v1/convert", json={"documents": [EXAMPLE], "to": format}).json()
        assert written == {"content": format_documents([gold], f".{format}"), "warnings": []}
        if format not in ("rsd", "edus"):
            again = client.post("/v1/convert", json={"content": written["content"], "from": format})
            assert documents(again)[0].tree == gold.tree


def test_what_is_odd_or_lost_is_told(client: TestClient):
    odd = {**EXAMPLE, "colour": "red", "signals": [{"unit": [0, 1], "type": "dm", "subtype": "dm"}]}
    answer = client.post("/v1/convert", json={"documents": [odd], "to": "dis"}).json()
    assert [line.partition(",")[0] for line in answer["warnings"]] == [
        "document: the unknown key 'colour' is ignored; the known keys are id",
        "rain: .dis files cannot hold signals or secondary edges; 1 is left out",
    ]
    russian = {"edus": ["Паром остановился,", "потому что был шторм."], "model": "chart"}
    assert "does not look like English" in client.post("/v1/parse", json=russian).json()["warnings"][0]


def test_each_thread_collects_its_own_warnings():
    first_has_left, found = Event(), []

    def collect_second() -> None:
        with collected_warnings() as lines:
            first_has_left.wait(0.2)
            warnings.warn(CorpusWarning("second"), stacklevel=1)
        found.extend(lines)

    with collected_warnings() as lines:
        thread = Thread(target=collect_second)
        thread.start()
        time.sleep(0.05)
        warnings.warn(CorpusWarning("first"), stacklevel=1)
    first_has_left.set()
    thread.join()
    assert (lines, found) == (["first"], ["second"])


def test_no_name_leads_to_a_file(client: TestClient, tiny: Any):
    for name in (str(tiny), "../tiny", "en", ""):
        answer = client.post("/v1/parse", json={"edus": EDUS, "model": name})
        assert answer.json() == {"error": f"model must be one of tiny, chart, got {name!r}"}
    assert str(tiny.parent) not in client.get("/v1/models").text


def test_limits(parsers: list[Parser]):
    with service(parsers, Limits(bytes=1000, edus=4, wait=5)) as client:
        assert client.post("/v1/parse", json={"text": "a" * 2000}).status_code == 413
        chunks = client.post("/v1/parse", content=iter([b" " * 600] * 2), headers={"Content-Type": "application/json"})
        assert (chunks.status_code, chunks.json()) == (413, {"error": "the body is too large (limit 1000 bytes)"})
        many = {"edus": [{"start": n, "end": n + 1} for n in range(5)], "text": "abcde", "tree": None}
        bodies = [
            ("/v1/parse", {"edus": EDUS}),
            ("/v1/parse", {"text": "a " * 200}),
            ("/v1/parse", {"text": "Go. " * 9}),
            ("/v1/render", {"document": many}),
            ("/v1/convert", {"documents": [many]}),
            ("/v1/convert", {"content": "\n".join("abcde"), "from": "edus"}),
            ("/v1/evaluate", {"gold": [many], "predicted": [many]}),
        ]
        for path, body in bodies:
            answer = client.post(path, json=body)
            assert (answer.status_code, "must have at most 4 EDUs, got " in answer.text) == (422, True), answer.text
        assert client.get("/health").json()["status"] == "ok"


def test_a_text_that_turns_out_too_long(parsers: list[Parser], monkeypatch: pytest.MonkeyPatch):
    """Paragraphs are EDUs, whatever a model thinks; no tree is looked for."""
    monkeypatch.setattr("genrst.chart.finder.infer", lambda context: pytest.fail("its charts are scored"))
    with service(parsers, Limits(edus=4)) as client:
        for path in ("/v1/parse", "/v1/segment"):
            for model in ("chart", "tiny"):
                answer = client.post(path, json={"text": "Go on.\n\n" * 9, "id": "nine", "model": model})
                error = re.sub(r"\d+$", "9", answer.json()["error"])
                assert (answer.status_code, error) == (422, "nine: a document must have at most 4 EDUs, got 9")


def test_a_text_that_turns_out_longer_than_short_texts_are(client: TestClient, chart: Parser):
    text = "Go on.\n\n" * 300
    (found,) = documents(client.post("/v1/segment", json={"text": text, "model": "chart"}))
    assert found == chart.segment(text)
    assert len(found.edus) >= 300


@pytest.mark.slow
def test_the_time_of_a_request_is_limited(parsers: list[Parser]):
    many = EDUS * 60
    bodies: list[dict[str, Any]] = [
        {"edus": EDUS, "model": "chart"},
        {"edus": many, "model": "chart"},
        {"edus": many, "model": "chart", "trees": 20},
        {"edus": many, "model": "tiny"},
        {"text": TEXT, "model": "chart"},
    ]
    with service(parsers, Limits(seconds=1e-6)) as client:
        for body in bodies:
            answer = client.post("/v1/parse", json=body)
            rule = "the request takes more than 1e-06 s; send a shorter text or request fewer trees"
            assert (answer.status_code, answer.json()) == (422, {"error": rule})
        assert client.get("/health").json()["waiting"] == 0


def test_what_is_not_there(client: TestClient):
    assert (client.get("/etc/passwd").status_code, client.get("/v1/parse").json()) == (
        404,
        {"error": "Method Not Allowed"},
    )


def test_logs_have_no_texts(client: TestClient, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "genrst.serve"):
        client.post("/v1/parse", json={"text": "Secret."})
        client.post("/v1/parse", json={"secret": "Secret."})
        client.get("/secret")
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    assert [(line["path"], line["status"]) for line in lines] == [
        ("/v1/parse", 200),
        ("/v1/parse", 422),
        ("other", 404),
    ]
    assert "secret" not in json.dumps(lines).lower()


def test_a_bug_is_told_without_its_text(parsers: list[Parser], monkeypatch: Any, caplog: pytest.LogCaptureFixture):
    def fail(*_arguments: object) -> None:
        raise RuntimeError("Secret.")

    with service(parsers, Limits()) as client:
        monkeypatch.setattr(parsers[0], "pipe", fail)
        with caplog.at_level(logging.INFO, "genrst.serve"):
            answer = client.post("/v1/parse", json={"edus": EDUS})
        monkeypatch.undo()
        assert client.post("/v1/parse", json={"edus": EDUS}).status_code == 200
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.json()["error"]
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    assert (lines[0]["error"], lines[1]["status"]) == ("RuntimeError", 500)
    assert "Secret" not in json.dumps(lines) + answer.text
