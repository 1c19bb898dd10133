"""The profile of a document: numbers about its relations and shape, as features for scoring coherence or essays.

All documents have the same features in the same order, given an inventory of relations. Trees are binarised first, so
that the format of a file makes no difference.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, log2
from typing import TypeAlias

from genrst.document import Document, require_tree
from genrst.outputs.summary import count_words
from genrst.trees.binarise import binarise
from genrst.trees.measures import depth, importance, left_branching, skew
from genrst.trees.node import SPAN, Tree, Unit, relabel, units
from genrst.trees.relations import Inventory, Relation, detect_inventory

Profile: TypeAlias = dict[str, float | None]

NUCLEARITIES = ("NS", "SN", "NN")
OTHER = "other"
"""The class of relations that the inventory does not know."""


def profile(document: Document, inventory: Inventory | None = None) -> Profile:
    """The features of a document, by name; None where the document does not say: words without text, sentences.

    The inventory is the one that fits the document best unless given. With `open` each relation is a class of its own,
    so that only documents that go through `profile_rows` together have the same features.

    * `n_edus`, `n_words`, `n_sentences`, `n_paragraphs`, `edus_per_sentence`, `words_per_edu`, `characters_per_edu`;
    * `depth` of the binary tree, `normalised_depth` (1 if no tree over as many EDUs is flatter), `left_branching`
      and `skew` as in `genrst.trees.measures`, `root_children` before binarisation;
    * `n_promoted`, `promoted_share`: EDUs that stand for the whole text; `promoted_first`, `promoted_mean` and
      `promoted_last` say where they are, from 0 (the first EDU) to 1 (the last);
    * `satellite_share` of all units and EDUs below the root; `share_NS`, `share_SN`, `share_NN` of the units;
    * for each coarse relation, here `cause`: `count_cause`, `share_cause` of the units, and the same by nuclearity:
      `count_cause_NS`, `share_cause_NS`, …; `other` is for relations outside the inventory.
    """
    inventory = profile_inventory([document], inventory)
    tree = require_tree(document)
    binary = binarise(relabel(tree, inventory.coarse))
    return {
        **_lengths(document),
        **_shape(binary),
        "root_children": len(tree.children) if isinstance(tree, Unit) else 0,
        **_promotion(binary),
        **_relations(binary, inventory.coarse_relations),
    }


def profile_rows(
    documents: Iterable[Document], inventory: Inventory | None = None
) -> Iterator[dict[str, float | str | None]]:
    """A row per document, with the same columns for all: the name of the document, then its profile."""
    documents = list(documents)
    inventory = profile_inventory(documents, inventory)
    return ({"document": document.id, **profile(document, inventory)} for document in documents)


def profile_inventory(documents: Sequence[Document], inventory: Inventory | None = None) -> Inventory:
    """The inventory, or the one that fits the relations of all documents; an open one becomes the list of them."""
    if inventory is not None and inventory.relations:
        return inventory
    names = {
        name.lower()
        for document in documents
        for unit in units(require_tree(document))
        for name in (unit.relation, *unit.relations)
        if name != SPAN
    }
    inventory = inventory or detect_inventory(names)
    if inventory.relations:
        return inventory
    return Inventory(inventory.name, {name: Relation(name, name, frozenset()) for name in names})


def _lengths(document: Document) -> Profile:
    text, edus = document.text, document.edus
    n_words = None if text is None else sum(count_words(text[edu.start : edu.end]) for edu in edus)
    n_sentences = len(document.sentences) or None
    return {
        "n_edus": len(edus),
        "n_words": n_words,
        "n_sentences": n_sentences,
        "n_paragraphs": len(document.paragraphs) or None,
        "edus_per_sentence": None if n_sentences is None else len(edus) / n_sentences,
        "words_per_edu": None if n_words is None else n_words / len(edus),
        "characters_per_edu": sum(edu.end - edu.start for edu in edus) / len(edus),
    }


def _shape(binary: Tree) -> Profile:
    least = ceil(log2(binary.stop))
    return {
        "depth": depth(binary),
        "normalised_depth": depth(binary) / least if least else 0.0,
        "left_branching": left_branching(binary),
        "skew": skew(binary),
    }


def _promotion(tree: Tree) -> Profile:
    scores = importance(tree)
    highest = max(scores)
    positions = [edu / max(len(scores) - 1, 1) for edu, score in enumerate(scores) if score == highest]
    return {
        "n_promoted": len(positions),
        "promoted_share": len(positions) / len(scores),
        "promoted_first": positions[0],
        "promoted_mean": sum(positions) / len(positions),
        "promoted_last": positions[-1],
    }


def _relations(binary: Tree, names: Sequence[str]) -> Profile:
    labels = [(unit.relation if unit.relation in names else OTHER, unit.nuclearity) for unit in units(binary)]
    counts = Counter(labels)
    shapes = Counter(nuclearity for _, nuclearity in labels)
    n_units = len(labels) or 1
    features: Profile = {"satellite_share": (shapes["NS"] + shapes["SN"]) / (2 * n_units)}
    features |= {f"share_{nuclearity}": shapes[nuclearity] / n_units for nuclearity in NUCLEARITIES}
    for name in (*names, OTHER):
        by_nuclearity = {f"{name}_{nuclearity}": counts[name, nuclearity] for nuclearity in NUCLEARITIES}
        for key, count in {name: sum(by_nuclearity.values()), **by_nuclearity}.items():
            features |= {f"count_{key}": count, f"share_{key}": count / n_units}
    return features
