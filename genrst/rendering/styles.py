"""The styles of pictures by name."""

from typing import Literal, TypeAlias, get_args

from genrst.document import Document
from genrst.errors import UsageError
from genrst.rendering.classic import layout_classic
from genrst.rendering.compact import layout_compact
from genrst.rendering.geometry import Layout

Style: TypeAlias = Literal["classic", "compact"]


def layout(document: Document, style: Style = "classic") -> Layout:
    """Place the tree of a document: `classic` for short documents, `compact` for any."""
    if style not in get_args(Style):
        raise UsageError(f"a style must be one of {', '.join(get_args(Style))}, was: {style!r}")
    return layout_classic(document) if style == "classic" else layout_compact(document)
