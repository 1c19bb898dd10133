from dataclasses import replace
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.outputs.profile import NUCLEARITIES, profile, profile_rows
from genrst.trees.binarise import binarise
from genrst.trees.measures import promotion_sets
from genrst.trees.node import Leaf, Unit, relabel
from genrst.trees.relations import INVENTORIES, load_inventory
from tests.outputs.samples import DEEP, chain, ferry, one_edu, textless, wild_documents


def number(features: dict[str, float | None], name: str) -> float:
    value = features[name]
    assert value is not None
    return value


@given(wild_documents(), st.sampled_from(["rstdt", "gum"]))
def test_features_are_the_same_for_all_documents(document: Document, name: str):
    inventory = load_inventory(name)
    features = profile(document, inventory)
    assert list(features) == list(profile(one_edu(), inventory))
    assert all(value is None or isfinite(value) for value in features.values())
    assert list(features) == list(profile(textless(document), inventory))


@given(st.lists(wild_documents(), min_size=1, max_size=4), st.sampled_from([None, *INVENTORIES]))
def test_rows_of_some_documents_have_the_same_columns(documents: list[Document], name: str | None):
    rows = list(profile_rows(documents, load_inventory(name) if name else None))
    assert [row["document"] for row in rows] == [document.id for document in documents]
    assert len({tuple(row) for row in rows}) == 1


@given(wild_documents(), st.sampled_from([None, *INVENTORIES]))
def test_relations_sum_up(document: Document, name: str | None):
    features = profile(document, load_inventory(name) if name else None)
    n_units = len(document.edus) - 1
    relations = [key.removeprefix("count_") for key in features if key.startswith("count_") and key[-3:-2] != "_"]
    assert sum(number(features, f"count_{relation}") for relation in relations) == n_units
    for relation in relations:
        split = [number(features, f"count_{relation}_{nuclearity}") for nuclearity in NUCLEARITIES]
        assert sum(split) == number(features, f"count_{relation}")
        assert number(features, f"share_{relation}") == pytest.approx(sum(split) / max(n_units, 1))
    shares = [number(features, f"share_{nuclearity}") for nuclearity in NUCLEARITIES]
    assert sum(shares) == pytest.approx(min(n_units, 1))
    assert number(features, "satellite_share") == pytest.approx((shares[0] + shares[1]) / 2)


@given(wild_documents())
def test_promoted_edus(document: Document):
    assert document.tree is not None
    features = profile(document)
    edus = sorted(promotion_sets(document.tree)[0, len(document.edus)])
    last = max(len(document.edus) - 1, 1)
    assert features["n_promoted"] == len(edus)
    assert features["promoted_share"] == len(edus) / len(document.edus)
    assert features["promoted_first"] == edus[0] / last
    assert features["promoted_last"] == edus[-1] / last
    assert features["promoted_mean"] == pytest.approx(sum(edus) / len(edus) / last)


@given(wild_documents())
def test_the_shape_of_a_file_makes_no_difference(document: Document):
    assert document.tree is not None
    binary = replace(document, tree=binarise(document.tree))
    inventory = load_inventory("rstdt")
    different = {"root_children"}
    features, others = profile(document, inventory), profile(binary, inventory)
    assert {key for key in features if features[key] != others[key]} <= different


def test_an_example():
    document = replace(ferry(), sentences=(Span(0, 32), Span(33, 171), Span(172, 260)))
    features = profile(document)
    expected = {
        "n_edus": 8,
        "n_words": 48,
        "n_sentences": 3,
        "n_paragraphs": None,
        "edus_per_sentence": 8 / 3,
        "words_per_edu": 6,
        "depth": 4,
        "normalised_depth": 4 / 3,
        "left_branching": 3 / 7,
        "root_children": 2,
        "n_promoted": 1,
        "promoted_share": 1 / 8,
        "promoted_first": 0,
        "promoted_mean": 0,
        "promoted_last": 0,
        "satellite_share": 5 / 14,
        "share_NS": 5 / 7,
        "share_SN": 0,
        "share_NN": 2 / 7,
        "count_explanation": 2,
        "count_explanation_NS": 2,
        "share_explanation": 2 / 7,
        "count_contrast_NN": 1,
        "count_joint": 1,
        "count_background_NS": 1,
        "count_elaboration": 2,
        "count_other": 0,
    }
    assert {key: features[key] for key in expected} == pytest.approx(expected)
    assert features["characters_per_edu"] == sum(map(len, ferry().edu_texts)) / 8


def test_relations_outside_the_inventory():
    features = profile(ferry(), load_inventory("gum"))
    assert features["count_other"] == 5
    assert (features["count_elaboration"], features["count_joint"]) == (2, 0)


def test_relations_of_no_scheme_are_classes_of_their_own():
    names = {"reason": "Grund", "contrast": "Kontrast"}
    tree = ferry().tree
    assert tree is not None
    first = replace(ferry(), tree=relabel(tree, lambda name: names.get(name, "Rest")))
    second = Document.from_edus("second", ["a", "b"], Unit("Folge", "NS", (Leaf(0), Leaf(1))))
    rows = list(profile_rows([first, second]))
    assert [row["count_grund"] for row in rows] == [2, 0]
    assert [row["count_folge_NS"] for row in rows] == [0, 1]
    assert rows[0]["count_other"] == 0


def test_one_edu():
    features = profile(one_edu(), load_inventory("rstdt"))
    known = {"n_edus": 1, "n_words": 3, "words_per_edu": 3, "characters_per_edu": 12, "n_promoted": 1}
    known |= {"promoted_share": 1}
    assert {key: value for key, value in features.items() if value} == known


def test_without_text():
    features, others = profile(ferry()), profile(textless(ferry()))
    assert {key for key in features if features[key] != others[key]} == {"n_words", "words_per_edu"}
    assert others["n_words"] is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEEP)
def test_deep_trees(kind: str):
    features = profile(chain(2000, *DEEP[kind]))
    assert (features["depth"], features["normalised_depth"]) == (1999, 1999 / 11)
    assert features["skew"] == (1 if DEEP[kind][1] else -1)
