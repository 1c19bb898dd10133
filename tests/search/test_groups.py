from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from genrst.search.beam import in_groups


@given(st.lists(st.integers(1, 9)), st.integers(1, 12))
def test_groups_are_as_large_as_they_may_be(sizes: list[int], most: int):
    items = list(enumerate(sizes))
    groups = list(in_groups(items, lambda item: item[1], most))
    assert [item for group in groups for item in group] == items
    totals = [sum(size for _, size in group) for group in groups]
    assert all(len(group) == 1 or total <= most for group, total in zip(groups, totals, strict=True))
    assert all(total + after[0][1] > most for total, (_, after) in zip(totals, pairwise(groups), strict=False))
