"""Legal actions against all trees: one is legal iff a tree that is as demanded, and fits the stack, follows it."""

from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import ConstraintError
from genrst.rnng.transitions.legal import Frame, LegalActions
from genrst.trees.constraints import UNCONSTRAINED, Constraint, ResolvedConstraints, resolve_constraints
from tests.chart.enumeration import Tree, all_trees, fits

GENERATE, REDUCE = range(2)
Derivation = tuple[int, ...]


def derivation(tree: Tree, start: int, stop: int) -> Derivation:
    """The actions of a tree, without labels."""
    if stop - start == 1:
        return (GENERATE,)
    (split,) = [middle for first, middle, last in tree if (first, last) == (start, stop)]
    return (*derivation(tree, start, split), *derivation(tree, split, stop), REDUCE)


def largest_stack(actions: Derivation) -> int:
    return max(accumulate(1 if action == GENERATE else -1 for action in actions))


def within(derivations: Sequence[Derivation], max_stack: int | None) -> list[Derivation]:
    """Those that the bound leaves or, if it leaves none, those that need the smallest stack."""
    if max_stack is None:
        return list(derivations)
    bound = max(max_stack, min(map(largest_stack, derivations)))
    return [actions for actions in derivations if largest_stack(actions) <= bound]


def replay(legal: LegalActions, actions: Derivation) -> tuple[list[Frame], int]:
    """The frames of a stack, from the empty one on, and the number of generated EDUs."""
    frames, starts, n_generated = [legal.bottom], list[int](), 0
    for action in actions:
        if action == GENERATE:
            starts.append(n_generated)
            n_generated += 1
        else:
            del starts[-1], frames[-2:]
        frames.append(legal.push(frames[-1], starts[-1]))
    return frames, n_generated


def check(
    n_edus: int, constraints: ResolvedConstraints, derivations: Sequence[Derivation], max_stack: int | None
) -> None:
    """Every state on the way to one of the trees, and every action in it."""
    legal = LegalActions(n_edus, constraints, max_stack)
    prefixes = {actions[:length] for actions in within(derivations, max_stack) for length in range(2 * n_edus)}
    for actions in prefixes:
        frames, n_generated = replay(legal, actions)
        assert legal.may_generate(frames[-1], n_generated) == ((*actions, GENERATE) in prefixes)
        if len(frames) > 2:
            assert legal.may_reduce(frames[-1], n_generated) == ((*actions, REDUCE) in prefixes)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, list[Constraint], list[int] | None]:
    """Documents of up to six EDUs; mostly forbidden spans, since units that are demanded soon leave little."""
    n_edus = draw(st.integers(1, 6))
    spans = [(start, stop) for start in range(n_edus) for stop in range(start + 1, n_edus + 1)]
    inner = [(start, stop) for start, stop in spans if 1 < stop - start < n_edus]
    forced = draw(st.lists(st.sampled_from(spans), max_size=2))
    forbidden = draw(st.lists(st.sampled_from(inner), max_size=9)) if inner else []
    constraints = [*(Constraint(*span) for span in forced), *(Constraint(*span, is_unit=False) for span in forbidden)]
    sentences = sorted(draw(st.lists(st.integers(0, 2), min_size=n_edus, max_size=n_edus)))
    return n_edus, constraints, draw(st.sampled_from([None, sentences]))


@pytest.mark.slow
@given(cases(), st.one_of(st.none(), st.integers(2, 6)))
def test_an_action_is_legal_iff_a_tree_follows_it(case, max_stack):
    n_edus, constraints, sentences = case
    left = [tree for tree in all_trees(0, n_edus) if fits(tree, constraints, sentences, n_edus)]
    try:
        constraints = resolve_constraints(
            n_edus, constraints, [("joint", "NN")], [] if sentences is None else [sentences]
        )
        legal = LegalActions(n_edus, constraints, max_stack)
    except ConstraintError:
        assert not left
        return
    derivations = [derivation(tree, 0, n_edus) for tree in left]
    check(n_edus, constraints, derivations, max_stack)
    assert (legal.max_stack or n_edus) >= min(map(largest_stack, derivations))


@pytest.mark.parametrize("max_stack", [None, 2, 3, 5])
def test_where_nothing_is_demanded_all_is_legal_that_the_stack_has_room_for(max_stack):
    derivations = [derivation(tree, 0, 5) for tree in all_trees(0, 5)]
    assert len(derivations) == 14
    check(5, UNCONSTRAINED, derivations, max_stack)


def test_what_may_become_of_a_unit_depends_on_all_that_lies_below_it():
    """[0, 2) [2, 3) [3, 4) may go on and [0, 1) [1, 2) [2, 3) [3, 4) may not, though both have the same top."""
    forbidden = [(2, 5), (2, 6), (1, 4), (1, 5), (1, 6)]
    legal = LegalActions(6, ResolvedConstraints(forbidden=frozenset(forbidden)))
    short, n_generated = replay(legal, (GENERATE, GENERATE, REDUCE, GENERATE, GENERATE))
    assert n_generated == 4
    assert legal.may_reduce(short[-1], 4)
    frames = [legal.bottom]
    for start in (0, 1, 2, 3):
        frames.append(legal.push(frames[-1], start))
    assert not legal.may_reduce(frames[-1], 4)
    assert not legal.may_generate(frames[3], 3), "so the second stack is never built"


def test_a_stack_that_trees_cannot_do_without_is_allowed():
    """Nothing begins with the first EDU but itself and the document, nothing with the second one, and so on."""
    right_branching = ResolvedConstraints(tuple((start, 9) for start in range(8)))
    assert LegalActions(9, right_branching, 4).max_stack == 9
    assert LegalActions(9, UNCONSTRAINED, 4).max_stack == 4


def test_no_tree_is_an_error():
    constraints = ResolvedConstraints(((1, 4),), frozenset({(1, 3), (2, 4)}))
    with pytest.raises(ConstraintError, match=r"no tree is possible without the units \[1, 3\], \[2, 4\]"):
        LegalActions(5, constraints)
