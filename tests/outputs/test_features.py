from dataclasses import replace
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.outputs.features import LEVELS, NUCLEARITIES, feature_rows, features, profile, profile_rows
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


def test_the_vector_has_a_fixed_length():
    assert {name: len(features(one_edu(), name)) for name in ("gum", "rstdt")} == {"gum": 496, "rstdt": 634}
    assert list(features(ferry(), "gum")) == list(features(one_edu(), load_inventory("gum")))
    assert not any(name.startswith("pair_") for name in features(ferry(), "open")), "they would be too many"


def placed() -> Document:
    """The ferry with sentences and paragraphs: two sentences, then one."""
    sentences = (Span(0, 32), Span(33, 171), Span(172, 260))
    return replace(ferry(), sentences=sentences, paragraphs=(Span(0, 171), Span(172, 260)))


def test_relations_by_level():
    found = features(placed(), "rstdt")
    assert [found[f"{level}_units"] for level in LEVELS] == [5 / 7, 1 / 7, 1 / 7]
    assert {name: value for name, value in found.items() if name.startswith("sentence_share") and value} == {
        "sentence_share_NS": 3 / 5,
        "sentence_share_NN": 2 / 5,
        "sentence_share_contrast": 1 / 5,
        "sentence_share_elaboration": 2 / 5,
        "sentence_share_explanation": 1 / 5,
        "sentence_share_joint": 1 / 5,
    }
    assert found["paragraph_share_explanation"] == 1, "from the first sentence to the second"
    assert found["document_share_background"] == 1


@given(wild_documents())
def test_levels_that_are_not_known(document: Document):
    assert not any(value for name, value in features(document, "gum").items() if name.startswith(LEVELS))
    text = document.text or ""
    found = features(replace(document, sentences=(Span(0, len(text)),)), "gum")
    assert found["paragraph_units"] is found["paragraph_share_NS"] is None
    assert found["sentence_units"] == min(len(document.edus) - 1, 1)
    assert found["document_units"] == 0


@given(wild_documents())
def test_motifs_are_shares(document: Document):
    found = features(document, "rstdt")
    motifs = [number(found, name) for name in found if name.startswith("motif_")]
    pairs = [number(found, name) for name in found if name.startswith("pair_")]
    assert (len(motifs), len(pairs)) == (24, 19 * 19)
    n_units = len(document.edus) - 1
    assert sum(motifs) == pytest.approx(min(n_units, 1))
    # Every unit but the root is the child of another one.
    assert sum(pairs) == pytest.approx(min(max(n_units - 1, 0), 1))
    of_units = sum(number(found, name) for name in found if name.startswith("motif_") and not name.endswith("EDU"))
    assert of_units == pytest.approx(max(n_units - 1, 0) / (2 * n_units) if n_units else 0)


def test_motifs_of_an_example():
    found = features(ferry(), "rstdt")
    pairs = {name: value for name, value in found.items() if name.startswith("pair_") and value}
    assert pairs == {
        "pair_background_explanation": 1 / 6,
        "pair_background_joint": 1 / 6,
        "pair_elaboration_contrast": 1 / 6,
        "pair_elaboration_explanation": 1 / 6,
        "pair_explanation_elaboration": 1 / 6,
        "pair_joint_elaboration": 1 / 6,
    }
    assert found["motif_NS_left_NS"] == found["motif_NS_right_NN"] == 2 / 14
    assert found["motif_NN_right_EDU"] == 2 / 14


def test_depth_and_balance():
    units = features(ferry(), "rstdt")
    # Sizes of the units: 8, 5, 4, 2, 2, 3, 2.
    assert units["mean_depth"] == 26 / 8
    assert units["balance"] == pytest.approx((3 / 5 + 1 / 4 + 1 + 1 + 1 + 1 / 2 + 1) / 7)
    assert features(one_edu())["balance"] == features(one_edu())["mean_depth"] == 0


def test_what_a_model_says():
    unknown = features(ferry(), "rstdt")
    assert (
        unknown["entropy"] is unknown["surprisal"] is unknown["tree_surprisal"] is unknown["label_probability"] is None
    )
    found = features(replace(ferry(), log_probability=-16.0), "rstdt", entropy=4.0, surprisal=160.0)
    names = ("unit_probability", "label_probability", "tree_surprisal", "entropy", "surprisal")
    assert [found[name] for name in names] == [0.75, None, 2, 0.5, 20]


def test_rows_with_what_a_model_says():
    rows = list(feature_rows([ferry(), one_edu()], "gum", ask=lambda document: {"entropy": len(document.edus)}))
    assert [(row["document"], row["entropy"], row["surprisal"]) for row in rows] == [
        ("ferry", 1, None),
        ("one", 1, None),
    ]


def test_the_name_that_they_had_first():
    assert profile(ferry()) == features(ferry())
    assert list(profile_rows([ferry()])) == list(feature_rows([ferry()]))
