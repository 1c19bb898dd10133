"""The endpoints of the service as data, their OpenAPI description, and the page at `/docs`.

The page is plain HTML: the usual viewers load scripts from other servers, which the service does not allow.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from genrst.formats.json_text import dumps
from genrst.serve.requests import DOCUMENT_SCHEMA
from genrst.version import VERSION

_SCHEMAS = "#/components/schemas/"
_JSON = "application/json"

_ERRORS = """
401: the API key is missing or wrong; 403: the request comes from a page of another site; 404: no such file; 405:
the method is not one that Allow lists; 408: the body arrived too slowly; 409: another program has changed the
file; 413: the body is too large; 415: the Content-Type is not application/json; 421: the Host is not a name of the
service; 422: the request, its document or its constraints are invalid, or the document is too large or takes too
long; 429: too many requests are waiting, and Retry-After says when to try again; 501: a required library is
not installed; 503: the request has waited too long, or the service is shutting down; 507: the file cannot be written
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint; the docstring of its handler is its description."""

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response]]
    body: type[BaseModel] | None = None
    media_types: Sequence[str] = (_JSON,)


def describe(endpoints: Sequence[Endpoint], *, needs_key: bool) -> dict[str, Any]:
    """Return the OpenAPI description."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    bodies = [endpoint.body for endpoint in endpoints if endpoint.body is not None]
    components: dict[str, Any] = {"schemas": {**schemas(bodies), "Error": error}}
    text = "Parse texts into rhetorical structure trees. Documents are JSON; the service stores nothing."
    info = {"title": "genrst", "version": VERSION, "description": text}
    description: dict[str, Any] = {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}
    if needs_key:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        description["security"] = [{"key": []}]
    return description


def schemas(bodies: Sequence[type[BaseModel]]) -> dict[str, Any]:
    """Return the JSON schemas of request bodies and of documents by name."""
    _, found = models_json_schema([(body, "validation") for body in bodies], ref_template=f"{_SCHEMAS}{{model}}")
    reference = {"$ref": f"{_SCHEMAS}Document"}
    requests = json.loads(
        json.dumps(found["$defs"]),
        object_hook=lambda one: reference if one.items() >= DOCUMENT_SCHEMA.items() else one,
    )
    text = files("genrst.formats").joinpath("document.schema.json").read_text(encoding="utf-8")
    document = json.loads(text.replace("#/$defs/", _SCHEMAS))
    del document["$schema"]
    return {**requests, **document.pop("$defs"), "Document": document}


def docs_page(description: dict[str, Any]) -> str:
    """Return the endpoints with their examples as HTML."""
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    parts = [f"{head}<title>genrst: endpoints</title><h1>genrst {VERSION}: endpoints</h1>"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(operation['description'])}</p>")
            parts += [f"<pre>{escape(dumps(example))}</pre>" for example in examples(description, operation)]
    return "\n".join([*parts, '<p><a href="/openapi.json">OpenAPI description</a></p>', ""])


def examples(description: dict[str, Any], operation: dict[str, Any]) -> list[Any]:
    """Return the example bodies of an operation."""
    if "requestBody" not in operation:
        return []
    name = operation["requestBody"]["content"][_JSON]["schema"]["$ref"].removeprefix(_SCHEMAS)
    return list(description["components"]["schemas"][name]["examples"])


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    success = {"description": "success", "content": {media_type: {} for media_type in endpoint.media_types}}
    errors = {"description": " ".join(_ERRORS.split()), "content": _content("Error")}
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "description": endpoint.handler.__doc__,
        "responses": {"200": success, "default": errors},
    }
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body.__name__)}
    if names := re.findall(r"{(\w+)}", endpoint.path):
        schema = {"type": "integer"}
        operation["parameters"] = [{"name": name, "in": "path", "required": True, "schema": schema} for name in names]
    return operation


def _content(schema: str) -> dict[str, Any]:
    return {_JSON: {"schema": {"$ref": f"{_SCHEMAS}{schema}"}}}
