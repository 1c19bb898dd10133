"""Draw trees, and the difference between two trees, as pictures, pages and text."""

from typing import Literal, TypeAlias, get_args

from genrst.errors import UsageError

Colours: TypeAlias = Literal["relation", "certainty"]
"""The meaning of colours in a tree: the relations, or the probabilities of the units."""


def check_colours(colours: str) -> None:
    """Raise an error unless this is one of `Colours`."""
    if colours not in get_args(Colours):
        raise UsageError(f"colours must be one of {', '.join(get_args(Colours))}, got {colours!r}")
