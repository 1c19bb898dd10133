"""Blocks of a document that was read from a file, and the plain text that they become.

This text is parsed and shown, and EDUs are spans of it. Layout is written the way people write it in plain text, where
`genrst.text.layout` finds it: `#` before a heading, `-` before an item, `>` before a quotation, fences around code,
bars around the cells of a table.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["head", "p", "item", "quote", "code", "table"]


class Block(NamedTuple):
    """A heading, a paragraph, an item of a list, a quotation, code, or a table whose rows are lines."""

    kind: Kind
    text: str
    level: int = 1
    """Of a heading, from 1; how deep an item lies in lists."""
    mark: str = "-"
    """Of an item: `-` or its number (`2.`)."""


def to_text(blocks: Iterable[Block]) -> str:
    """The plain text of blocks, with a blank line between them unless both are items."""
    found = [block for block in blocks if block.text.strip()]
    if not found:
        return ""
    joints = ["\n" if before.kind == after.kind == "item" else "\n\n" for before, after in pairwise(found)]
    parts = [part for block, joint in zip(found, [*joints, "\n"], strict=True) for part in (_lines_of(block), joint)]
    return "".join(parts)


def table(rows: Iterable[Iterable[str]]) -> Block:
    """The block of a table, of which every cell becomes one line."""
    cells = ([one_line(cell).replace("|", "¦") for cell in row] for row in rows)
    return Block("table", "\n".join(f"| {' | '.join(row)} |" for row in cells if any(row)))


def one_line(text: str) -> str:
    """The text with single spaces between its words."""
    return " ".join(text.split())


def tidy(text: str) -> str:
    """The text with single spaces between words and without blank lines; other line ends stay."""
    return "\n".join(filter(None, map(one_line, text.splitlines())))


def _lines_of(block: Block) -> str:
    match block.kind:
        case "head":
            return f"{'#' * min(block.level, 6)} {one_line(block.text)}"
        case "item":
            return f"{'  ' * (block.level - 1)}{block.mark} {one_line(block.text)}"
        case "quote":
            return f"> {one_line(block.text)}"
        case "code":
            fence = "`" * (max([2, *(len(run) for run in re.findall("`+", block.text))]) + 1)
            return f"{fence}\n{block.text.strip(chr(10))}\n{fence}"
        case _:
            return block.text.strip()
