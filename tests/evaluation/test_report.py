import json

import pytest
from hypothesis import given, settings

from genrst.document import Document
from genrst.errors import UsageError
from genrst.evaluation.counts import Counts, micro
from genrst.evaluation.report import evaluate
from genrst.trees.node import Leaf, Unit
from tests.evaluation.samples import PAIRS, WordPair, chain, document_from_json, word_pairs


def test_json_form():
    pair = next(pair for pair in PAIRS if pair["id"] == "42_unequal_seg9")
    result = evaluate([document_from_json(pair["gold"])], [document_from_json(pair["pred"])]).as_dict()
    assert json.loads(json.dumps(result)) == result
    assert list(result) == [
        "documents", "labels", "parseval", "rst_parseval", "segmentation", "per_relation", "levels",
    ]  # fmt: skip
    assert result["documents"] == 1
    for metric in ("parseval", "rst_parseval"):
        for aspect, expected in pair["expected"][metric].items():
            cell = result[metric]["micro"][aspect]
            assert list(cell) == ["tp", "n_gold", "n_pred", "precision", "recall", "f1"]
            assert {name: cell[name] for name in expected} == expected
            precision, recall = expected["tp"] / expected["n_pred"], expected["tp"] / expected["n_gold"]
            assert cell["precision"] == precision
            assert cell["recall"] == recall
            assert cell["f1"] == pytest.approx(2 * precision * recall / (precision + recall) if precision else 0)
            # One document: its macro scores are its own.
            assert result[metric]["macro"][aspect] == {name: cell[name] for name in ("precision", "recall", "f1")}
    assert list(result["segmentation"]) == ["tp", "n_gold", "n_pred", "precision", "recall", "f1"]
    assert result["levels"] is None


@settings(deadline=None)
@given(word_pairs())
def test_relations_add_up_to_the_total(pair: WordPair):
    result = evaluate([pair.gold], [pair.predicted])
    relations = result.relations()
    for aspect in "RF":
        assert micro(cells[aspect] for cells in relations.values()) == result.micro()[aspect]
    gold_numbers = [cells["R"].n_gold for cells in relations.values()]
    assert gold_numbers == sorted(gold_numbers, reverse=True)


def test_relations_by_hand():
    gold_tree = Unit("contrast", "NN", (Leaf(0), Unit("cause", "NS", (Leaf(1), Leaf(2)))))
    predicted_tree = Unit("contrast", "NS", (Leaf(0), Unit("contrast", "NS", (Leaf(1), Leaf(2)))))
    gold = Document.from_edus("x", ["a", "b", "c"], gold_tree)
    predicted = Document.from_edus("x", ["a", "b", "c"], predicted_tree)
    assert evaluate([gold], [predicted]).relations() == {
        "cause": {"R": Counts(0, 1, 0), "F": Counts(0, 1, 0)},
        "contrast": {"R": Counts(1, 1, 2), "F": Counts(0, 1, 2)},
    }


def test_unknown_metrics_and_aspects_are_refused():
    document = Document.from_edus("x", ["a", "b"], chain("joint", "NN", 2))
    result = evaluate([document], [document])
    with pytest.raises(UsageError, match="was: parsival F"):
        result.document_counts("parsival")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="was: parseval Q"):
        result.document_counts("parseval", "Q")
