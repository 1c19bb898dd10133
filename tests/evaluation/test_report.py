import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.counts import Counts, micro
from genrst.evaluation.report import (
    TREE_METRICS,
    TreeMetric,
    evaluate,
    pair_by_id,
    score_segmentation,
)
from genrst.trees.node import Leaf, Unit, relabel
from genrst.trees.relations import OPEN, load_inventory
from tests.evaluation import reference
from tests.evaluation.samples import PAIRS, WordPair, as_tuple, chain, document_from_json, word_pairs

COARSE = {"Attribution": "attribution", "temporal-before": "temporal"}
GOOD = Document.from_edus("x", ["a"], Leaf(0))
FINE = {"Attribution": "attribution"}


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["id"] for pair in PAIRS])
@pytest.mark.parametrize("metric", TREE_METRICS)
def test_counts_of_the_pairs(pair: dict[str, Any], metric: TreeMetric):
    result = evaluate([document_from_json(pair["gold"])], [document_from_json(pair["pred"])])
    found = {aspect: as_tuple(counts) for aspect, counts in result.micro(metric).items()}
    expected = {
        aspect: (cell["tp"], cell["n_gold"], cell["n_pred"]) for aspect, cell in pair["expected"][metric].items()
    }
    assert found == expected


def test_all_pairs_together_add_up():
    gold = [document_from_json(pair["gold"]) for pair in PAIRS]
    predicted = [document_from_json(pair["pred"]) for pair in reversed(PAIRS)]
    result = evaluate(gold, predicted)
    assert [document.id for document in result.documents] == [document.id for document in gold]
    for metric in TREE_METRICS:
        for aspect, counts in result.micro(metric).items():
            assert counts.tp == sum(pair["expected"][metric][aspect]["tp"] for pair in PAIRS)


def check_against_reference(pair: WordPair, rename: dict[str, str], **options) -> None:
    assert pair.gold.tree is not None
    assert pair.predicted.tree is not None
    result = evaluate([pair.gold], [pair.predicted], **options)
    gold = reference.binary(reference.nested(pair.gold.tree, rename))
    predicted = reference.binary(reference.nested(pair.predicted.tree, rename))
    for metric, constituents in (("parseval", reference.parseval), ("rst_parseval", reference.rst_parseval)):
        items = constituents(gold, pair.gold_edus), constituents(predicted, pair.predicted_edus)
        found = {aspect: as_tuple(counts) for aspect, counts in result.micro(metric).items()}  # type: ignore[arg-type]
        assert found == {aspect: reference.counts(*items, aspect) for aspect in "SNRF"}


@pytest.mark.slow
@given(word_pairs())
def test_equals_the_naive_reference(pair: WordPair):
    check_against_reference(pair, COARSE, inventory=load_inventory("rstdt"))
    check_against_reference(pair, FINE, labels="fine")


@pytest.mark.slow
@given(word_pairs(same_edus=True))
def test_equals_the_naive_reference_on_the_same_edus(pair: WordPair):
    check_against_reference(pair, COARSE, inventory=load_inventory("rstdt"))


@pytest.mark.slow
@given(word_pairs(same_edus=True, binary=True))
def test_rst_parseval_spans_follow_from_parseval_spans(pair: WordPair):
    result = evaluate([pair.gold], [pair.predicted])
    spans, rst_spans = result.micro("parseval")["S"], result.micro("rst_parseval")["S"]
    if len(pair.gold_edus) > 1:
        assert Fraction(rst_spans.tp, rst_spans.n_gold) == (1 + Fraction(spans.tp, spans.n_gold)) / 2


@given(word_pairs())
def test_swapping_the_sides_swaps_precision_and_recall(pair: WordPair):
    there, back = evaluate([pair.gold], [pair.predicted]), evaluate([pair.predicted], [pair.gold])
    for metric in TREE_METRICS:
        for aspect, counts in there.micro(metric).items():
            other = back.micro(metric)[aspect]
            assert as_tuple(other) == (counts.tp, counts.n_pred, counts.n_gold)
            assert (other.precision, other.recall, other.f1) == (counts.recall, counts.precision, counts.f1)


@given(word_pairs())
def test_a_document_agrees_with_itself_and_with_its_other_spelling(pair: WordPair):
    assert pair.gold.tree is not None
    shouted = Document("random", pair.gold.text, pair.gold.edus, relabel(pair.gold.tree, str.upper))
    for predicted in (pair.gold, shouted):
        result = evaluate([pair.gold], [predicted])
        for metric in TREE_METRICS:
            assert all(counts.tp == counts.n_gold == counts.n_pred for counts in result.micro(metric).values())


def test_macro_by_hand():
    # First document: 3 of 3 spans, 1 of 3 with nuclearity. Second: one EDU, where nothing can differ.
    gold = Document.from_edus("one", ["a", "b", "c", "d"], chain("joint", "NN", 4))
    tree = Unit("joint", "NN", (Leaf(0), Unit("joint", "NS", (Leaf(1), Unit("joint", "SN", (Leaf(2), Leaf(3)))))))
    predicted = Document.from_edus("one", ["a", "b", "c", "d"], tree)
    lone = Document.from_edus("two", ["x"], Leaf(0))
    # Third: gold has 2 units, predicted 1 (the root).
    third_gold = Document.from_edus("three", ["a", "b", "c"], chain("contrast", "NN", 3))
    third_predicted = Document.from_edus("three", ["a b", "c"], chain("contrast", "NN", 2))
    result = evaluate([gold, lone, third_gold], [predicted, lone, third_predicted])
    micro, macro = result.micro(), result.macro()
    assert as_tuple(micro["S"]) == (4, 5, 4)
    assert as_tuple(micro["N"]) == (2, 5, 4)
    assert macro["S"].precision == pytest.approx((1 + 1 + 1) / 3)
    assert macro["S"].recall == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert macro["S"].f1 == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert macro["N"].f1 == pytest.approx((1 / 3 + 1 + 2 / 3) / 3)
    assert as_tuple(result.segmentation()) == (4, 5, 4)


def test_one_edu_documents_add_nothing_and_agree():
    lone = Document.from_edus("lone", ["x"], Leaf(0))
    result = evaluate([lone], [lone])
    for metric in TREE_METRICS:
        assert set(result.micro(metric).values()) == {Counts()}
        assert {scores.f1 for scores in result.macro(metric).values()} == {1.0}
    assert result.segmentation() == Counts()


def test_units_that_share_a_span_are_matched_one_by_one():
    edus = (Span(0, 1), Span(1, 1), Span(1, 3), Span(3, 5))
    gold = Document("empty", "a b c", edus, chain("joint", "NN", 4))
    # EDU 1 is empty and EDU 2 starts where it does: two units share a span.
    assert as_tuple(evaluate([gold], [gold]).micro()["S"]) == (3, 3, 3)
    other = Document("other", "a b c", (Span(0, 1), Span(1, 3), Span(3, 5)), chain("joint", "NN", 3))
    assert as_tuple(evaluate([gold], [other]).micro()["S"]) == (2, 3, 2)


def test_the_relation_of_a_pair_of_nuclei_is_the_left_one():
    unequal = Unit.from_relations(["contrast", "joint"], "NN", (Leaf(0), Leaf(1)))
    equal = Unit("contrast", "NN", (Leaf(0), Leaf(1)))
    result = evaluate([Document.from_edus("x", ["a", "b"], unequal)], [Document.from_edus("x", ["a", "b"], equal)])
    assert as_tuple(result.micro("parseval")["R"]) == (1, 1, 1)
    assert as_tuple(result.micro("rst_parseval")["R"]) == (1, 2, 2)


@pytest.mark.slow
def test_deep_trees():
    document = Document.from_edus("deep", ["x"] * 3000, chain("joint", "NN", 3000))
    assert as_tuple(evaluate([document], [document]).micro()["F"]) == (2999, 2999, 2999)


def test_a_document_without_a_tree_is_named():
    whole = Document.from_edus("acme", ["a", "b"], chain("joint", "NN", 2))
    bare = Document.from_edus("acme", ["a", "b"])
    with pytest.raises(GenrstError, match=r"^acme: .* in gold$"):
        evaluate([bare], [whole])
    with pytest.raises(GenrstError, match=r"^acme: .* in predicted$"):
        evaluate([whole], [bare])


def named(relation: str) -> list[Document]:
    return [Document.from_edus("x", ["a", "b"], Unit(relation, "NS", (Leaf(0), Leaf(1))))]


def test_labels_are_coarse_unless_asked():
    gold, predicted = named("adversative-concession"), named("Adversative-Antithesis")
    assert evaluate(gold, predicted).micro()["R"].tp == 1
    assert evaluate(gold, predicted, labels="fine").micro()["R"].tp == 0
    assert evaluate(gold, predicted, inventory=OPEN).micro()["R"].tp == 0
    assert evaluate(gold, named("ADVERSATIVE-concession"), labels="fine").micro()["R"].tp == 1


def test_the_report_names_the_label_set():
    gold = named("adversative-concession")
    assert evaluate(gold, gold).labels == "gum, 15 coarse relations"
    assert evaluate(gold, gold, labels="fine").labels == "gum, fine relations: 1 in gold"
    assert evaluate(gold, gold, inventory=load_inventory("rstdt")).labels == (
        "rstdt, 18 coarse relations, 1 unknown in gold"
    )
    assert evaluate(named("befuddle"), gold, inventory=OPEN).labels == "open, relations: 1 in gold"
    with pytest.raises(UsageError, match="got 'medium'"):
        evaluate(gold, gold, labels="medium")  # type: ignore[arg-type]


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
    with pytest.raises(UsageError, match="got parsival F"):
        result.document_counts("parsival")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="got parseval Q"):
        result.document_counts("parseval", "Q")


@pytest.mark.slow
@given(word_pairs())
def test_starts_inside_the_document_count(pair: WordPair):
    gold = {edu.start for edu in pair.gold_edus if edu.start > 0}
    predicted = {edu.start for edu in pair.predicted_edus if edu.start > 0}
    expected = Counts(len(gold & predicted), len(gold), len(predicted))
    assert score_segmentation([pair.gold], [pair.predicted]) == expected
    assert evaluate([pair.gold], [pair.predicted]).segmentation() == expected


def test_no_tree_is_needed():
    gold = [Document.from_edus("a", ["One", "two", "three."]), Document.from_edus("b", ["x"])]
    predicted = [Document.from_edus("b", ["x"]), Document.from_edus("a", ["One two", "three", "."])]
    assert score_segmentation(gold, predicted) == Counts(1, 2, 2)


def test_offsets_alone_are_enough():
    gold = Document("a", None, (Span(0, 3), Span(4, 9)))
    predicted = Document("a", "One  two.", (Span(0, 4), Span(5, 9)))
    # The text of one side shows that there is a space at 4.
    assert score_segmentation([gold], [predicted]) == Counts(1, 1, 1)
    assert score_segmentation([gold], [gold]) == Counts(1, 1, 1)


def documents(ids: str) -> list[Document]:
    return [Document.from_edus(id, ["x"]) for id in ids]


def test_pairs_stand_in_gold_order():
    pairs = pair_by_id(documents("bca"), documents("abc"))
    assert [(gold.id, predicted.id) for gold, predicted in pairs] == [("b", "b"), ("c", "c"), ("a", "a")]


def test_one_document_against_one_other_needs_no_names():
    ((gold, predicted),) = pair_by_id(documents("a"), documents("b"))
    assert (gold.id, predicted.id) == ("a", "b")


@pytest.mark.parametrize(
    ("gold", "predicted", "was"),
    [
        ("aab", "ab", "twice in gold a"),
        ("ab", "abb", "twice in predicted b"),
        ("abcdefgh", "a", "only in gold b, c, d, e, f and 2 more"),
        ("abb", "cdd", "twice in gold b; twice in predicted d; only in gold a, b; only in predicted c, d"),
    ],
)
def test_ids_must_be_the_same(gold: str, predicted: str, was: str):
    with pytest.raises(GenrstError) as error:
        pair_by_id(documents(gold), documents(predicted))
    assert str(error.value).endswith(f"must have the same ids, each once: {was}")


def test_streams_are_scored_as_lists_are():
    documents = [Document.from_edus(name, ["a", "b"], Unit("r", "NS", (Leaf(0), Leaf(1)))) for name in "xy"]
    assert evaluate(iter(documents), iter(documents)).micro("parseval")["F"].f1 == 1


@pytest.mark.parametrize(
    ("predicted", "was"), [(GOOD, "<Document 'x': 1 EDU"), ([GOOD, "a"], "'a'"), ([None], "None"), (3, "3")]
)
def test_what_is_no_list_of_documents_is_refused(predicted: Any, was: str):
    with pytest.raises(UsageError) as error:
        evaluate([GOOD], predicted)
    assert str(error.value).startswith(f"predicted must be a list or stream of documents, got {was}")


def test_nothing_cannot_be_scored():
    with pytest.raises(GenrstError, match="no documents to score"):
        pair_by_id([], [])


@given(word_pairs())
def test_rows_are_gold_columns_are_predicted_and_the_diagonal_is_right(pair: WordPair):
    result = evaluate([pair.gold], [pair.predicted])
    confusion, relations = result.confusion(), result.relations()
    assert set(confusion.relations) == set(relations)
    for place, relation in enumerate(confusion.relations):
        counts = relations[relation]["R"]
        assert confusion.matrix[place].sum() == counts.n_gold
        assert confusion.matrix[:, place].sum() == counts.n_pred
        assert confusion.matrix[place, place] == counts.tp
    assert confusion.matrix[:-1, :-1].sum() == result.micro()["S"].tp
    assert confusion.matrix[-1, -1] == 0


def test_by_hand():
    gold_tree = Unit("contrast", "NN", (Leaf(0), Unit("cause", "NS", (Leaf(1), Leaf(2)))))
    predicted_tree = Unit("joint", "NN", (Unit("cause", "NS", (Leaf(0), Leaf(1))), Leaf(2)))
    gold = Document.from_edus("x", ["a", "b", "c"], gold_tree)
    predicted = Document.from_edus("x", ["a", "b", "c"], predicted_tree)
    confusion = evaluate([gold], [predicted]).confusion()
    assert confusion.rows == ("cause", "contrast", "joint", "spurious")
    assert confusion.columns == ("cause", "contrast", "joint", "missed")
    assert confusion.matrix.tolist() == [[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]


def test_an_evaluation_is_short_to_print():
    tree = Unit("joint", "NN", (Leaf(0), Leaf(1)))
    document = Document.from_edus("a", ["It rained,", "so we stayed."], tree)
    assert repr(evaluate([document], [document])) == (
        "<Evaluation of 1 document, rstdt, 18 coarse relations: S 100.0, N 100.0, R 100.0, F 100.0>"
    )
