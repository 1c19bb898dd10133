"""Trees as a chart learns them."""

from genrst.chart.examples import Labels, fine_of
from genrst.trees.node import Leaf, Unit


def test_finer_relations_are_in_postorder():
    fine = (("causal-cause", "causal"), ("joint-list", "joint"), ("joint-other", "joint"))
    inner = Unit("joint-list", "NNN", (Leaf(0), Leaf(1), Leaf(2)))
    left, right = Unit("causal-cause", "NS", (inner, Leaf(3))), Unit("odd", "NS", (Leaf(4), Leaf(5)))
    tree = Unit("Joint-Other", "NN", (left, right))
    assert fine_of(tree, Labels((), fine)).tolist() == [1, 1, 0, -1, 2]
