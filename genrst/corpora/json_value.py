"""A value inside JSON data that knows where it stands, so that whatever is wrong with it can be said precisely."""

import math
from reprlib import repr as short_repr

from genrst.errors import CorpusFormatError

MAX_INTEGER = 2**31 - 1
"""The largest offset or number of an EDU or token that is read."""

_MAX_PLACE = 100


class JsonValue:
    """A value and its place, such as `tree.children[1].nuclearity`. A key that is missing and null are the same."""

    __slots__ = ("data", "parent", "step")

    def __init__(self, data: object, parent: "JsonValue | None" = None, step: str = "") -> None:
        self.data = data
        self.parent = parent
        self.step = step

    @property
    def place(self) -> str:
        """How to get here from the document; the middle is left out where it is long."""
        steps = []
        value: JsonValue | None = self
        while value is not None:
            steps.append(value.step)
            value = value.parent
        place = "".join(reversed(steps)).lstrip(".") or "a document"
        return place if len(place) <= _MAX_PLACE else f"{place[: _MAX_PLACE // 2]}…{place[-_MAX_PLACE // 2 :]}"

    @property
    def is_missing(self) -> bool:
        """Whether there is nothing here."""
        return self.data is None

    def error(self, expected: str) -> CorpusFormatError:
        """What to raise if something else should stand here."""
        found = "missing" if self.is_missing else short_repr(self.data)
        return CorpusFormatError(f"{self.place} must be {expected}, was: {found}")

    def __getitem__(self, key: str) -> "JsonValue":
        if not isinstance(self.data, dict):
            raise self.error("an object")
        return JsonValue(self.data.get(key), self, f".{key}")

    def items(self) -> "list[JsonValue]":
        """The items of a list."""
        if not isinstance(self.data, list):
            raise self.error("a list")
        return [JsonValue(item, self, f"[{position}]") for position, item in enumerate(self.data)]

    def optional_items(self) -> "list[JsonValue]":
        """The items of a list that may be missing."""
        return [] if self.is_missing else self.items()

    def string(self, default: str | None = None) -> str:
        """A string, or the default if there is one and nothing stands here."""
        if self.is_missing and default is not None:
            return default
        if not isinstance(self.data, str):
            raise self.error("a string")
        return self.data

    def optional_string(self) -> str | None:
        """A string that may be missing."""
        return None if self.is_missing else self.string()

    def optional_strings(self) -> dict[str, str]:
        """An object whose values are strings, empty if it is missing."""
        if self.is_missing:
            return {}
        if not isinstance(self.data, dict):
            raise self.error("an object")
        return {key: self[key].string() for key in self.data}

    def integer(self) -> int:
        """A whole number from 0 on."""
        # True and False are ints to Python, not to JSON.
        if not isinstance(self.data, int) or isinstance(self.data, bool) or not 0 <= self.data <= MAX_INTEGER:
            raise self.error(f"a whole number from 0 to {MAX_INTEGER}")
        return self.data

    def optional_number(self) -> float | None:
        """A finite number that may be missing."""
        if self.is_missing:
            return None
        if isinstance(self.data, int | float) and not isinstance(self.data, bool):
            try:
                number = float(self.data)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise self.error("a finite number")
