"""What clients may ask, as JSON, and what it means; the OpenAPI description is made of it.

A body is read by our own JSON reader, since trees are deeper than others allow. Documents are as in
`genrst/formats/document.schema.json`.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from reprlib import repr as short_repr
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.json_schema import models_json_schema

from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusWarning, UsageError
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.formats.json_text import loads
from genrst.parser.parser import Item, Text, from_edus
from genrst.trees.node import Leaf, Unit

MOST = 20
"""Trees, and labels of each unit, that can be asked for."""
EDU_CHARACTERS = 50
"""About as long is an EDU: raw text counts as one for each."""

# pydantic follows references, but the schema of documents is not its own: they are put in afterwards.
_PLACEHOLDER = {"const": "a document"}
JsonDocument: TypeAlias = Annotated[dict[str, Any], WithJsonSchema(_PLACEHOLDER)]
TextFormat: TypeAlias = Literal["dis", "rs3", "rs4", "json", "jsonl", "edus"]
AnyFormat: TypeAlias = Literal["dis", "rs3", "rs4", "json", "jsonl", "rsd", "edus"]

_EDUS: Any = ["It rained all day,", "so we stayed in.", "Nobody minded."]
_TREE = Unit("elaboration", "NS", (Unit("causal", "SN", (Leaf(0), Leaf(1))), Leaf(2)))
EXAMPLE: Any = document_to_dict(Document.from_edus("rain", _EDUS, _TREE))
_OTHER_TREE = Unit("joint", "NN", (Leaf(0), Unit("causal", "NS", (Leaf(1), Leaf(2)))))
OTHER: Any = document_to_dict(Document.from_edus("rain", _EDUS, _OTHER_TREE))


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SegmentRequest(_Request):
    """A text whose EDUs are wanted."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": " ".join(_EDUS)}})

    text: str = Field(min_length=1)
    id: str = Field("text", description="The name of the document.")
    model: str | None = Field(None, description="One of those that /v1/models lists; the first if none is given.")


class ParseRequest(_Request):
    """A text, the texts of EDUs, or a document, whose EDUs and constraints are kept; exactly one of them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": " ".join(_EDUS)},
                {"edus": _EDUS, "id": "rain"},
                {"document": EXAMPLE, "trees": 2},
            ]
        }
    )

    text: str | None = Field(None, min_length=1)
    edus: list[str] | None = Field(None, min_length=1)
    document: JsonDocument | None = None
    id: str | None = Field(None, description="The name of a document that has none.")
    model: str | None = Field(None, description="One of those that /v1/models lists; the first if none is given.")
    trees: int = Field(1, ge=1, le=MOST, description="How many of the best trees.")
    alternatives: int = Field(
        0, ge=0, le=MOST, description="How many labels, with probabilities, of each unit of the best tree; charts only."
    )

    def item(self) -> Item:
        """What is to be parsed."""
        given = [name for name in ("text", "edus", "document") if getattr(self, name) is not None]
        if len(given) != 1:
            raise UsageError(f"a request must have one of text, edus and document, was: {', '.join(given) or 'none'}")
        name = self.id or "text"
        if self.text is not None:
            return Text(name, self.text)
        if self.edus is not None:
            return from_edus(name, self.edus)
        return document_from_dict(self.document, with_tree=False, default_id=name)


class EvaluateRequest(_Request):
    """Documents to score, and gold ones of the same names."""

    model_config = ConfigDict(json_schema_extra={"example": {"gold": [EXAMPLE], "predicted": [OTHER]}})

    gold: list[JsonDocument] = Field(min_length=1)
    predicted: list[JsonDocument] = Field(min_length=1)
    labels: Literal["coarse", "fine"] = Field("coarse", description="Relations as classes, or as they are.")
    inventory: Literal["rstdt", "gum", "open"] | None = Field(None, description="Whose classes; by the names if none.")


class RenderRequest(_Request):
    """A document to draw, or how another differs from it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"document": EXAMPLE},
                {"document": EXAMPLE, "format": "txt", "width": 60},
                {"document": EXAMPLE, "against": OTHER, "format": "html"},
            ]
        }
    )

    document: JsonDocument
    against: JsonDocument | None = Field(None, description="Draw the difference to this one (svg, html).")
    format: Literal["svg", "html", "txt", "png", "pdf", "parts"] = Field(
        "svg", description="`parts` are those of an HTML page, as JSON: for a page that shows one tree after the other."
    )
    style: Literal["classic", "compact"] | None = None
    colours: Literal["relation", "certainty"] = "relation"
    width: int = Field(80, ge=20, le=400, description="Columns of txt.")


class ConvertRequest(_Request):
    """The content of a file, or documents; they come back as documents or, if `to` is given, as a file's content."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"content": "It rained,\nso we stayed in.\n", "from": "edus"},
                {"documents": [EXAMPLE], "to": "rs3"},
            ]
        }
    )

    content: str | None = None
    source_format: TextFormat | None = Field(None, alias="from", description="The format of the content.")
    documents: list[JsonDocument] | None = Field(None, min_length=1)
    to: AnyFormat | None = None
    roots: Literal["error", "join"] = Field("error", description="Several trees in a file: an error, or join them.")

    def check(self) -> None:
        """Raise an error if there is not exactly one of content, with its format, and documents."""
        given = self.content is not None, self.source_format is not None, self.documents is not None
        if given not in ((True, True, False), (False, False, True)):
            raise UsageError("a request must have either content and from, or documents")


class SaveRequest(_Request):
    """A document for a file of the annotator."""

    model_config = ConfigDict(json_schema_extra={"example": {"document": EXAMPLE}})

    document: JsonDocument
    version: str | None = Field(
        None, description="That of the content which was read or saved; if none is given, the one that was last told."
    )
    force: bool = Field(False, description="Save even if another program has changed the file since.")


REQUESTS = (SegmentRequest, ParseRequest, EvaluateRequest, RenderRequest, ConvertRequest)
AnyRequest = TypeVar("AnyRequest", bound=BaseModel)


def read_request(kind: type[AnyRequest], body: bytes) -> AnyRequest:
    """The request that a body holds."""
    try:
        data = loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CorpusFormatError(f"the body must be UTF-8, was: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise CorpusFormatError(f"the body must be JSON, was: {error.msg} at column {error.colno}") from error
    except ValueError as error:
        raise CorpusFormatError(f"the body must be JSON, was: {error}") from error
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        place = ".".join(map(str, found["loc"])) or "the body"
        raise CorpusFormatError(f"{place}: {found['msg']}, was: {short_repr(found['input'])}") from error


def read_documents(items: Sequence[dict[str, Any]], max_edus: int) -> list[Document]:
    """The documents of a request, none of which is too large."""
    found = [document_from_dict(item, default_id=f"document-{number}") for number, item in enumerate(items, start=1)]
    for document in found:
        check_size(document.id, len(document.edus), max_edus)
    return found


def check_size(name: str, n_edus: int, max_edus: int) -> None:
    """Refuse a document with too many EDUs."""
    if n_edus > max_edus:
        raise UsageError(f"{name}: a document must have at most {max_edus} EDUs, was: {n_edus}")


def likely_edus(item: Item) -> int:
    """How many EDUs an item of a request has; for raw text, how many it is likely to have."""
    if isinstance(item, Document):
        return len(item.edus)
    return len(item.text if isinstance(item, Text) else item) // EDU_CHARACTERS + 1


@contextmanager
def heard() -> Iterator[list[str]]:
    """The oddities that are repaired while something is read, a line each; in one thread at a time."""
    lines: list[str] = []

    def hear(message: Warning | str, *_place: object, **_named: object) -> None:
        if isinstance(message, CorpusWarning):
            lines.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", CorpusWarning)
        warnings.showwarning = hear
        yield lines


def schemas(kinds: Sequence[type[BaseModel]] = REQUESTS) -> dict[str, Any]:
    """The JSON schemas of requests and documents, by name, as OpenAPI wants them."""
    place = "#/components/schemas/"
    _, found = models_json_schema([(kind, "validation") for kind in kinds], ref_template=f"{place}{{model}}")
    requests = json.dumps(found["$defs"]).replace(json.dumps(_PLACEHOLDER), json.dumps({"$ref": f"{place}Document"}))
    text = files("genrst.formats").joinpath("document.schema.json").read_text(encoding="utf-8")
    document = json.loads(text.replace("#/$defs/", place))
    del document["$schema"]
    return {**json.loads(requests), **document.pop("$defs"), "Document": document}
