"""Trees as pictures, pages and text, and what differs between two; how a picture can be coloured is said here."""

from typing import Literal, TypeAlias, get_args

from genrst.errors import UsageError

Colours: TypeAlias = Literal["relation", "certainty"]
"""What the colours of a tree say: which relations there are, or how probable its units are."""


def check_colours(colours: str) -> None:
    """Raise an error unless trees can be coloured by this."""
    if colours not in get_args(Colours):
        raise UsageError(f"colours must be one of {', '.join(get_args(Colours))}, got {colours!r}")
