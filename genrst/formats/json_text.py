"""JSON text to plain data and back, however deep.

The `json` module recurses and gives up after about 1,000 levels, which real trees exceed; then loops of ours take over.

A value inside JSON data that knows where it stands, so that whatever is wrong with it can be said precisely.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from reprlib import repr as short_repr
from typing import NoReturn

from genrst.errors import CorpusFormatError, UsageError

_SPACE = re.compile(r"[ \t\n\r]*")
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def loads(text: str) -> object:
    """The value of a JSON text; raises `json.JSONDecodeError`, or a plain `ValueError` for NaN and endless numbers."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        return _Reader(text).read()


def dumps(value: object) -> str:
    """The JSON text of dictionaries, lists and scalars, on one line.

    Only what UTF-8 cannot hold (lone surrogates) and what other programs take for a line end is escaped.
    """
    try:
        text = _encode(value)
    except ValueError as error:
        raise UsageError(f"JSON must hold finite numbers only: {error}") from error
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _encode(value: object) -> str:
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return "".join(_pieces(value))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"a number must be finite, was: {constant}")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


@dataclass(slots=True)
class _Container:
    """A list or object that is still open; a list has no keys."""

    opening: str
    keys: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def closing(self) -> str:
        return "]" if self.opening == "[" else "}"

    def close(self) -> object:
        return self.values if self.opening == "[" else dict(zip(self.keys, self.values, strict=True))


class _Reader:
    """Reads a JSON text with a stack of its own; scalars are left to the `json` module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> object:
        """The one value of the text."""
        containers: list[_Container] = []
        while True:
            if self.next_mark() in ("[", "{"):
                container = _Container(self.take("[{"))
                if self.next_mark() != container.closing:
                    self.read_key(container)
                    containers.append(container)
                    continue
                self.take(container.closing)
                value = container.close()
            else:
                value = self.read_scalar()
            value = self.finish(value, containers)
            if not containers:
                return value

    def finish(self, value: object, containers: list[_Container]) -> object:
        """Put a value where it belongs and close what ends with it; the last value closed."""
        while containers:
            container = containers[-1]
            container.values.append(value)
            if self.take(f",{container.closing}") == ",":
                self.read_key(container)
                return value
            value = containers.pop().close()
        if self.next_mark():
            raise json.JSONDecodeError("Extra data", self.text, self.at)
        return value

    def next_mark(self) -> str:
        """The next character that is not white space, or nothing at the end."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> str:
        """The next character, which must be an expected one."""
        mark = self.next_mark()
        if not mark or mark not in expected:
            raise json.JSONDecodeError(f"Expecting {' or '.join(expected)}", self.text, self.at)
        self.at += 1
        return mark

    def read_key(self, container: _Container) -> None:
        """The key of the next value, if the container is an object."""
        if container.opening == "{":
            if self.next_mark() != '"':
                raise json.JSONDecodeError("Expecting property name enclosed in double quotes", self.text, self.at)
            container.keys.append(str(self.read_scalar()))
            self.take(":")

    def read_scalar(self) -> object:
        value, self.at = _DECODER.raw_decode(self.text, self.at)
        return value


class _Mark(str):
    """A piece of JSON text, as opposed to a string to be quoted."""

    __slots__ = ()


def _pieces(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, _Mark):
            yield item
        elif isinstance(item, list):
            pending.extend(reversed(_list_parts(item)))
        elif isinstance(item, dict):
            pending.extend(reversed(_object_parts(item)))
        else:
            yield _ENCODER.encode(item)


def _list_parts(values: list[object]) -> list[object]:
    parts: list[object] = [_Mark("[")]
    for number, value in enumerate(values):
        parts += [_Mark(", " if number else ""), value]
    return [*parts, _Mark("]")]


def _object_parts(values: dict[str, object]) -> list[object]:
    parts: list[object] = [_Mark("{")]
    for number, (key, value) in enumerate(values.items()):
        parts += [_Mark(", " if number else ""), key, _Mark(": "), value]
    return [*parts, _Mark("}")]


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
