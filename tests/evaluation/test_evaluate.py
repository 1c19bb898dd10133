import time
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.counts import Counts
from genrst.evaluation.report import TREE_METRICS, TreeMetric, evaluate
from genrst.trees.node import Leaf, Tree, Unit, relabel
from genrst.trees.relations import OPEN, load_inventory
from tests.evaluation import reference
from tests.evaluation.samples import PAIRS, WordPair, as_tuple, chain, document_from_json, word_pairs

COARSE = {"Attribution": "attribution", "temporal-before": "temporal"}
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


@settings(max_examples=300, deadline=None)
@given(word_pairs())
def test_equals_the_naive_reference(pair: WordPair):
    check_against_reference(pair, COARSE, inventory=load_inventory("rstdt"))
    check_against_reference(pair, FINE, labels="fine")


@settings(max_examples=200, deadline=None)
@given(word_pairs(same_edus=True))
def test_equals_the_naive_reference_on_the_same_edus(pair: WordPair):
    check_against_reference(pair, COARSE, inventory=load_inventory("rstdt"))


@settings(max_examples=200, deadline=None)
@given(word_pairs(same_edus=True, binary=True))
def test_rst_parseval_spans_follow_from_parseval_spans(pair: WordPair):
    result = evaluate([pair.gold], [pair.predicted])
    spans, rst_spans = result.micro("parseval")["S"], result.micro("rst_parseval")["S"]
    if len(pair.gold_edus) > 1:
        assert Fraction(rst_spans.tp, rst_spans.n_gold) == (1 + Fraction(spans.tp, spans.n_gold)) / 2


@settings(deadline=None)
@given(word_pairs())
def test_swapping_the_sides_swaps_precision_and_recall(pair: WordPair):
    there, back = evaluate([pair.gold], [pair.predicted]), evaluate([pair.predicted], [pair.gold])
    for metric in TREE_METRICS:
        for aspect, counts in there.micro(metric).items():
            other = back.micro(metric)[aspect]
            assert as_tuple(other) == (counts.tp, counts.n_pred, counts.n_gold)
            assert (other.precision, other.recall, other.f1) == (counts.recall, counts.precision, counts.f1)


@settings(deadline=None)
@given(word_pairs())
def test_a_document_agrees_with_itself_and_with_its_other_spelling(pair: WordPair):
    assert pair.gold.tree is not None
    shouted = Document("random", pair.gold.text, pair.gold.edus, relabel(pair.gold.tree, str.upper))
    for predicted in (pair.gold, shouted):
        result = evaluate([pair.gold], [predicted])
        for metric in TREE_METRICS:
            assert all(counts.tp == counts.n_gold == counts.n_pred for counts in result.micro(metric).values())


def test_macro_by_hand():
    # First document: 3 of 3 spans, 1 of 3 with nuclearity. Second: one EDU, which scores 0.
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
    assert macro["S"].precision == pytest.approx((1 + 0 + 1) / 3)
    assert macro["S"].recall == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert macro["S"].f1 == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert macro["N"].f1 == pytest.approx((1 / 3 + 0 + 2 / 3) / 3)
    assert as_tuple(result.segmentation()) == (4, 5, 4)


def test_one_edu_documents_add_nothing():
    lone = Document.from_edus("lone", ["x"], Leaf(0))
    result = evaluate([lone], [lone])
    for metric in TREE_METRICS:
        assert set(result.micro(metric).values()) == {Counts()}
        assert {scores.f1 for scores in result.macro(metric).values()} == {0.0}
    assert result.segmentation() == Counts()


def test_empty_edus_do_not_crash():
    edus = (Span(0, 1), Span(1, 1), Span(1, 3), Span(3, 5))
    gold = Document("empty", "a b c", edus, chain("joint", "NN", 4))
    result = evaluate([gold], [gold])
    # EDU 1 is empty and EDU 2 starts where it does: two units share a span, which is matched once.
    assert as_tuple(result.micro()["S"]) == (2, 3, 3)


def test_the_relation_of_a_pair_of_nuclei_is_the_left_one():
    unequal = Unit.from_relations(["contrast", "joint"], "NN", (Leaf(0), Leaf(1)))
    equal = Unit("contrast", "NN", (Leaf(0), Leaf(1)))
    result = evaluate([Document.from_edus("x", ["a", "b"], unequal)], [Document.from_edus("x", ["a", "b"], equal)])
    assert as_tuple(result.micro("parseval")["R"]) == (1, 1, 1)
    assert as_tuple(result.micro("rst_parseval")["R"]) == (1, 2, 2)


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
        "rstdt, 18 coarse relations, unknown to it: 1 in gold"
    )
    assert evaluate(named("befuddle"), gold, inventory=OPEN).labels == "open, relations: 1 in gold"
    with pytest.raises(UsageError, match="was: 'medium'"):
        evaluate(gold, gold, labels="medium")  # type: ignore[arg-type]


def random_document(id: str, n_edus: int, random: Random) -> Document:
    nodes: list[Tree] = [Leaf(edu) for edu in range(n_edus)]
    names = sorted(load_inventory("gum").relations)
    while len(nodes) > 1:
        at = random.randrange(len(nodes) - 1)
        nodes[at : at + 2] = [Unit(random.choice(names), random.choice(["NS", "SN", "NN"]), tuple(nodes[at : at + 2]))]
    return Document.from_edus(id, ["about eight words in each of the units"] * n_edus, nodes[0])


@pytest.mark.slow
def test_a_large_corpus_is_scored_in_seconds():
    random = Random(0)
    gold = [random_document(str(number), 130, random) for number in range(255)]
    predicted = [random_document(str(number), 130, random) for number in range(255)]
    start = time.process_time()
    evaluate(gold, predicted).as_dict()
    assert time.process_time() - start < 5  # 1.2 s on an idle core
