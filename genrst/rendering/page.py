"""HTML pages for reading a tree: it can be zoomed and folded, has the text beside it, and needs only the keyboard.

A page is a single file with its styles, its script and its data. It does not load or send anything: a content security
policy forbids all external resources and all other scripts. The parts are the files in `templates/`. Pages that compare
two trees (`difference`) use the same parts.
"""

import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from genrst.characters import printable
from genrst.document import Document
from genrst.rendering import Colours
from genrst.rendering.colours import BLUE, DARK, LIGHT, Scheme, Theme
from genrst.rendering.folding import FoldingPicture, folding_layout
from genrst.rendering.labels import Range, nodes_of, range_of, roots
from genrst.rendering.signals import Run, edge_titles, edu_runs, find_runs, number_places, titles
from genrst.rendering.svg import FONTS, Style, coloured, css_classes, draw_svg
from genrst.trees.measures import depth
from genrst.trees.node import Unit, units

_TEXT_WIDTH = 380.0
_MOST_CLASSIC = 200  # EDUs up to which a page also has the classic picture
_SCRIPTS = ("folding.js", "page.js")
_ACCENT = BLUE  # the number of the highlight colour
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&'\u2028\u2029"}
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_LEAST_HEIGHT, _MOST_HEIGHT, _ROW_HEIGHT = 260, 640, 45  # of a frame in a notebook


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page. `facts`, `trees` and `text` are HTML; `data` has a value per tree.

    Workbench pages also have `tools` and `panels` (HTML), and `style` and `scripts`, which are added to those of all
    pages. `has_signals` enables highlighting the words of signals.
    """

    title: str
    kind: str
    facts: str
    trees: str
    data: Sequence[dict[str, Any]]
    text: str | None = None
    tools: str = ""
    panels: str = ""
    style: str = ""
    scripts: Sequence[str] = ()
    has_signals: bool = False


def render_html(document: Document, style: Style = "compact", colours: Colours = "relation") -> str:
    """Draw the tree of a document as a self-contained HTML file, initially in the style `compact` or `classic`.

    A button switches to the other style, unless that would be too wide. The tree is coloured by `relation` or, if its
    units have probabilities, by `certainty`.
    """
    other: Style = "compact" if style == "classic" else "classic"
    has_other = style == "classic" or len(document.edus) <= _MOST_CLASSIC
    return fill_page(tree_page(document, (style, other) if has_other else (style,), colours))


def document_html(document: Document) -> str:
    """Return the page of a document for a notebook, in an iframe that isolates it from the notebook."""
    height = max(_LEAST_HEIGHT, min(160 + _ROW_HEIGHT * len(document.edus), _MOST_HEIGHT))
    page = escape(render_html(document))
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{page}" title="{html_text(document.id)}"'
        f' style="width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"></iframe>'
    )


def tree_page(document: Document, styles: Sequence[Style], colours: Colours = "relation") -> Page:
    """Return a page with the tree of a document in one or more styles. The first one is shown initially."""
    tooltips, words = titles(document), edu_runs(document)
    views: list[str] = []
    data: list[dict[str, Any]] = []
    for one in styles:
        folding = folding_layout(document, one, _TEXT_WIDTH)
        picture, scheme = coloured(folding.picture, document, colours)
        svg = draw_svg(picture, document.id, edge_titles(document), scheme, words)
        views.append(f'<div class="view" data-style="{one}"{" hidden" if views else ""}>{svg}</div>')
        data.append(tree_data(document, folding, tooltips))
    return Page(
        title=document.id,
        kind=styles[0],
        facts=f"<span>{_facts(document)}</span>{html_legend(scheme)}",
        trees="\n".join(views),
        data=data,
        text=_running_text(document),
        has_signals=bool(document.signals or document.secondary_edges),
    )


def _facts(document: Document) -> str:
    edus = _count(len(document.edus), "EDU")
    if document.tree is None:
        return f"{edus} · no tree"
    return f"{edus} · {_count(sum(1 for _ in units(document.tree)), 'unit')} · depth {depth(document.tree)}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _running_text(document: Document) -> str:
    """Return the text as paragraphs, with an element per EDU. EDUs without text are shown as numbers."""
    if document.text is None:
        pieces = [_edu(number, f"EDU {number + 1}", True) for number in range(len(document.edus))]
        return f"<p>{' '.join(pieces)}</p>"
    runs = find_runs(document)
    paragraphs = [
        "".join(_pieces(document, document.text, runs, *ends)) for ends in _paragraphs(document, document.text)
    ]
    return "\n".join(f'<p dir="auto">{paragraph}</p>' for paragraph in paragraphs if paragraph)


def _paragraphs(document: Document, text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each paragraph: those of the document, or else those separated by blank lines."""
    if document.paragraphs:
        starts: Sequence[int] = sorted({span.start for span in document.paragraphs} - {0})
    else:
        starts = [match.end() for match in _BLANK_LINE.finditer(text)]
    return zip([0, *starts], [*starts, len(text)], strict=True)


def _pieces(document: Document, text: str, runs: Sequence[Run], start: int, end: int) -> Iterator[str]:
    """Yield the EDUs of a paragraph and the text between them. EDUs that cross its edges are shown in parts."""
    offset = start
    for number, edu in enumerate(document.edus):
        first, last = max(edu.start, start), min(edu.end, end)
        if first >= last:
            continue
        yield html_text(text[offset:first])
        yield _edu(number, _marked(text, runs, first, last), first == edu.start)
        offset = last
    yield html_text(text[offset:end])


def _marked(text: str, runs: Sequence[Run], start: int, end: int) -> str:
    """Return a stretch of the text as HTML, with elements around the words of signals."""
    pieces = []
    for run in runs[bisect_right(runs, start, key=lambda run: run.end) :]:
        if run.start >= end:
            break
        first, last = max(run.start, start), min(run.end, end)
        pieces += [html_text(text[start:first]), f'<span class="{run.classes}">{html_text(text[first:last])}</span>']
        start = last
    return "".join([*pieces, html_text(text[start:end])])


def _edu(number: int, content: str, is_start: bool) -> str:
    mark = f"<sup>{number + 1}</sup>" if is_start else ""
    return f'<span class="edu" tabindex="{-1 if number else 0}" data-edu="{number}">{mark}{content}</span>'


def tree_data(document: Document, folding: FoldingPicture, tooltips: Mapping[Range, str]) -> dict[str, Any]:
    """Return the data of a tree for the script: a record per node, parents before children."""
    parents: dict[Range, int] = {}
    words = number_places(document)
    records = []
    for number, node in enumerate(nodes_of(roots(document))):
        key = range_of(node)
        if isinstance(node, Unit):
            parents.update({range_of(child): number for child in node.children})
        area = folding.areas[key]
        records.append(
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
        shown = [key, *(map(range_of, node.children) if isinstance(node, Unit) else ())]
        if numbers := [words[one, None] for one in shown if (one, None) in words]:
            records[-1]["words"] = numbers
    data = {"axis": folding.axis, "size": folding.size, "mirrored": folding.is_mirrored, "nodes": records}
    edges = [
        {"source": "-".join(map(str, source)), "target": "-".join(map(str, target)), "words": [number]}
        for (source, target), number in words.items()
        if target is not None
    ]
    return data | ({"edges": edges} if edges else {})


def fill_page(page: Page) -> str:
    """Return the complete HTML file."""
    script = _script(page)
    text = "" if page.text is None else f'<div id="text" role="region" aria-label="Text">{page.text}</div>'
    values = {
        "policy": page_policy(page),
        "title": html_text(page.title),
        "colours": f":root{{{_variables(LIGHT)}}}\n@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}",
        "style": _template("page.css") + ("\n" + _template("why.css") if page.has_signals else "") + page.style,
        "kind": page.kind,
        "facts": page.facts,
        "tools": page.tools,
        "trees": page.trees,
        "text": text,
        "panels": page.panels,
        "data": inert_json(page.data),
        "script": script,
    }
    # A single pass, so that placeholders in a text are never replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _template("page.html"))


def page_policy(page: Page) -> str:
    """Return the content security policy. Only our script runs, and only workbench pages may connect to their site."""
    digest = b64encode(sha256(_script(page).encode()).digest()).decode()
    asking = "connect-src 'self'; " if page.scripts else ""
    return (
        f"default-src 'none'; {asking}style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _script(page: Page) -> str:
    names = (*_SCRIPTS, "why.js") if page.has_signals else _SCRIPTS
    return "\n" + "\n".join(["(() => {", '"use strict";', *map(_template, names), *page.scripts, "})();"]) + "\n"


def html_legend(scheme: Scheme) -> str:
    """Return the legend of the colours, with strokes as in the tree; empty if the scheme has no legend."""
    keys = "".join(
        f'<span class="key"><svg width="24" height="4"><path class="{css_classes("nucleus", name, scheme)}" '
        f'd="M2,2H22"/></svg>{html_text(meaning)}</span>'
        for name, meaning in scheme.keys
    )
    return f'<span class="keys genrst">{keys}</span>' if keys else ""


def html_text(text: str) -> str:
    """Escape a text for HTML."""
    return escape(printable(text))


def inert_json(value: object) -> str:
    """Return JSON that is safe inside a script element, with all characters escaped that are special in HTML."""
    return json.dumps(value, separators=(",", ":")).translate(_UNSAFE)


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
    return "".join(f"--{name}:{colour};" for name, colour in colours.items()) + f"--fonts:{FONTS};"


@cache
def _template(name: str) -> str:
    return files("genrst.rendering").joinpath("templates", name).read_text(encoding="utf-8").strip()
