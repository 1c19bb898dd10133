"""How documents are cut, and the windows packed from them."""

from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.encoder.batch import _PADDING_ORDER, PieceWindows, pack_pieces, pack_windows
from genrst.encoder.tokenizer import IntArray
from genrst.encoder.windows import Window, WindowShape, cut
from tests.encoder.tiny_encoders import random_pieces

Text: TypeAlias = tuple[IntArray, IntArray]
"""Word pieces, and how many each EDU has."""

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


SHAPE = WindowShape(size=14, overlap=0.5, is_causal=True, prefix=(2,), suffix=(3,), padding=0)
texts = st.lists(
    st.builds(random_pieces, st.integers(1, 25), st.integers(0, 9), st.sampled_from([1, 3, 12, 30])),
    min_size=1,
    max_size=4,
)
shapes = st.builds(
    replace,
    st.just(SHAPE),
    size=st.integers(8, 40),
    is_causal=st.booleans(),
    prefix=st.sampled_from([(), (2,), (2, 5)]),
    suffix=st.sampled_from([(), (3,)]),
)


def edus_of(texts: list[Text]) -> list[list[int]]:
    parts = [np.split(pieces, np.cumsum(lengths)[:-1]) for pieces, lengths in texts]
    return [part.tolist() for document in parts for part in document]


@given(texts, shapes)
def test_every_edu_finds_its_pieces(texts: list[Text], shape: WindowShape):
    windows = pack_windows(texts, shape)
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    pieces, edus, rows = windows.pieces.flatten(), windows.edus.numpy(), windows.rows.numpy()
    for number, expected in enumerate(edus_of(texts)):
        mine = rows[edus == number]
        assert pieces[mine].tolist() == expected[:limit], "longer ones are cut off"
        assert mine.tolist() == list(range(int(windows.first[number]), int(windows.last[number]) + 1))
    assert len(windows.first) == sum(len(lengths) for _, lengths in texts)
    assert windows.pieces.shape[1] % 8 == 0


@given(texts, shapes, st.integers(1, 200))
def test_some_windows_at_a_time_are_all_of_them(texts: list[Text], shape: WindowShape, most_pieces: int):
    whole = pack_windows(texts, shape)
    parts = whole.split(most_pieces)
    assert sum(len(part.pieces) for part, _ in parts) == len(whole.pieces)
    for part, _ in parts:
        is_text = part.order < _PADDING_ORDER
        longest = int(is_text.sum(1).max())
        assert len(part.pieces) == 1 or len(part.pieces) * longest <= most_pieces
        assert part.pieces.shape[1] == -(-longest // 8) * 8, "no more padding than needed"
    rows = [row for part, _ in parts for row in _rows(part)]
    assert sorted(rows) == sorted(_rows(whole))
    found = {int(edu): own for part, edus in parts for edu, own in zip(edus, _pieces_by_edu(part), strict=True)}
    assert [found[edu] for edu in sorted(found)] == _pieces_by_edu(whole)


def _rows(windows: PieceWindows) -> list[list[tuple[int, int]]]:
    """The pieces of each window and their order, without padding."""
    rows = zip(windows.pieces.tolist(), windows.order.tolist(), strict=True)
    return [[pair for pair in zip(pieces, order, strict=True) if pair[1] < _PADDING_ORDER] for pieces, order in rows]


def _pieces_by_edu(windows: PieceWindows) -> list[tuple[list[int], int, int]]:
    """The pieces of each EDU, all, the first and the last."""
    pieces = windows.pieces.flatten()
    return [
        (pieces[windows.rows[windows.edus == edu]].tolist(), int(pieces[first]), int(pieces[last]))
        for edu, (first, last) in enumerate(zip(windows.first, windows.last, strict=True))
    ]


@given(texts, shapes)
def test_windows_stay_within_their_size_and_stand_between_prefix_and_suffix(texts: list[Text], shape: WindowShape):
    windows = pack_windows(texts, shape)
    is_padding = windows.order == windows.order.max()
    if not is_padding.any() or windows.order.max() < 1000:
        is_padding[:] = False
    for pieces, padding in zip(windows.pieces, is_padding, strict=True):
        text = pieces[~padding].tolist()
        assert len(text) <= shape.size
        assert tuple(text[: len(shape.prefix)]) == shape.prefix
        assert tuple(text[len(text) - len(shape.suffix) :]) == shape.suffix
        assert (pieces[padding] == shape.padding).all()
        assert not padding[: len(text)].any(), "padding comes last"


def seen(windows: PieceWindows) -> np.ndarray:
    order = windows.order.numpy()
    is_seen: np.ndarray = order[:, None, :] <= order[:, :, None]
    return is_seen


SMALL = np.array([10, 11, 12, 13, 14]), np.array([2, 1, 2])
"""Three EDUs: ab, c, de."""


def test_what_a_piece_sees_in_a_generative_model():
    windows = pack_windows([SMALL], SHAPE)
    assert windows.pieces.tolist() == [[2, 10, 11, 12, 13, 14, 3, 0]]
    expected = [
        "1.......",  # [CLS] sees itself
        "111.....",
        "111.....",
        "1111....",
        "111111..",
        "111111..",
        "1111111.",  # [SEP] is seen by nothing
    ]
    found = ["".join("1" if one else "." for one in row) for row in seen(windows)[0]]
    assert found[:7] == expected
    assert "1" in found[7], "attention of padding must not be empty"


def test_what_a_piece_sees_in_a_discriminative_model():
    is_seen = seen(pack_windows([SMALL], replace(SHAPE, is_causal=False)))[0]
    assert is_seen[:7, :7].all()
    assert not is_seen[:7, 7].any()
    assert is_seen[7].any()


def test_the_same_on_a_device():
    windows = pack_windows([SMALL], SHAPE).to("meta")
    assert {windows.pieces.device.type, windows.order.device.type, windows.last.device.type} == {"meta"}


@pytest.mark.parametrize("is_causal", [True, False])
def test_documents_have_windows_of_their_own(is_causal: bool):
    documents = [random_pieces(9, seed) for seed in range(3)]
    shape = replace(SHAPE, is_causal=is_causal)
    together = pack_windows(documents, shape)
    apart = [pack_windows([document], shape) for document in documents]
    assert len(together.pieces) == sum(len(windows.pieces) for windows in apart)
    length = together.pieces.shape[1]
    found = [row.tolist() for row in together.pieces]
    assert found == [row.tolist() + [0] * (length - len(row)) for windows in apart for row in windows.pieces]


def test_pieces_stand_for_themselves_where_edus_do_not_matter():
    pieces = [random_pieces(9, seed)[0] for seed in range(3)]
    windows = pack_pieces(pieces, SHAPE)
    assert windows.pieces.flatten()[windows.rows].tolist() == np.concatenate(pieces).tolist()
    assert windows.edus.tolist() == list(range(len(windows.rows)))
