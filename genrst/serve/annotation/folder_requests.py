"""The request bodies for folders and pairs of annotators; the others are in `genrst.serve.requests`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from genrst.serve.requests import EXAMPLE, JsonDocument

State = Literal["open", "done", "flagged"]
Choice = Literal["left", "right", "edit"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StateRequest(_Strict):
    """The state of a file."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "done"}]})

    state: State


class TakeRequest(_Strict):
    """A result, and the disagreement for which it takes the version of one side.

    `sources` is the version of the two files that was returned when the pair was opened.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"document": EXAMPLE, "number": 0, "side": "right", "sources": ""}]}
    )

    document: JsonDocument
    number: int
    side: Literal["left", "right"]
    sources: str


class ResultRequest(_Strict):
    """A result to write, with the decisions by disagreement number and the version that was opened."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"document": EXAMPLE, "decisions": {"0": "right"}, "sources": ""}]}
    )

    document: JsonDocument
    decisions: dict[str, Choice]
    sources: str
    version: str | None = None
