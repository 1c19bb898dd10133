"""JSON text to plain data and back, at any depth.

The `json` module recurses and gives up after about 1,000 levels, which real trees exceed; then our own loops take over.
Not here: which keys a document has (`genrst.formats.json_format`).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from genrst.errors import UsageError

_SPACE = re.compile(r"[ \t\n\r]*")
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_MAX_DEPTH = 1_000_000  # each level takes 200 bytes of memory for one in the file
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def loads(text: str) -> object:
    """The value of a JSON text; raises `json.JSONDecodeError`, or a plain `ValueError` for NaN and infinity."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        return _Reader(text).read()


def dumps(value: object) -> str:
    """The JSON text of dictionaries, lists and scalars, on one line.

    Only what UTF-8 cannot encode (lone surrogates) and what other programs take for a line end is escaped. Two halves
    of a surrogate pair side by side would be read as one character, so they are refused.
    """
    try:
        text = _encode(value)
    except ValueError as error:
        raise UsageError(f"JSON can hold finite numbers only: {error}") from error
    if _PAIR.search(text):
        raise UsageError("JSON cannot hold a character that is written as two surrogates")
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _encode(value: object) -> str:
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return "".join(_pieces(value))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"a number must be finite, got {constant}")


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
    """Reads a JSON text with an explicit stack; scalars are left to the `json` module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> object:
        """The one value of the text."""
        containers: list[_Container] = []
        while True:
            if self.next_mark() in ("[", "{"):
                container = _Container(self.take("[{"))
                if len(containers) > _MAX_DEPTH:
                    raise json.JSONDecodeError(f"Values nested more than {_MAX_DEPTH} deep", self.text, self.at)
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
        """Put a value into its container and close all containers that end here; returns the last one closed."""
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
            parts = [part for value in item for part in (_Mark(", "), value)][1:]
            pending += [_Mark("]"), *reversed(parts), _Mark("[")]
        elif isinstance(item, dict):
            parts = [part for key, value in item.items() for part in (_Mark(", "), key, _Mark(": "), value)][1:]
            pending += [_Mark("}"), *reversed(parts), _Mark("{")]
        else:
            yield _ENCODER.encode(item)
