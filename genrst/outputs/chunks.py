"""Chunks for retrieval: split a text along its tree, each chunk within a budget of tokens.

A chunk is the largest subtree that fits. If a unit is too large but several of its children fit, neighbouring children
are merged while they fit, so that a long list does not become many small chunks. Part of a paragraph is never merged
with another paragraph, because authors start a new paragraph for a new subject. Afterwards, headings and chunks that
are too small are joined to a neighbour. If the two do not fit together, they are split at another place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import TypeAlias, TypedDict

from genrst.document import Document, require_tree
from genrst.errors import UsageError
from genrst.outputs.summary import Count, count_words, size_of
from genrst.trees.binarise import flatten
from genrst.trees.node import SPAN, Tree, Unit, fold, units

DEFAULT_TOKENS = 200
LEAST_SHARE = 8
"""The default minimum size of a chunk is `max_tokens` divided by this."""

RelationPath: TypeAlias = tuple[tuple[str, str], ...]
"""Relations from the root down. `N` or `S` says whether the path goes through the nucleus or the satellite."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: `text` is the text of the document from `start` to `end`; `edus` is a range (start, stop).

    `relation_path` leads from the root to the chunk if the chunk is a unit or an EDU. If the chunk consists of several
    children of one unit, the path ends with their relation if they share one, and otherwise at the unit. If it consists
    of parts of several units, the path ends at the smallest unit that contains them all.

    A chunk that begins or ends with a paragraph includes its marks: `#`, `-` or the fences around code.
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
    document: Document,
    max_tokens: int = DEFAULT_TOKENS,
    count: Count = count_words,
    *,
    min_tokens: int | None = None,
    merge: bool = True,
) -> list[Chunk]:
    """Split a text into chunks of at most `max_tokens`, in text order. Every EDU is in exactly one chunk.

    `count` returns the number of tokens of a text; by default it counts words. An EDU over the budget is a chunk by
    itself.

    With `merge`, right-branching chains of a multinuclear relation are treated as lists. Neighbours in a list or around
    a nucleus are merged from left to right, first inside a paragraph, then as whole paragraphs. A unit that covers part
    of a paragraph and more is split. Finally, chunks of fewer than `min_tokens` (default: an eighth of `max_tokens`)
    are joined to a neighbour where possible, and headings to the text that follows.

    Without `merge`, every chunk is a subtree, and paragraphs are ignored.
    """
    if max_tokens < 1:
        raise UsageError(f"the number of tokens per chunk must be 1 or more, got {max_tokens}")
    least = max_tokens // LEAST_SHARE if min_tokens is None else min_tokens
    if not 0 <= least <= max_tokens:
        raise UsageError(f"the minimum number of tokens per chunk must be between 0 and {max_tokens}, got {least}")

    layout = _Layout(document)

    @cache  # counting tokens takes time
    def measure(start: int, stop: int) -> int:
        if document.text is None:
            return size_of(document, start, stop, count)
        return count(document.text[slice(*layout.offsets(start, stop))])

    def fits(start: int, stop: int) -> bool:
        return measure(start, stop) <= max_tokens

    tree = flatten(require_tree(document)) if merge else require_tree(document)
    to_cut = _to_cut(tree, fits, layout.is_whole if merge else None)
    found: list[_Piece] = []
    pending = [_Piece(tree.start, tree.stop, (), to_cut.get((tree.start, tree.stop)))]
    while pending:
        piece = pending.pop()
        if piece.unit is None:
            found.append(piece)
            continue
        children = _children(piece.unit, piece.path, to_cut)
        for holds in (layout.is_in_one, layout.is_whole) if merge else ():
            children = _merge(children, holds, fits)
        pending.extend(reversed(children))
    if merge:
        found = _Repair(layout, tree, measure, (least, max_tokens)).repaired(found)
    steps = _steps(tree)
    places = [((piece.start, piece.stop), _path_to((piece.start, piece.stop), steps) or piece.path) for piece in found]
    found_at = [(*layout.offsets(*edus), edus, path) for edus, path in places]
    text = document.text
    return [Chunk(start, end, text and text[start:end], edus, path) for start, end, edus, path in found_at]


def chunk_rows(
    document: Document,
    max_tokens: int = DEFAULT_TOKENS,
    count: Count = count_words,
    *,
    min_tokens: int | None = None,
    merge: bool = True,
) -> list[ChunkRow]:
    """Return one row per chunk."""
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
        for number, chunk in enumerate(chunks(document, max_tokens, count, min_tokens=min_tokens, merge=merge))
    ]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of EDUs. `unit` is set if these EDUs are a unit that is too large and must be split."""

    start: int
    stop: int
    path: RelationPath
    unit: Unit | None = None


_Edus: TypeAlias = tuple[int, int]
_Test: TypeAlias = Callable[[int, int], bool]
"""A predicate on the EDUs from `start` to `stop` (exclusive)."""
_Steps: TypeAlias = dict[_Edus, tuple[_Edus, tuple[str, str]]]


def _steps(tree: Tree) -> _Steps:
    """Map the EDUs of every node to those of its parent and the step from the parent."""
    return {
        (child.start, child.stop): ((unit.start, unit.stop), _step(unit, relation, letter))
        for unit in units(tree)
        for child, relation, letter in zip(unit.children, unit.relations, unit.nuclearity, strict=True)
    }


def _step(unit: Unit, relation: str, letter: str) -> tuple[str, str]:
    return (unit.relation if relation == SPAN else relation, letter)


def _path_to(edus: _Edus, steps: _Steps) -> RelationPath:
    """Return the path to the node with these EDUs, or an empty path if there is no such node."""
    path = []
    while edus in steps:
        edus, step = steps[edus]
        path.append(step)
    return tuple(reversed(path))


def _to_cut(tree: Tree, fits: _Test, is_whole: _Test | None) -> dict[_Edus, Unit]:
    """Return the units to split, by their EDUs: too large, or crossing paragraphs without covering whole ones.

    Works bottom-up, because counting tokens takes time and the ancestors of a unit that is too large need no counting.
    """
    found: dict[_Edus, Unit] = {}

    def check(unit: Unit, parts_fit: list[bool]) -> bool:
        unit_fits = all(parts_fit) and fits(unit.start, unit.stop)
        if not unit_fits or (is_whole is not None and not is_whole(unit.start, unit.stop)):
            found[unit.start, unit.stop] = unit
        return unit_fits

    fold(tree, lambda leaf: fits(leaf.start, leaf.stop), check)
    return found


def _children(unit: Unit, path: RelationPath, to_cut: dict[_Edus, Unit]) -> list[_Piece]:
    pieces = []
    for child, letter, relation in zip(unit.children, unit.nuclearity, unit.relations, strict=True):
        path_to = (*path, _step(unit, relation, letter))
        pieces.append(_Piece(child.start, child.stop, path_to, to_cut.get((child.start, child.stop))))
    return pieces


def _merge(pieces: list[_Piece], *tests: _Test) -> list[_Piece]:
    """Merge neighbours that pass all tests, from left to right."""
    merged = pieces[:1]
    for piece in pieces[1:]:
        last = merged[-1]
        is_cut = last.unit is not None or piece.unit is not None
        if not is_cut and all(test(last.start, piece.stop) for test in tests):
            merged[-1] = _Piece(last.start, piece.stop, _shared(last.path, piece.path))
        else:
            merged.append(piece)
    return merged


def _shared(one: RelationPath, other: RelationPath) -> RelationPath:
    """Return the common prefix of two paths."""
    return tuple(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class _Layout:
    """The paragraphs of a document, and which of them are headings or the header of an e-mail."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.paragraphs = document.paragraph_of_edus()
        labels = [paragraph.label for paragraph in document.paragraphs] or [""]
        self.is_heading = [labels[number] in ("head", "header") for number in self.paragraphs]

    def offsets(self, start: int, stop: int) -> tuple[int, int]:
        """Return the characters of these EDUs with the marks of the paragraphs that they begin or end."""
        edus, paragraphs = self.document.edus, self.document.paragraphs
        first, end = self.document.offsets(start, stop)
        if paragraphs and self.is_border(start):
            before = edus[start - 1].end if start else 0
            first = min(first, max(before, paragraphs[self.paragraphs[start]].start))
        if paragraphs and self.is_border(stop):
            after = edus[stop].start if stop < len(edus) else paragraphs[-1].end
            end = max(end, min(after, paragraphs[self.paragraphs[stop - 1]].end))
        return first, end

    def is_border(self, place: int) -> bool:
        """Return whether a paragraph ends before this EDU."""
        return place in (0, len(self.paragraphs)) or self.paragraphs[place - 1] != self.paragraphs[place]

    def is_in_one(self, start: int, stop: int) -> bool:
        """Return whether these EDUs are in one paragraph."""
        return self.paragraphs[start] == self.paragraphs[stop - 1]

    def is_whole(self, start: int, stop: int) -> bool:
        """Return whether these EDUs are in one paragraph or are whole paragraphs."""
        return self.is_in_one(start, stop) or (self.is_border(start) and self.is_border(stop))


class _Repair:
    """Joins headings and pieces that have too few tokens to a neighbour."""

    def __init__(
        self, layout: _Layout, tree: Tree, measure: Callable[[int, int], int], bounds: tuple[int, int]
    ) -> None:
        self.measure = measure
        self.least, self.most = bounds
        self.layout = layout
        self.is_heading = layout.is_heading
        self.depths = _split_depths(tree)

    def repaired(self, pieces: list[_Piece]) -> list[_Piece]:
        """Join pieces until nothing changes. A new split may make room for a piece that did not fit before."""
        before: list[_Piece] = []
        while pieces != before:
            before, pieces = pieces, self._once(pieces)
        return self._without_last_headings(pieces)

    def _without_last_headings(self, pieces: list[_Piece]) -> list[_Piece]:
        """Move headings at the end of a piece to the next piece if there is room."""
        done = pieces[:1]
        for piece in pieces[1:]:
            last = done[-1]
            place = last.stop
            while place > last.start and self.is_heading[place - 1]:
                place -= 1
            if last.start < place < last.stop and self._can_be_cut(last, place, piece):
                done[-1] = _Piece(last.start, place, last.path)
                piece = _Piece(place, piece.stop, _shared(last.path, piece.path))
            done.append(piece)
        return done

    def _can_be_cut(self, left: _Piece, place: int, right: _Piece) -> bool:
        sides = (left.start, place), (place, right.stop)
        return all(self._stands(*side) and self.measure(*side) <= self.most for side in sides)

    def _once(self, pieces: list[_Piece]) -> list[_Piece]:
        """Go through the pieces once, from left to right, and join each one that cannot stand alone.

        It is joined to the next piece, or to the previous one if that fails. The end of a paragraph tries the previous
        piece first.
        """
        pending = pieces[::-1]
        done: list[_Piece] = []
        while pending:
            piece = pending.pop()
            if self._stands(piece.start, piece.stop):
                done.append(piece)
            elif done and self._is_end(piece) and (joined := self._join(done[-1], piece)):
                done[-1:] = joined
            elif pending and (joined := self._join(piece, pending[-1])):
                pending[-1:] = joined[::-1]
            elif done and (joined := self._join(done[-1], piece)):
                done[-1:] = joined
            elif pending and all(self.is_heading[piece.start : piece.stop]):
                # A heading is never alone, even if the chunk then exceeds the budget.
                following = pending.pop()
                done.append(_Piece(piece.start, following.start + 1, _shared(piece.path, following.path)))
                if following.start + 1 < following.stop:
                    pending.append(_Piece(following.start + 1, following.stop, following.path))
            else:
                done.append(piece)
        return done

    def _is_end(self, piece: _Piece) -> bool:
        return self.layout.is_border(piece.stop) and not self.layout.is_border(piece.start)

    def _stands(self, start: int, stop: int) -> bool:
        return not all(self.is_heading[start:stop]) and self.measure(start, stop) >= self.least

    def _join(self, left: _Piece, right: _Piece) -> list[_Piece]:
        """Return the two pieces as one, or split at another place; empty if neither is possible.

        The best place is the end of a paragraph, then the highest split in the tree.
        """
        path = _shared(left.path, right.path)
        if self.measure(left.start, right.stop) <= self.most:
            return [_Piece(left.start, right.stop, path)]
        places = sorted(range(left.start + 1, right.stop), key=self._rank)
        for place in places:
            if self._can_be_cut(left, place, right):
                return [
                    _Piece(left.start, place, left.path if place <= left.stop else path),
                    _Piece(place, right.stop, right.path if place >= right.stop else path),
                ]
        return []

    def _rank(self, place: int) -> tuple[bool, int, int]:
        return not self.layout.is_border(place), self.depths[place], -place


def _split_depths(tree: Tree) -> dict[int, int]:
    """Map each place between two EDUs to the depth of the unit that it splits."""
    depths = {(tree.start, tree.stop): 0}
    found: dict[int, int] = {}
    for unit in units(tree):
        depth = depths[unit.start, unit.stop]
        depths |= {(child.start, child.stop): depth + 1 for child in unit.children}
        found |= {child.start: depth for child in unit.children[1:]}
    return found
