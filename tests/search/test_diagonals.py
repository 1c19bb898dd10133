"""Diagonals against the cells that can be reached, found by trying all actions."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.search.diagonals import NOWHERE, Diagonal, action_diagonals, bag_diagonals, level_sources

CPU = torch.device("cpu")


class Cell(NamedTuple):
    """The hypotheses of a document with i EDUs and j reductions."""

    document: int
    i: int
    j: int


def successors(cell: Cell, n_edus: int, max_stack: int | None) -> Iterator[Cell]:
    document, i, j = cell
    if i < n_edus and (max_stack is None or i - j < max_stack):
        yield Cell(document, i + 1, j)
    if i - j >= 2:
        yield Cell(document, i, j + 1)


def reachable(n_edus: list[int], max_stack: int | None) -> list[set[Cell]]:
    """The cells after each number of actions."""
    found = [{Cell(document, 0, 0) for document in range(len(n_edus))}]
    while found[-1]:
        found.append({after for cell in found[-1] for after in successors(cell, n_edus[cell.document], max_stack)})
    return found[1:-1]


def cell_of(diagonal: Diagonal, row: int, before: list[Cell]) -> Cell:
    """The cell that a beam is, by the cells that its hypotheses come from."""
    document = int(diagonal.documents[row])
    generates, reduces = int(diagonal.generates_from[row]), int(diagonal.reduces_from[row])
    cells = set()
    if generates != NOWHERE:
        source = before[generates]
        cells.add(Cell(source.document, source.i + 1, source.j))
    if reduces != NOWHERE:
        source = before[reduces]
        cells.add(Cell(source.document, source.i, source.j + 1))
    (cell,) = cells
    assert cell.document == document
    return cell


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.one_of(st.none(), st.integers(2, 11)))
def test_bags_are_the_reachable_cells(n_edus, max_stack):
    """Each once, after as many actions as it stands for, with all cells from which it is reached as its sources."""
    before = [Cell(document, 0, 0) for document in range(len(n_edus))]
    diagonals = list(bag_diagonals(n_edus, max_stack, CPU))
    expected = reachable(n_edus, max_stack)
    assert len(diagonals) == len(expected) == 2 * max(n_edus) - 1
    for diagonal, cells in zip(diagonals, expected, strict=True):
        found = [cell_of(diagonal, row, before) for row in range(len(diagonal.documents))]
        assert len(found) == len({*found})
        assert {*found} == cells
        arrivals = {
            (source, after) for source in before for after in successors(source, n_edus[source.document], max_stack)
        }
        sources = {
            (before[number], cell)
            for column in (diagonal.generates_from, diagonal.reduces_from)
            for number, cell in zip(column.tolist(), found, strict=True)
            if number != NOWHERE
        }
        assert sources == arrivals, "so nothing that is legal is lost"
        assert_divided(diagonal, found, n_edus)
        before = [found[row] for row in diagonal.going_on.tolist()]
        may_generate = [
            any(after.i > cell.i for after in successors(cell, n_edus[cell.document], max_stack)) for cell in before
        ]
        assert may_generate == [number < diagonal.n_generating for number in range(len(before))]
    assert not before


def assert_divided(diagonal: Diagonal, cells: list[Cell], n_edus: list[int]) -> None:
    """Every beam is complete or goes on."""
    is_complete = [(cell.i, cell.j) == (n_edus[cell.document], n_edus[cell.document] - 1) for cell in cells]
    assert diagonal.complete.tolist() == [row for row, complete in enumerate(is_complete) if complete]
    assert sorted(diagonal.going_on.tolist()) == [row for row, complete in enumerate(is_complete) if not complete]


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_an_action_beam_follows_itself_until_its_document_is_complete(n_edus):
    before = list(range(len(n_edus)))
    diagonals = list(action_diagonals(n_edus, CPU))
    assert len(diagonals) == 2 * max(n_edus) - 1
    for t, diagonal in enumerate(diagonals, start=1):
        documents = diagonal.documents.tolist()
        assert documents == [document for document, size in enumerate(n_edus) if t <= 2 * size - 1]
        for column in (diagonal.generates_from, diagonal.reduces_from):
            assert [before[number] for number in column.tolist()] == documents
        complete = [row for row, document in enumerate(documents) if t == 2 * n_edus[document] - 1]
        assert diagonal.complete.tolist() == complete
        assert diagonal.going_on.tolist() == [row for row in range(len(documents)) if row not in complete]
        assert diagonal.n_generating == len(diagonal.going_on), "any of them may have a hypothesis that generates"
        before = [documents[row] for row in diagonal.going_on.tolist()]
    assert not before


@pytest.mark.parametrize("n_edus", [50, 400])
def test_a_bound_keeps_the_number_of_beams_linear(n_edus):
    free, bounded = (
        sum(len(diagonal.documents) for diagonal in bag_diagonals([n_edus], max_stack, CPU)) for max_stack in (None, 10)
    )
    assert free == n_edus * (n_edus + 1) // 2
    assert bounded <= 10 * n_edus


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4, unique=True), st.integers(1, 9), st.booleans())
def test_level_sources_are_the_stacks_of_a_unit_less_and_a_unit_more(documents, largest, is_odd):
    even, odd = range(0, largest + 1, 2), range(1, largest + 1, 2)
    sizes, before = (odd, even) if is_odd else (even, odd)
    sources = level_sources(documents, sizes, before, CPU)
    beams_before = [(document, size) for document in documents for size in before]
    expected = [(document, size) for document in documents for size in sizes]
    assert sources.documents.tolist() == [document for document, _ in expected]
    for column, step in ((sources.generates_from, -1), (sources.reduces_from, 1)):
        wanted = [(document, size + step) for document, size in expected]
        found = [beams_before[row] if row != NOWHERE else None for row in column.tolist()]
        assert found == [beam if beam in beams_before else None for beam in wanted]
