"""Score predicted trees against gold ones.

Trees are mapped to a label set, binarised and compared by Parseval and RST-Parseval; their EDUs need not be the same.
"""

from collections.abc import Sequence

from genrst.errors import GenrstError
from genrst.evaluation.constituents import (
    Comparison,
    ConstituentLister,
    parseval_constituents,
    rst_parseval_constituents,
)
from genrst.evaluation.labels import Granularity, LabelSet, choose_labels
from genrst.evaluation.levels import read_layout
from genrst.evaluation.pairing import Pair, pair_by_id
from genrst.evaluation.report import DocumentResult, Evaluation
from genrst.evaluation.segmentation import count_starts
from genrst.trees.analysis import Analysis
from genrst.trees.binarise import binarise
from genrst.trees.node import Tree
from genrst.trees.positions import shared_measures
from genrst.trees.relations import Inventory


def evaluate(
    gold: Sequence[Analysis],
    predicted: Sequence[Analysis],
    *,
    labels: Granularity = "coarse",
    inventory: Inventory | None = None,
) -> Evaluation:
    """Compare documents, paired by id; each must have a tree.

    Without an inventory, coarse classes are those of the inventory that fits the relation names best.
    """
    pairs = pair_by_id(gold, predicted)
    gold_trees = [_require_tree(analysis, "gold") for analysis, _ in pairs]
    predicted_trees = [_require_tree(analysis, "predicted") for _, analysis in pairs]
    label_set = choose_labels(labels, inventory, gold_trees, predicted_trees)
    trees = zip(gold_trees, predicted_trees, strict=True)
    return Evaluation(label_set.description, [_compare(*both, label_set) for both in zip(pairs, trees, strict=True)])


def _require_tree(analysis: Analysis, side: str) -> Tree:
    if analysis.tree is None:
        raise GenrstError(f"{analysis.id}: a scored document must have a tree, was: only segmented in {side}")
    return analysis.tree


def _compare(pair: Pair, trees: tuple[Tree, Tree], label_set: LabelSet) -> DocumentResult:
    gold, predicted = pair
    gold_measure, predicted_measure = shared_measures(gold, predicted)
    edus = [list(map(gold_measure, gold.edus)), list(map(predicted_measure, predicted.edus))]
    # Binarisation does not look at names, so labels can be mapped after it, without building the trees once more.
    binary_trees = [binarise(tree) for tree in trees]

    def compare(list_constituents: ConstituentLister) -> Comparison:
        sides = zip(binary_trees, edus, strict=True)
        return Comparison(*(list_constituents(tree, positions, label_set.label) for tree, positions in sides))

    return DocumentResult(
        id=gold.id,
        parseval=compare(parseval_constituents),
        rst_parseval=compare(rst_parseval_constituents),
        segmentation=count_starts(*edus),
        layout=read_layout(gold, gold_measure),
    )
