from dataclasses import replace

from genrst.document import Document
from genrst.evaluation.report import evaluate
from genrst.evaluation.tables import (
    Table,
    confusion_table,
    level_table,
    relation_table,
    summary_table,
    system_table,
)
from genrst.trees.node import Leaf, Unit

GOLD = Document.from_edus(
    "x", ["a", "b", "c"], Unit("contrast", "NN", (Leaf(0), Unit("cause", "NS", (Leaf(1), Leaf(2)))))
)
PREDICTED = Document.from_edus(
    "x", ["a", "b", "c"], Unit("contrast", "NN", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
)
RESULT = evaluate([replace(GOLD, sentences=(GOLD.edus[0], GOLD.edus[1]))], [PREDICTED])


def test_summary():
    assert summary_table(RESULT).as_text() == (
        "F1                     S     N     R     F\n"
        "parseval micro      50.0  50.0  50.0  50.0\n"
        "parseval macro      50.0  50.0  50.0  50.0\n"
        "rst_parseval micro  75.0  50.0   0.0   0.0\n"
        "rst_parseval macro  75.0  50.0   0.0   0.0"
    )


def test_markdown():
    assert Table(["name", "F1"], [["a|b", "1.0"], ["long name", "100.0"]]).as_markdown() == (
        "| name      |    F1 |\n"
        "|:----------|------:|\n"
        "| a\\|b      |   1.0 |\n"
        "| long name | 100.0 |"
    )  # fmt: skip


def test_systems():
    assert system_table({"ours": RESULT, "theirs": RESULT}).as_markdown() == (
        "| parseval micro |    S |    N |    R |    F |\n"
        "|:---------------|-----:|-----:|-----:|-----:|\n"
        "| ours           | 50.0 | 50.0 | 50.0 | 50.0 |\n"
        "| theirs         | 50.0 | 50.0 | 50.0 | 50.0 |"
    )


def test_relations():
    assert relation_table(RESULT).as_text() == (
        "relation  precision  recall     F1  gold  predicted\n"
        "cause           0.0     0.0    0.0     1          0\n"
        "contrast      100.0   100.0  100.0     1          1\n"
        "joint           0.0     0.0    0.0     0          1"
    )


def test_levels():
    table = level_table(RESULT)
    assert table is not None
    assert table.as_text() == (
        "level         S     N     R     F  gold  predicted\n"
        "sentence    0.0   0.0   0.0   0.0     1          0\n"
        "paragraph     –     –     –     –     0          0\n"
        "document   66.7  66.7  66.7  66.7     1          2"
    )
    assert level_table(evaluate([GOLD], [GOLD])) is None


def test_confusion():
    assert confusion_table(RESULT.confusion()).as_text() == (
        "gold        1  2  3  missed\n"
        "1 cause     ·  ·  ·       1\n"
        "2 contrast  ·  1  ·       ·\n"
        "3 joint     ·  ·  ·       ·\n"
        "spurious    ·  ·  1       ·"
    )
