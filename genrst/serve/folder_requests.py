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
    """A result, and the number of the disagreement for which it gets what one side has."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"document": EXAMPLE, "number": 0, "side": "right"}]})

    document: JsonDocument
    number: int
    side: Literal["left", "right"]


class ResultRequest(_Strict):
    """A result to write, what was decided by the number of the disagreement, and the version that was opened."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"document": EXAMPLE, "decisions": {"0": "right"}}]})

    document: JsonDocument
    decisions: dict[str, Choice]
    version: str | None = None
