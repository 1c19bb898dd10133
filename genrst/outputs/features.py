"""The features of a document: a vector of numbers about its relations and shape, for text classifiers.

For a given inventory of relations, all documents have the same features in the same order. Trees are binarised first,
so the file format makes no difference. docs/guides/features.md explains each feature.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, log2
from statistics import fmean
from typing import TypeAlias

from genrst.document import Document, require_tree
from genrst.outputs.summary import count_words
from genrst.trees.binarise import binarise
from genrst.trees.measures import depth, importance, left_branching, skew
from genrst.trees.node import SPAN, Leaf, Tree, Unit, relabel, units
from genrst.trees.relations import Inventory, Relation, detect_inventory, load_inventory

Features: TypeAlias = dict[str, float | None]

NUCLEARITIES = ("NS", "SN", "NN")
OTHER = "other"
"""The class of relations that are not in the inventory."""
LEVELS = ("sentence", "paragraph", "document")
"""Levels of units: inside one sentence; across sentences of one paragraph; across paragraphs."""
SIDES, KINDS = ("left", "right"), ("EDU", *NUCLEARITIES)
"""The sides and the kinds of a unit's children."""
OPEN_CLASSES = "open"
"""The name of an inventory whose classes are the relation names found in the documents."""
UNCERTAINTY = ("entropy", "surprisal")
"""Features that need a model: see `features`."""


def features(
    document: Document,
    inventory: Inventory | str | None = None,
    *,
    entropy: float | None = None,
    surprisal: float | None = None,
) -> Features:
    """Return the features of a document by name; None if unknown, such as words in a document without text.

    `inventory` is an inventory or its name (default: the one that fits the document best). With `gum` or `rstdt`, all
    documents have the same features. With `open`, each relation is its own class and there are no pairs of relations,
    so only documents passed to `feature_rows` together have the same features.

    * `n_edus`, `n_words`, `n_sentences`, `n_paragraphs`, `edus_per_sentence`, `words_per_edu`, `characters_per_edu`;
    * `depth` of the binary tree, `normalised_depth` (1 for the flattest possible binary tree), `left_branching`
      and `skew` as in `genrst.trees.measures`, `mean_depth` of EDUs, `balance` (the number of EDUs of the smaller
      child divided by that of the larger one, averaged over units), `root_children` before binarisation;
    * `n_promoted`, `promoted_share`: EDUs that stand for the whole text; `promoted_first`, `promoted_mean` and
      `promoted_last` say where they are, from 0 (the first EDU) to 1 (the last);
    * `satellite_share` of all units and EDUs below the root; `share_NS`, `share_SN`, `share_NN` of the units;
    * for each coarse relation, such as `cause`: `count_cause`, `share_cause` of the units, and both by nuclearity:
      `count_cause_NS`, `share_cause_NS`, …; `other` is for relations outside the inventory;
    * for each level, such as `sentence`: `sentence_units`, the share of units inside one sentence; among these,
      `sentence_share_NS`, … and `sentence_share_cause`, …; the other levels are `paragraph` and `document`;
    * motifs, a unit with one of its children: `motif_NS_left_EDU`, …, as shares of all children;
      `pair_cause_contrast`, …, a cause with a contrast right below it, as shares of all such pairs;
    * from a model: `unit_probability` and `label_probability`, averaged over the units that it found, and
      `tree_surprisal`, −log of the probability of the tree; `entropy` over all trees, and `surprisal` of the
      words, if these two are passed in. The last three are in nats per EDU.
    """
    inventory = feature_inventory([document], inventory)
    tree = require_tree(document)
    binary = binarise(relabel(tree, inventory.coarse))
    names = inventory.coarse_relations
    return {
        **_lengths(document),
        **_shape(binary),
        "root_children": len(tree.children) if isinstance(tree, Unit) else 0,
        **_promotion(binary),
        **_relations(binary, names),
        **_levels(document, binary, names),
        **_motifs(binary),
        **({} if inventory.name == OPEN_CLASSES else _pairs(binary, names)),
        **_certainty(document, entropy, surprisal),
    }


def feature_rows(
    documents: Iterable[Document],
    inventory: Inventory | str | None = None,
    *,
    ask: Callable[[Document], Mapping[str, float | None]] | None = None,
) -> Iterator[dict[str, float | str | None]]:
    """Yield one row per document, all with the same columns: the name of the document, then its features.

    `ask` returns the `entropy` and the `surprisal` of a document as a dictionary.
    """
    documents = list(documents)
    inventory = feature_inventory(documents, inventory)
    for document in documents:
        yield {"document": document.id, **features(document, inventory, **(ask(document) if ask else {}))}


profile = features
"""An older name of `features`."""
profile_rows = feature_rows
"""An older name of `feature_rows`."""


def feature_inventory(documents: Sequence[Document], inventory: Inventory | str | None = None) -> Inventory:
    """Return the inventory, or detect it from all documents; an open inventory gets one class per relation name."""
    if isinstance(inventory, str):
        inventory = load_inventory(inventory)
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
    return Inventory(OPEN_CLASSES, {name: Relation(name, name, frozenset()) for name in names})


def _lengths(document: Document) -> Features:
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


def _shape(binary: Tree) -> Features:
    least = ceil(log2(binary.stop))
    return {
        "depth": depth(binary),
        "normalised_depth": depth(binary) / least if least else 0.0,
        "left_branching": left_branching(binary),
        "skew": skew(binary),
        "mean_depth": sum(unit.stop - unit.start for unit in units(binary)) / binary.stop,
        "balance": fmean([_balance(unit) for unit in units(binary)] or [0.0]),
    }


def _balance(unit: Unit) -> float:
    left, right = (child.stop - child.start for child in unit.children)
    return min(left, right) / max(left, right)


def _promotion(tree: Tree) -> Features:
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


def _relations(binary: Tree, names: Sequence[str]) -> Features:
    labels = [(_class(unit, names), unit.nuclearity) for unit in units(binary)]
    counts = Counter(labels)
    shapes = Counter(nuclearity for _, nuclearity in labels)
    n_units = len(labels) or 1
    found: Features = {"satellite_share": (shapes["NS"] + shapes["SN"]) / (2 * n_units)}
    found |= {f"share_{nuclearity}": shapes[nuclearity] / n_units for nuclearity in NUCLEARITIES}
    for name in (*names, OTHER):
        by_nuclearity = {f"{name}_{nuclearity}": counts[name, nuclearity] for nuclearity in NUCLEARITIES}
        for key, count in {name: sum(by_nuclearity.values()), **by_nuclearity}.items():
            found |= {f"count_{key}": count, f"share_{key}": count / n_units}
    return found


def _class(unit: Unit, names: Sequence[str]) -> str:
    return unit.relation if unit.relation in names else OTHER


def _levels(document: Document, binary: Tree, names: Sequence[str]) -> Features:
    """Unknown without sentences. Without paragraphs, `document` covers every unit that crosses sentences."""
    by_level: dict[str, list[Unit]] = {level: [] for level in LEVELS}
    sentences, paragraphs = document.sentence_of_edus(), document.paragraph_of_edus()
    for unit in units(binary):
        first, last = unit.start, unit.stop - 1
        if sentences[first] == sentences[last]:
            by_level["sentence"].append(unit)
        else:
            is_inside = bool(document.paragraphs) and paragraphs[first] == paragraphs[last]
            by_level["paragraph" if is_inside else "document"].append(unit)
    found: Features = {}
    for level, of_level in by_level.items():
        is_known = document.sentences and (document.paragraphs or level != "paragraph")
        values = _level(of_level, binary.stop - 1, names)
        found |= {f"{level}_{name}": value if is_known else None for name, value in values.items()}
    return found


def _level(of_level: Sequence[Unit], n_units: int, names: Sequence[str]) -> Features:
    labels = Counter(_class(unit, names) for unit in of_level)
    shapes = Counter(unit.nuclearity for unit in of_level)
    total = len(of_level) or 1
    found: Features = {"units": len(of_level) / (n_units or 1)}
    found |= {f"share_{nuclearity}": shapes[nuclearity] / total for nuclearity in NUCLEARITIES}
    return found | {f"share_{name}": labels[name] / total for name in (*names, OTHER)}


def _motifs(binary: Tree) -> Features:
    counts = Counter(
        f"motif_{unit.nuclearity}_{side}_{'EDU' if isinstance(child, Leaf) else child.nuclearity}"
        for unit in units(binary)
        for side, child in zip(SIDES, unit.children, strict=True)
    )
    names = [f"motif_{parent}_{side}_{kind}" for parent in NUCLEARITIES for side in SIDES for kind in KINDS]
    return {name: counts[name] / (counts.total() or 1) for name in names}


def _pairs(binary: Tree, names: Sequence[str]) -> Features:
    counts = Counter(
        (_class(unit, names), _class(child, names))
        for unit in units(binary)
        for child in unit.children
        if isinstance(child, Unit)
    )
    total = counts.total() or 1
    every = (*names, OTHER)
    return {f"pair_{parent}_{child}": counts[parent, child] / total for parent in every for child in every}


def _certainty(document: Document, entropy: float | None, surprisal: float | None) -> Features:
    found = list(units(require_tree(document)))
    log_p = document.log_probability
    in_nats = {"tree_surprisal": None if log_p is None else -log_p, "entropy": entropy, "surprisal": surprisal}
    return {
        "unit_probability": _mean(unit.probability for unit in found),
        "label_probability": _mean(unit.label_probability for unit in found),
        **{name: None if nats is None else nats / len(document.edus) for name, nats in in_nats.items()},
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
