from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from genrst.model.encoder.windows import Window, cut

LIMIT = 12


@st.composite
def documents(draw: st.DrawFn) -> list[int]:
    longest = draw(st.integers(1, LIMIT))
    return draw(st.lists(st.integers(1, longest), min_size=1, max_size=60))


overlaps = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9])


def contexts(lengths: list[int], window: Window, edu: int) -> tuple[int, int]:
    return sum(lengths[window.start : edu]), sum(lengths[edu + 1 : window.stop])


@given(documents(), overlaps, st.booleans())
def test_every_edu_belongs_to_one_window_that_holds_it(lengths: list[int], overlap: float, is_causal: bool):
    windows = cut(lengths, LIMIT, overlap, is_causal)
    assert [edu for window in windows for edu in range(window.first, window.last)] == list(range(len(lengths)))
    for window in windows:
        assert window.start <= window.first <= window.last <= window.stop


@given(documents(), overlaps, st.booleans())
def test_windows_are_full_and_within_the_limit(lengths: list[int], overlap: float, is_causal: bool):
    windows = cut(lengths, LIMIT, overlap, is_causal)
    for window in windows:
        assert sum(lengths[window.start : window.stop]) <= LIMIT
        assert window.stop == len(lengths) or sum(lengths[window.start : window.stop + 1]) > LIMIT
    for before, window in pairwise(windows):
        assert before.start < window.start <= before.stop < window.stop
        assert sum(lengths[window.start : before.stop]) <= overlap * LIMIT


@given(documents(), overlaps)
def test_overlap_is_as_long_as_it_may_be(lengths: list[int], overlap: float):
    for before, window in pairwise(cut(lengths, LIMIT, overlap, is_causal=True)):
        earlier = window.start - 1
        if earlier > before.start:
            is_too_much = sum(lengths[earlier : before.stop]) > int(overlap * LIMIT)
            assert is_too_much or sum(lengths[earlier : before.stop + 1]) > LIMIT


@given(documents(), overlaps, st.booleans())
def test_an_edu_belongs_where_it_has_most_context(lengths: list[int], overlap: float, is_causal: bool):
    windows = cut(lengths, LIMIT, overlap, is_causal)

    def context(window: Window, edu: int) -> int:
        left, right = contexts(lengths, window, edu)
        return left if is_causal else min(left, right)

    for window in windows:
        for edu in range(window.first, window.last):
            others = [context(other, edu) for other in windows if other.start <= edu < other.stop]
            assert context(window, edu) == max(others)


@given(documents(), documents(), overlaps, st.data())
def test_causal_windows_do_not_depend_on_what_comes_later(
    lengths: list[int], later: list[int], overlap: float, data: st.DataObject
):
    """Where an EDU is read, and what stands before it there, is the same whatever follows it."""
    same = data.draw(st.integers(1, len(lengths)))

    def beginnings(document: list[int]) -> list[tuple[int, int]]:
        windows = cut(document, LIMIT, overlap, is_causal=True)
        return [(window.start, edu) for window in windows for edu in range(window.first, window.last) if edu < same]

    assert beginnings(lengths) == beginnings(lengths[:same] + later)


def test_a_document_that_fits_is_one_window():
    assert cut([4, 4, 4], 12, 0.5, is_causal=False) == [Window(0, 3, 0, 3)]
    assert cut([1], 12, 0.5, is_causal=True) == [Window(0, 1, 0, 1)]


def test_an_example():
    """Windows of four EDUs that share two: the outer ones of each belong to its neighbours."""
    assert cut([1] * 8, 4, 0.5, is_causal=False) == [Window(0, 4, 0, 3), Window(2, 6, 3, 5), Window(4, 8, 5, 8)]
    assert cut([1] * 8, 4, 0.5, is_causal=True) == [Window(0, 4, 0, 4), Window(2, 6, 4, 6), Window(4, 8, 6, 8)]
