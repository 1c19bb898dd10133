"""How many items are computed at once."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from genrst.encoder.memory import in_batches


@given(st.lists(st.integers(1, 9)), st.integers(1, 12))
def test_batches_are_as_large_as_they_may_be(sizes: list[int], most: int):
    items = list(enumerate(sizes))
    batches = list(in_batches(items, lambda item: item[1], most))
    assert [item for batch in batches for item in batch] == items
    totals = [sum(size for _, size in batch) for batch in batches]
    assert all(len(batch) == 1 or total <= most for batch, total in zip(batches, totals, strict=True))
    assert all(total + after[0][1] > most for total, (_, after) in zip(totals, pairwise(batches), strict=False))
