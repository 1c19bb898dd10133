"""Read Markdown with markdown-it-py: headings, lists, quotations, code and tables, without inline markup."""

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING

from genrst.formats.readers.blocks import Block, table, tidy

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[a-zA-Z][^<>]*>", re.DOTALL)
_BREAKS = {"softbreak": "\n", "hardbreak": "\n"}


def read_markdown(text: str) -> list[Block]:
    """Return the blocks of a Markdown text. Front matter, comments and tags are left out."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    tokens = MarkdownIt("commonmark").enable("table").parse(_FRONT_MATTER.sub("", text))
    return [block for node in SyntaxTreeNode(tokens).children for block in _blocks(node)]


def _blocks(node: "SyntaxTreeNode") -> Iterator[Block]:
    """Yield the blocks of a node. Recursion is safe, because nesting is limited to twenty levels."""
    match node.type:
        case "heading":
            yield Block("head", _text(node), int(node.tag[1:]))
        case "bullet_list" | "ordered_list":
            yield from _items(node, 1)
        case "blockquote":
            inner = [block for child in node.children for block in _blocks(child)]
            yield from (Block("quote", block.text) if block.kind == "p" else block for block in inner)
        case "fence" | "code_block":
            yield Block("code", node.content)
        case "table":
            rows = [row for part in node.children for row in part.children]
            yield table([_text(cell) for cell in row.children] for row in rows)
        case "html_block":
            yield Block("p", tidy(unescape(_TAG.sub(" ", node.content))))
        case _:
            yield Block("p", _text(node))


def _items(node: "SyntaxTreeNode", level: int) -> Iterator[Block]:
    start = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, start=start):
        mark = f"{number}." if node.type == "ordered_list" else "-"
        for place, child in enumerate(item.children):
            if child.type in ("bullet_list", "ordered_list"):
                yield from _items(child, level + 1)
            elif child.type == "paragraph" and place == 0:
                yield Block("item", _text(child), level, mark)
            else:
                yield from _blocks(child)


def _text(node: "SyntaxTreeNode") -> str:
    """Return the text of inline content, including links and code, but not images."""
    parts = []
    for one in node.walk():
        is_shown = one.parent is None or one.parent.type != "image"
        if one.type in ("text", "code_inline") and is_shown:
            parts.append(one.content)
        parts.append(_BREAKS.get(one.type, ""))
    return tidy("".join(parts))
