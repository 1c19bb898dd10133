"""How trees and documents show themselves in a notebook: by whoever can draw them.

A tree knows nothing of pictures. `genrst/__init__.py`, which does, names the painters when it is loaded.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Format: TypeAlias = Literal["html", "svg"]

_painters: dict[Format, Callable[[Any], str]] = {}


def set_painter(format: Format, painter: Callable[[Any], str]) -> None:
    """Let this function draw documents (`html`) or trees (`svg`)."""
    _painters[format] = painter


def paint(format: Format, subject: object) -> str | None:
    """A picture for a notebook, or None where nobody can draw it."""
    painter = _painters.get(format)
    return None if painter is None else painter(subject)
