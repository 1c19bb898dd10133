"""Blocks of text from a file, and their conversion to plain text.

The plain text is parsed and shown, and EDUs are spans of it. Its layout follows the conventions of plain text, which
`genrst.text.layout` recognises: `#` before a heading, `-` before a list item, `>` before a quotation, fences around
code, bars around the cells of a table.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["head", "p", "item", "quote", "code", "table"]


class Block(NamedTuple):
    """A heading, a paragraph, a list item, a quotation, code, or a table with a line per row."""

    kind: Kind
    text: str
    level: int = 1
    """The level of a heading, from 1, or the nesting depth of a list item."""
    mark: str = "-"
    """The bullet `-` or the number (`2.`) of a list item."""


def to_text(blocks: Iterable[Block]) -> str:
    """Return the plain text of blocks, separated by blank lines, except between list items."""
    found = [block for block in blocks if block.text.strip()]
    if not found:
        return ""
    joints = ["\n" if before.kind == after.kind == "item" else "\n\n" for before, after in pairwise(found)]
    parts = [part for block, joint in zip(found, [*joints, "\n"], strict=True) for part in (_lines_of(block), joint)]
    return "".join(parts)


def table(rows: Iterable[Iterable[str]]) -> Block:
    """Return the block of a table. The text of every cell is put on one line."""
    cells = ([one_line(cell).replace("|", "¦") for cell in row] for row in rows)
    return Block("table", "\n".join(f"| {' | '.join(row)} |" for row in cells if any(row)))


def one_line(text: str) -> str:
    """Collapse all white space to single spaces."""
    return " ".join(text.split())


def tidy(text: str) -> str:
    """Collapse spaces and remove blank lines. Other line breaks are kept."""
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
