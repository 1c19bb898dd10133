"""Chunks for retrieval: a text cut where its tree says, each piece within a budget of tokens.

A chunk is the largest subtree that fits. Where a unit is too large but has several children that fit, neighbours among
them are put together as long as they fit, so that a long list does not become many small chunks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from genrst.document import Document, require_tree
from genrst.errors import UsageError
from genrst.outputs.summary import Count, count_words, size_of
from genrst.trees.binarise import flatten
from genrst.trees.node import SPAN, Tree, Unit, fold

DEFAULT_TOKENS = 200

RelationPath: TypeAlias = tuple[tuple[str, str], ...]
"""Relations from the root down, each with `N` or `S`: whether the path goes through its nucleus or its satellite."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text: `text` is what the document has from `start` to `end`; `edus` are numbers (start, stop).

    `relation_path` leads from the root to the chunk. Where children of one unit were put together, it ends with their
    relation if that is the same for all, else at the unit.
    """

    start: int
    end: int
    text: str | None
    edus: tuple[int, int]
    relation_path: RelationPath


class ChunkRow(TypedDict):
    """A chunk as a flat row; its path reads `elaboration:S > joint:N`."""

    document: str
    chunk: int
    start: int
    end: int
    first_edu: int
    last_edu: int
    relation_path: str
    text: str | None


def chunks(
    document: Document, max_tokens: int = DEFAULT_TOKENS, count: Count = count_words, *, merge: bool = True
) -> list[Chunk]:
    """Cut a text into chunks of at most `max_tokens`, in order, every EDU in exactly one.

    `count` says how many tokens a text has: words unless given. An EDU over the budget is a chunk by itself. With
    `merge`, right-branching chains of a multinuclear relation are taken as the lists that they are, and neighbours in
    a list or around a nucleus are put together from left to right; without it every chunk is a subtree.
    """
    if max_tokens < 1:
        raise UsageError(f"a chunk's number of tokens must be 1 or more, was: {max_tokens}")

    def fits(start: int, stop: int) -> bool:
        return size_of(document, start, stop, count) <= max_tokens

    tree = flatten(require_tree(document)) if merge else require_tree(document)
    too_large = _too_large(tree, fits)
    found: list[Chunk] = []
    pending = [_Piece(tree.start, tree.stop, (), too_large.get((tree.start, tree.stop)))]
    while pending:
        piece = pending.pop()
        if piece.unit is None:
            start, end = document.offsets(piece.start, piece.stop)
            text = document.slice(piece.start, piece.stop)
            found.append(Chunk(start, end, text, (piece.start, piece.stop), piece.path))
        else:
            children = _children(piece.unit, piece.path, too_large)
            pending.extend(reversed(_merge(children, fits) if merge else children))
    return found


def chunk_rows(
    document: Document, max_tokens: int = DEFAULT_TOKENS, count: Count = count_words, *, merge: bool = True
) -> list[ChunkRow]:
    """A row per chunk."""
    return [
        ChunkRow(
            document=document.id,
            chunk=number,
            start=chunk.start,
            end=chunk.end,
            first_edu=chunk.edus[0],
            last_edu=chunk.edus[1] - 1,
            relation_path=" > ".join(f"{relation}:{letter}" for relation, letter in chunk.relation_path),
            text=chunk.text,
        )
        for number, chunk in enumerate(chunks(document, max_tokens, count, merge=merge))
    ]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some neighbouring EDUs, and the unit they are if it is too large and must be cut."""

    start: int
    stop: int
    path: RelationPath
    unit: Unit | None = None


def _too_large(tree: Tree, fits: Callable[[int, int], bool]) -> dict[tuple[int, int], Unit]:
    """The units to be cut, by their EDUs.

    From the bottom up, since what holds a unit that is too large need not be measured: counting tokens takes time.
    """
    found: dict[tuple[int, int], Unit] = {}

    def check(unit: Unit, parts_fit: list[bool]) -> bool:
        if all(parts_fit) and fits(unit.start, unit.stop):
            return True
        found[unit.start, unit.stop] = unit
        return False

    fold(tree, lambda leaf: fits(leaf.start, leaf.stop), check)
    return found


def _children(unit: Unit, path: RelationPath, too_large: dict[tuple[int, int], Unit]) -> list[_Piece]:
    pieces = []
    for child, letter, relation in zip(unit.children, unit.nuclearity, unit.relations, strict=True):
        step = (unit.relation if relation == SPAN else relation, letter)
        pieces.append(_Piece(child.start, child.stop, (*path, step), too_large.get((child.start, child.stop))))
    return pieces


def _merge(pieces: list[_Piece], fits: Callable[[int, int], bool]) -> list[_Piece]:
    """Put neighbours together that fit, from left to right."""
    merged = pieces[:1]
    for piece in pieces[1:]:
        last = merged[-1]
        if last.unit is None and piece.unit is None and fits(last.start, piece.stop):
            path = piece.path if piece.path == last.path else piece.path[:-1]
            merged[-1] = _Piece(last.start, piece.stop, path)
        else:
            merged.append(piece)
    return merged
