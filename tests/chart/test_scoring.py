"""How a document is cut into charts: together they are one tree of blocks, and none is too large."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from genrst.chart.examples import Borders
from genrst.chart.scoring import cut


def check_blocks(charts: Sequence[Borders], n_edus: int) -> None:
    """The first chart is over all EDUs, and a leaf of several EDUs is a chart, exactly one."""
    spans = [(borders[0], borders[-1]) for borders in charts]
    assert len(set(spans)) == len(spans)
    leaves = [leaf for borders in charts for leaf in pairwise(borders)]
    blocks = [leaf for leaf in leaves if leaf[1] - leaf[0] > 1]
    assert sorted([(0, n_edus), *blocks]) == sorted(spans)
    assert sorted(start for start, stop in leaves if stop - start == 1) == list(range(n_edus))


def test_sentences_have_charts_of_their_own():
    assert cut(6) == [[0, 1, 2, 3, 4, 5, 6]]
    assert cut(6, [(0, 3), (3, 4), (4, 6)]) == [[0, 3, 4, 6], [0, 1, 2, 3], [4, 5, 6]]
    assert cut(6, [(1, 5), (2, 4)]) == [[0, 1, 5, 6], [1, 2, 4, 5], [2, 3, 4]]
    assert cut(4, [(0, 4)]) == [[0, 1, 2, 3, 4]]


def test_a_large_chart_is_cut_at_the_strongest_boundary_near_equal_parts():
    strengths = [1] * 30
    strengths[11] = 5
    charts = cut(30, strengths=strengths, most=20)
    assert charts[0] == [0, 11, 20, 30]
    assert [len(borders) - 1 for borders in charts[1:]] == [11, 9, 10]


def test_no_section_is_a_forbidden_span():
    charts = cut(30, forbidden={(0, 10)}, most=20)
    check_blocks(charts, 30)
    assert (0, 10) not in [(borders[0], borders[-1]) for borders in charts]
    everything = {(start, stop) for start in range(30) for stop in range(start + 1, 31)} - {(0, 30)}
    assert cut(30, forbidden=everything, most=20) == [list(range(31))]


@given(st.integers(2, 300), st.integers(3, 30), st.data())
def test_blocks_are_a_tree_of_charts(n_edus, most, data):
    edges = sorted(data.draw(st.sets(st.integers(1, n_edus - 1), max_size=60)))
    sentences = list(zip([0, *edges], [*edges, n_edus], strict=True))
    strengths = data.draw(st.lists(st.integers(0, 5), min_size=n_edus, max_size=n_edus))
    charts = cut(n_edus, sentences, strengths, most=most)
    check_blocks(charts, n_edus)
    assert all(len(borders) - 1 <= most for borders in charts)
    spans = {(borders[0], borders[-1]) for borders in charts}
    assert {span for span in sentences if span[1] - span[0] > 1} <= spans
