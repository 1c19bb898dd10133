from dataclasses import replace

from genrst.document import Document, SecondaryEdge, Signal
from genrst.outputs.markers import marker_rows, marker_text
from genrst.trees.node import Leaf, Unit

TREE = Unit("causal", "SN", (Leaf(0), Unit("contrast", "NN", (Leaf(1), Leaf(2)))))
DOCUMENT = replace(
    Document.from_edus("a", ["If it rains,", "then we stay", "But, she said, go"], TREE),
    signals=(
        Signal((0, 1), "dm", "dm", (1, 4)),
        Signal((2, 3), "dm", "dm", (7,)),
        Signal((2, 3), "lexical", "indicative_word", (9,)),
        Signal((2, 3), "orphan", "orphan", (7,), target=(0, 1)),
        Signal((1, 2), "dm", "dm", ()),
    ),
    secondary_edges=(SecondaryEdge((2, 3), (0, 1), "evidence"),),
)


def test_markers_are_counted_with_what_they_mark():
    other = replace(DOCUMENT, id="b", metadata={"genre": "news"})
    rows = [tuple(row.values()) for row in marker_rows([DOCUMENT, DOCUMENT, other])]
    assert rows == [
        ("but", "dm", "contrast", None, 2),
        ("but", "orphan", "evidence", None, 2),
        ("if … then", "dm", "causal", None, 2),
        ("but", "dm", "contrast", "news", 1),
        ("but", "orphan", "evidence", "news", 1),
        ("if … then", "dm", "causal", "news", 1),
    ]
    assert not marker_rows([replace(DOCUMENT, signals=())])


def test_numbers_of_other_words_are_passed_over():
    assert marker_text(DOCUMENT, Signal((0, 1), "dm", "dm", (1, 99))) == "if"
    assert marker_text(replace(DOCUMENT, text=None), Signal((0, 1), "dm", "dm", (1,))) == ""
