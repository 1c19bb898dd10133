"""Read the main content of an HTML page with trafilatura, without menus, advertisements and footers."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from genrst.formats.readers.blocks import Block, one_line, table, tidy

_BLOCKS = frozenset({"code", "div", "head", "list", "p", "quote", "table"})
"""The elements that cannot be part of a paragraph."""
TERM_LEVEL = 3
"""The level of headings that the terms of a definition list (`dt`) become, such as the questions of an FAQ."""


def read(content: bytes, path: Path) -> list[Block]:
    """Return the blocks of a page; none if the page has no main content."""
    del path
    import trafilatura

    xml = trafilatura.extract(content, output_format="xml", include_comments=False, favor_recall=True)
    main = ElementTree.fromstring(xml).find("main") if xml else None
    if main is None:
        _, text, _ = trafilatura.baseline(content)
        return [Block("p", line) for line in text.splitlines()]
    found = [block for element in _elements(main) for block in _blocks(element)]
    title = trafilatura.extract_metadata(content).title
    has_title = any(block.kind == "head" and (block.level == 1 or block.text == title) for block in found[:3])
    return found if has_title or not title else [Block("head", title), *found]


def _elements(main: Element) -> Iterator[Element]:
    """Yield the elements with text. A `div` around them is opened, and text directly in it becomes a paragraph."""
    waiting = [*reversed(main)]
    while waiting:
        element = waiting.pop()
        if element.tag != "div" or not any(child.tag in _BLOCKS for child in element):
            yield element
            continue
        parts = [_paragraph(element.text)]
        for child in element:
            parts += [child, _paragraph(child.tail)]
        waiting += [part for part in reversed(parts) if part.tag != "p" or _text(part)]


def _paragraph(text: str | None) -> Element:
    paragraph = Element("p")
    paragraph.text = text
    return paragraph


def _blocks(element: Element) -> Iterator[Block]:
    match element.tag:
        case "head":
            yield Block("head", _text(element), int(element.get("rend", "h2")[1:]))
        case "list":
            yield from _items(element, 1)
        case "quote":
            yield from (
                Block("quote", _text(part)) for part in (element if element.find("p") is not None else [element])
            )
        case "code":
            yield Block("code", "".join(element.itertext()))
        case "table":
            yield table([one_line(_text(cell)) for cell in row] for row in element.iter("row"))
        case _:
            yield Block("p", _text(element))


def _items(root: Element, level: int) -> Iterator[Block]:
    """Yield the items of a list and of nested lists, using a stack because pages may nest at any depth."""
    waiting = [(item, number, level, root.get("rend")) for number, item in reversed([*enumerate(root, start=1)])]
    while waiting:
        item, number, depth, kind = waiting.pop()
        if kind == "dl":
            is_term = item.get("rend", "").startswith("dt")
            yield Block("head", _text(item), TERM_LEVEL) if is_term else Block("p", _text(item))
        else:
            yield Block("item", _text(item), depth, f"{number}." if kind == "ol" else "-")
        for inner in reversed(item.findall("list")):
            for number, below in reversed([*enumerate(inner, start=1)]):
                waiting.append((below, number, depth + 1, inner.get("rend")))


def _text(element: Element) -> str:
    """Return the text of an element without nested lists. `lb` ends a line, other white space becomes a space."""
    parts, waiting = list[str](), [(element, False)]
    while waiting:
        one, is_left = waiting.pop()
        if is_left:
            parts.append(one.tail or "")
            continue
        parts.append("\0" if one.tag == "lb" else one.text or "")
        for child in reversed(one):
            waiting.append((child, True))
            if child.tag != "list":
                waiting.append((child, False))
    return tidy(one_line("".join(parts)).replace("\0", "\n"))
