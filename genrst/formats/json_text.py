"""Convert JSON text to plain data and back, at any depth of nesting.

The `json` module recurses and fails after about 1,000 levels, which real trees exceed. The loops in this module take
over then. The keys of a document are defined in `genrst.formats.json_format`.
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
_MAX_DEPTH = 1_000_000  # each level takes 200 bytes of memory, but only one byte in the file
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def loads(text: str) -> object:
    """Parse a JSON text. Raises `json.JSONDecodeError`, or a plain `ValueError` for NaN and infinity."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        return _Reader(text).read()


def dumps(value: object) -> str:
    """Return the JSON text of dictionaries, lists and scalars, on one line.

    Only lone surrogates, which UTF-8 cannot encode, and characters that other programs treat as line ends are escaped.
    Two surrogates that form a pair are an error, because they would be read as one character.
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
    """A list or object that is still open. A list has no keys."""

    opening: str
    keys: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def closing(self) -> str:
        return "]" if self.opening == "[" else "}"

    def close(self) -> object:
        return self.values if self.opening == "[" else dict(zip(self.keys, self.values, strict=True))


class _Reader:
    """Reads a JSON text with an explicit stack. Scalars are left to the `json` module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> object:
        """Return the value of the text."""
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
        """Put a value into its container and close all containers that end here. Returns the last one closed."""
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
        """Return the next character that is not white space; empty at the end of the text."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> str:
        """Consume the next character, which must be one of those expected."""
        mark = self.next_mark()
        if not mark or mark not in expected:
            raise json.JSONDecodeError(f"Expecting {' or '.join(expected)}", self.text, self.at)
        self.at += 1
        return mark

    def read_key(self, container: _Container) -> None:
        """Read the key of the next value, if the container is an object."""
        if container.opening == "{":
            if self.next_mark() != '"':
                raise json.JSONDecodeError("Expecting property name enclosed in double quotes", self.text, self.at)
            container.keys.append(str(self.read_scalar()))
            self.take(":")

    def read_scalar(self) -> object:
        value, self.at = _DECODER.raw_decode(self.text, self.at)
        return value


class _Mark(str):
    """A piece of JSON text, as opposed to a string that must be quoted."""

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
