"""Documents to numbers: entity masking, words, syntax and gold actions (section 5.1 of the paper).

Named entities become their type (`<ORG>`), one word however many tokens they have; a model never sees the names.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from genrst.corpora.document import Document
from genrst.errors import TreeError, UnknownLabelError
from genrst.model.example import Example
from genrst.model.piece_tokenizer import PieceTokenizer
from genrst.model.schedule import IntArray
from genrst.model.symbols import Symbols
from genrst.model.vocabulary import UNK_ID
from genrst.transitions.features import Syntax
from genrst.transitions.layout import Kind
from genrst.transitions.oracle import actions_of
from genrst.trees.binarise import binarise
from genrst.trees.node import Tree, relabel
from genrst.trees.relations import Inventory

_PARAGRAPH_KINDS = {"head": Kind.HEADING, "item": Kind.ITEM}


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """The words of a document after masking."""

    edus: list[list[str]]
    """The words of each EDU; an entity is one word."""
    tokens: list[str]
    """The word of each token; every token of an entity has its type."""
    edu_tokens: list[int]
    """The first token of each EDU, and the number of tokens."""


def mask_entities(document: Document, lowercase: bool = False) -> MaskedWords:
    """Replace entities by their types. An entity that crosses the border of an EDU is masked on both sides."""
    if document.text is None or not document.tokens:
        raise TreeError(f"{document.id}: a document must have text and tokens to be prepared; annotate it first")
    starts = [token.start for token in document.tokens]
    entity_of = [-1] * len(starts)
    # Outer entities are written last, so that an inner one never shows inside.
    entities = sorted(document.entities, key=lambda entity: (entity.start, -entity.end))
    for number, entity in reversed(list(enumerate(entities))):
        for token in range(bisect_left(starts, entity.start), bisect_left(starts, entity.end)):
            entity_of[token] = number
    words = [document.text[token.start : token.end] for token in document.tokens]
    if lowercase:
        words = [word.lower() for word in words]
    words = [
        word if entity < 0 else f"<{entities[entity].label}>" for word, entity in zip(words, entity_of, strict=True)
    ]
    edu_tokens = [bisect_left(starts, edu.start) for edu in document.edus]
    edu_tokens[0] = 0
    edu_tokens.append(len(starts))
    edus = [_merge(words, entity_of, start, stop) for start, stop in pairwise(edu_tokens)]
    return MaskedWords(edus, words, edu_tokens)


def _merge(words: Sequence[str], entity_of: Sequence[int], start: int, stop: int) -> list[str]:
    """The words of an EDU, with one word for the tokens of an entity."""
    return [
        words[token]
        for token in range(start, stop)
        if token == start or entity_of[token] < 0 or entity_of[token] != entity_of[token - 1]
    ]


def prepare_tree(tree: Tree, inventory: Inventory) -> Tree:
    """The tree as models see it: coarse relations, binary."""
    return binarise(relabel(tree, inventory.coarse))


def prepare(
    document: Document,
    symbols: Symbols,
    tree: Tree | None = None,
    lowercase: bool = False,
    tokenizer: PieceTokenizer | None = None,
) -> Example:
    """A document as numbers; `tree` is its prepared tree, if its gold actions are wanted.

    `tokenizer` is that of the model's pretrained encoder, if it has one. The encoder sees texts as they are.
    """
    masked = mask_entities(document, lowercase)
    edus = [symbols.words.numbers(words) or [UNK_ID] for words in masked.edus]
    syntax = Syntax(
        [token.head for token in document.tokens],
        symbols.deprels.numbers([token.deprel for token in document.tokens]),
        masked.edu_tokens,
        document.sentence_of_edus(),
        document.paragraph_of_edus(),
        edu_kinds(document),
    )
    return Example(
        document.id,
        *_join(edus),
        np.array(symbols.words.numbers(masked.tokens), dtype=np.int64),
        syntax,
        () if tree is None else _gold_actions(tree, symbols, document.id),
        *_join(tokenizer(_edu_texts(document)) if tokenizer else []),
    )


def edu_kinds(document: Document) -> list[int]:
    """What each EDU begins, as `Kind`: by sentences and paragraphs, by what paragraphs are, and by who speaks."""
    sentences, paragraphs = document.sentence_of_edus(), document.paragraph_of_edus()
    labels = [span.label for span in document.paragraphs] or [""]
    speakers = [span.label for span in document.sentences] or [""]
    found = [_PARAGRAPH_KINDS.get(labels[paragraphs[0]], Kind.PARAGRAPH)]
    for edu in range(1, len(document.edus)):
        before, now = speakers[sentences[edu - 1]], speakers[sentences[edu]]
        if paragraphs[edu] != paragraphs[edu - 1]:
            other = Kind.TURN if now and now != before else Kind.PARAGRAPH
            found.append(_PARAGRAPH_KINDS.get(labels[paragraphs[edu]], other))
        elif sentences[edu] != sentences[edu - 1]:
            found.append(Kind.TURN if before and now and now != before else Kind.SENTENCE)
        else:
            found.append(Kind.NOTHING)
    return [int(kind) for kind in found]


def _edu_texts(document: Document) -> list[str]:
    return [(document.text or "")[edu.start : edu.end] for edu in document.edus]


def _join(edus: list[list[int]]) -> tuple[IntArray, IntArray]:
    """The numbers of all EDUs, one after the other, and how many each has."""
    numbers = np.array([number for edu in edus for number in edu], dtype=np.int64)
    return numbers, np.array([len(edu) for edu in edus], dtype=np.int64)


def _gold_actions(tree: Tree, symbols: Symbols, id: str) -> tuple[int, ...]:
    numbers = symbols.actions.numbers()
    numbered = []
    for action in actions_of(tree):
        if action not in numbers:
            raise UnknownLabelError(action, id)
        numbered.append(numbers[action])
    return tuple(numbered)
