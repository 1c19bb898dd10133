"""The request bodies of a folder and of pairs of two annotators; others are in `genrst.serve.requests`."""

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
    """A result, and the number of the disagreement for which it gets what one side has.

    `sources` is the version of both annotators' files, as the pair was opened with it.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"document": EXAMPLE, "number": 0, "side": "right", "sources": ""}]}
    )

    document: JsonDocument
    number: int
    side: Literal["left", "right"]
    sources: str


class ResultRequest(_Strict):
    """A result to write, what was decided by the number of the disagreement, and the version that was opened."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"document": EXAMPLE, "decisions": {"0": "right"}, "sources": ""}]}
    )

    document: JsonDocument
    decisions: dict[str, Choice]
    sources: str
    version: str | None = None
