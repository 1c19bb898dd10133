"""A page for browsers: one file with its styles, its script and its data, which loads nothing and sends nothing.

The parts are the plain files in `templates/`. A content security policy forbids everything that is not in the page,
and every script but ours.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from genrst.rendering.characters import printable
from genrst.rendering.colours import DARK, LIGHT, Theme
from genrst.rendering.folding import FoldingPicture
from genrst.rendering.labels import Range, range_of, roots
from genrst.trees.analysis import Analysis
from genrst.trees.node import Unit, preorder

_SCRIPTS = ("folding.js", "page.js")
_ACCENT = 7  # the number of the colour that highlights
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&'\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Page:
    """What is special about a page; `facts`, `trees` and `text` are HTML, `data` is a value per tree."""

    title: str
    kind: str
    facts: str
    trees: str
    data: Sequence[dict[str, Any]]
    text: str = ""


def fill_page(page: Page) -> str:
    """The whole file."""
    script = "\n" + "\n".join(["(() => {", '"use strict";', *map(_template, _SCRIPTS), "})();"]) + "\n"
    digest = b64encode(sha256(script.encode()).digest()).decode()
    values = {
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        "title": html_text(page.title),
        "colours": f":root{{{_variables(LIGHT)}}}\n@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}",
        "style": _template("page.css"),
        "kind": page.kind,
        "facts": page.facts,
        "trees": page.trees,
        "text": page.text,
        "data": inert_json(page.data),
        "script": script,
    }
    # One pass: what a text brings along is never taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _template("page.html"))


def html_text(text: str) -> str:
    """A text as HTML that shows just this text."""
    return escape(printable(text))


def inert_json(value: object) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or means anything to HTML."""
    return json.dumps(value, separators=(",", ":")).translate(_UNSAFE)


def tree_data(document: Analysis, folding: FoldingPicture, tooltips: Mapping[Range, str]) -> dict[str, Any]:
    """What the script knows of a tree: a record per node, each before its children."""
    places: dict[Range, int] = {}
    parents: dict[Range, int] = {}
    nodes = []
    for root in roots(document):
        for node in preorder(root):
            key = range_of(node)
            places[key] = len(places)
            if isinstance(node, Unit):
                parents.update({range_of(child): places[key] for child in node.children})
            area = folding.areas[key]
            nodes.append(
                {
                    "start": node.start,
                    "stop": node.stop,
                    "parent": parents.get(key, -1),
                    "title": tooltips[key],
                    "area": [round(edge, 1) for edge in (area.left, area.top, area.right, area.bottom)],
                    "anchor": round(area.anchor, 1),
                    "folded": round(area.folded_bottom, 1),
                }
            )
    return {"axis": folding.axis, "size": folding.size, "mirrored": folding.is_mirrored, "nodes": nodes}


def _variables(theme: Theme) -> str:
    accent = theme.relations[_ACCENT]
    colours = {
        "paper": theme.paper,
        "ink": theme.ink,
        "faint": theme.faint,
        "accent": accent,
        "mark": f"{accent}2e",
        "wash": f"{theme.faint}1f",
        "line": f"{theme.faint}4d",
    }
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


@cache
def _template(name: str) -> str:
    return files("genrst.rendering").joinpath("templates", name).read_text(encoding="utf-8").strip()
