"""Discourse chunks for retrieval frameworks: raw texts in, passages with flat metadata out.

All adapters use this module; each one only converts a `Passage` to a class of its library.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypedDict

from genrst.document import Document, require_tree
from genrst.errors import TreeError
from genrst.outputs.chunks import DEFAULT_TOKENS, Chunk, chunks
from genrst.outputs.summary import Count, count_words
from genrst.parser.loading import load
from genrst.parser.parser import Parser, Text, unwrap
from genrst.text.raw import check_words
from genrst.trees.binarise import flatten
from genrst.trees.node import units

AnyParser: TypeAlias = Parser | str | Path | None
"""A parser, or a name or folder to load when the parser is first needed (`en` if None)."""

Range: TypeAlias = tuple[int, int]


class ChunkMetadata(TypedDict):
    """The metadata of a chunk, as strings and integers only, because many vector stores accept nothing else.

    `relation_path` leads from the root of the text to the chunk, as in `ChunkRow`; `relation` and `nuclearity` (`N` or
    `S`) are its last step, or empty strings if the path is empty. The parent is the smallest unit that contains this
    chunk and at least one other, or the whole text if there is no such unit. All offsets are character offsets into the
    text.
    """

    start_index: int
    end_index: int
    relation_path: str
    relation: str
    nuclearity: str
    parent_start: int
    parent_end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a text, and the index of its parent in `Passages.parents`; None if it has no parent."""

    text: str
    metadata: ChunkMetadata
    parent: int | None


@dataclass(frozen=True, slots=True)
class Parent:
    """A unit above several chunks, and the index of its own parent. Parents come before the units inside them.

    It does not store its text: in a deep tree, the texts of all units would be many times as long as the document.
    """

    start: int
    end: int
    parent: int | None


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of a text, in order, and the units above them."""

    chunks: tuple[Passage, ...] = ()
    parents: tuple[Parent, ...] = ()


def cut_texts(
    texts: Sequence[str],
    parser: AnyParser = None,
    max_tokens: int = DEFAULT_TOKENS,
    count: Count = count_words,
    min_tokens: int | None = None,
) -> list[Passages]:
    """Parse texts and split them into chunks of at most `max_tokens`; a text without words has no chunks."""
    with_words = [has_words(text) for text in texts]
    items = [Text(f"text-{number}", text) for number, text in enumerate(texts, start=1) if with_words[number - 1]]
    outcomes = (parser if isinstance(parser, Parser) else load_once(parser)).pipe(items) if items else iter(())
    return [
        cut(unwrap(next(outcomes)), max_tokens, count, min_tokens) if is_wordy else Passages()
        for is_wordy in with_words
    ]


@cache
def load_once(name: str | Path | None) -> Parser:
    """Load a parser by name; all adapters share it."""
    return load(name)


def has_words(text: str) -> bool:
    """Return whether a text can be parsed."""
    try:
        check_words("text", text)
    except TreeError:
        return False
    return True


def cut(document: Document, max_tokens: int, count: Count, min_tokens: int | None) -> Passages:
    """Return the chunks of a parsed document and the units above them."""
    found = chunks(document, max_tokens, count, min_tokens=min_tokens)
    edus, of_units, of_chunks = _parents(document, [chunk.edus for chunk in found])
    parents = [Parent(*document.offsets(*span), above) for span, above in zip(edus, of_units, strict=True)]
    whole = found[0].start, found[-1].end
    passages = []
    for chunk, above in zip(found, of_chunks, strict=True):
        around = whole if above is None else (parents[above].start, parents[above].end)
        passages.append(Passage(chunk.text or "", _metadata(chunk, around), above))
    return Passages(tuple(passages), tuple(parents))


def _metadata(chunk: Chunk, parent: Range) -> ChunkMetadata:
    relation, nuclearity = chunk.relation_path[-1] if chunk.relation_path else ("", "")
    return ChunkMetadata(
        start_index=chunk.start,
        end_index=chunk.end,
        relation_path=" > ".join(f"{name}:{letter}" for name, letter in chunk.relation_path),
        relation=relation,
        nuclearity=nuclearity,
        parent_start=parent[0],
        parent_end=parent[1],
    )


def _parents(document: Document, spans: Sequence[Range]) -> tuple[list[Range], list[int | None], list[int | None]]:
    """Return the EDUs of all parents, and the index of the parent of each of these units and of each chunk.

    If several units contain the same chunks, only the smallest is used. A chunk may have parts of several units.
    """
    starts, stops = [start for start, _ in spans], [stop for _, stop in spans]
    smallest: dict[Range, Range] = {}
    for unit in units(flatten(require_tree(document))):
        first, last = bisect_left(starts, unit.start), bisect_right(stops, unit.stop)
        if last - first > 1:
            smallest[first, last] = unit.start, unit.stop  # smaller units come later
    ranges = sorted(smallest, key=lambda one: (one[0], -one[1]))
    singles = [(number, number + 1) for number in range(len(spans))]
    above = dict(_nesting(sorted({*ranges, *singles}, key=lambda one: (one[0], -one[1]))))
    places: dict[Range | None, int | None] = {one: place for place, one in enumerate(ranges)}
    places[None] = None
    return (
        [smallest[one] for one in ranges],
        [places[above[one]] for one in ranges],
        [places[above[one]] for one in singles],
    )


def _nesting(ranges: Sequence[Range]) -> Iterator[tuple[Range, Range | None]]:
    """Yield each range with the smallest range around it. The ranges are nested and sorted, larger ones first."""
    around: list[Range] = []
    for one in ranges:
        while around and around[-1][1] <= one[0]:
            around.pop()
        yield one, around[-1] if around else None
        around.append(one)
