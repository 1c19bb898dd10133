"""Documents to score: from the JSON pairs, from random words, and by hand."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.evaluation.counts import Counts
from genrst.trees.node import Leaf, Tree, Unit
from tests.strategies import binary_trees, nary_trees

PAIRS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "pairs.json").read_text("utf-8"))


def document_from_json(value: dict[str, Any]) -> Document:
    edus = tuple(Span(edu["start"], edu["end"]) for edu in value["edus"])
    return Document(value["id"], value["text"], edus, _tree_from_json(value["tree"]))


def _tree_from_json(value: dict[str, Any]) -> Tree:
    if "edu" in value:
        return Leaf(value["edu"])
    return Unit(value["relation"], value["nuclearity"], tuple(map(_tree_from_json, value["children"])))


def as_tuple(counts: Counts) -> tuple[int, int, int]:
    return counts.tp, counts.n_gold, counts.n_pred


def chain(relation: str, nuclearity: str, n_edus: int) -> Tree:
    """A right-branching tree."""
    tree: Tree = Leaf(n_edus - 1)
    for edu in reversed(range(n_edus - 1)):
        tree = Unit(relation, nuclearity, (Leaf(edu), tree))
    return tree


@dataclass(frozen=True)
class WordPair:
    """Two analyses of the same words; EDUs, sentences and paragraphs also as ranges of words."""

    gold: Document
    predicted: Document
    gold_edus: list[range]
    predicted_edus: list[range]
    sentences: list[range]
    paragraphs: list[range]


SPACES = st.sampled_from([" ", "  ", "\n", "\t ", "\u00a0"])


@st.composite
def word_pairs(draw: st.DrawFn, same_edus: bool = False, binary: bool = False, max_words: int = 14) -> WordPair:
    """Gold text in plain spacing; predicted text with wild spacing, also inside words and at the edges of EDUs."""
    words = draw(st.lists(st.sampled_from(["a", "bc", "d.", "“e”", "fgh"]), min_size=1, max_size=max_words))
    gold_edus = draw(ranges(len(words)))
    predicted_edus = gold_edus if same_edus else draw(ranges(len(words)))
    sentences, paragraphs = draw(ranges(len(words))), draw(ranges(len(words)))
    gold_text, gold_places = " ".join(words), _places(words, " ", inner="")
    space, inner = draw(SPACES), draw(st.sampled_from(["", " "]))
    predicted_text = space.join(inner.join(word) for word in words) + space
    predicted_places = _places(words, space, inner)
    trees = binary_trees if binary else nary_trees
    gold = Document(
        "random",
        gold_text,
        _spans(gold_edus, gold_places, 0),
        draw(trees(len(gold_edus), len(gold_edus))),
        sentences=_spans(sentences, gold_places, 0),
        paragraphs=_spans(paragraphs, gold_places, 0),
    )
    predicted = Document(
        "random",
        predicted_text,
        _spans(predicted_edus, predicted_places, draw(st.sampled_from([0, len(space)]))),
        draw(trees(len(predicted_edus), len(predicted_edus))),
    )
    return WordPair(gold, predicted, gold_edus, predicted_edus, sentences, paragraphs)


@st.composite
def ranges(draw: st.DrawFn, n_words: int) -> list[range]:
    """The words divided into pieces at random."""
    cuts = draw(st.sets(st.integers(1, n_words - 1))) if n_words > 1 else set()
    return [range(start, stop) for start, stop in pairwise([0, *sorted(cuts), n_words])]


def _places(words: list[str], space: str, inner: str) -> list[tuple[int, int]]:
    places, offset = [], 0
    for word in words:
        end = offset + len(inner.join(word))
        places.append((offset, end))
        offset = end + len(space)
    return places


def _spans(pieces: list[range], places: list[tuple[int, int]], extra: int) -> tuple[Span, ...]:
    return tuple(Span(places[piece.start][0], places[piece.stop - 1][1] + extra) for piece in pieces)
