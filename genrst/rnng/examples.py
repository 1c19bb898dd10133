"""Encode documents as numbers: words with masked entities, syntax and gold actions (section 5.1 of the paper).

An example holds everything that the network needs of a document, without the text or spaCy. A named entity becomes a
single word, its type (`<ORG>`), so that a model never sees names.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from genrst.document import Document
from genrst.encoder.tokenizer import IntArray, PieceTokenizer, join_edus
from genrst.errors import TreeError, UnknownLabelError
from genrst.rnng.config import UNK_ID, Symbols
from genrst.rnng.transitions.actions import actions_of
from genrst.rnng.transitions.features import Syntax
from genrst.text.layout import edu_kinds
from genrst.trees.node import Tree


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)


SYNTAX_COLUMNS = ("heads", "deprels", "edu_tokens", "sentences", "paragraphs", "kinds")
COLUMNS = ("edu_words", "edu_lengths", "token_words", "actions", "pieces", "piece_lengths")


@dataclass(frozen=True, slots=True)
class Example:
    """The words and the syntax of a document, and its gold actions if it has a tree."""

    id: str
    edu_words: IntArray
    """The words of all EDUs, concatenated."""
    edu_lengths: IntArray
    token_words: IntArray
    """The word of every token, for features. All tokens of an entity have its type."""
    syntax: Syntax
    actions: tuple[int, ...] = ()
    pieces: IntArray = field(default_factory=_nothing)
    """The word pieces of all EDUs, concatenated, if the model has a pretrained encoder."""
    piece_lengths: IntArray = field(default_factory=_nothing)

    @property
    def n_edus(self) -> int:
        """The number of EDUs."""
        return len(self.edu_lengths)

    @property
    def sentences(self) -> Sequence[int]:
        """The number of each EDU's sentence."""
        return self.syntax.sentences

    @property
    def paragraphs(self) -> Sequence[int]:
        """The number of each EDU's paragraph."""
        return self.syntax.paragraphs

    def as_columns(self) -> dict[str, NDArray[np.int32]]:
        """Return all fields except the id as arrays."""
        own = {name: np.asarray(getattr(self, name), dtype=np.int32) for name in COLUMNS}
        return own | {name: np.asarray(getattr(self.syntax, name), dtype=np.int32) for name in SYNTAX_COLUMNS}

    @classmethod
    def from_columns(cls, id: str, columns: Mapping[str, NDArray[np.int32]]) -> "Example":
        """Build an example from the arrays that `as_columns` returns."""
        own = {name: columns[name].astype(np.int64) for name in COLUMNS if name != "actions"}
        syntax = Syntax(**{name: columns[name].tolist() for name in SYNTAX_COLUMNS})
        return cls(id, syntax=syntax, actions=tuple(columns["actions"].tolist()), **own)


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """The words of a document after masking."""

    edus: list[list[str]]
    """The words of each EDU. An entity is one word."""
    tokens: list[str]
    """The word of each token. Every token of an entity has its type."""
    edu_tokens: list[int]
    """The first token of each EDU, and the number of tokens at the end."""


def mask_entities(document: Document, lowercase: bool = False) -> MaskedWords:
    """Replace entities with their types. An entity that crosses the border of an EDU is masked on both sides."""
    if document.text is None or not document.tokens:
        raise TreeError(f"{document.id}: the document must have a text and tokens; annotate it first")
    starts = [token.start for token in document.tokens]
    entity_of = [-1] * len(starts)
    # Outer entities are written last, so that they overwrite inner ones.
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
    """Return the words of an EDU, with a single word for the tokens of an entity."""
    return [
        words[token]
        for token in range(start, stop)
        if token == start or entity_of[token] < 0 or entity_of[token] != entity_of[token - 1]
    ]


def prepare(
    document: Document,
    symbols: Symbols,
    tree: Tree | None = None,
    lowercase: bool = False,
    tokenizer: PieceTokenizer | None = None,
) -> Example:
    """Encode a document as numbers. If its gold actions are needed, `tree` is its prepared tree.

    `tokenizer` is that of the model's pretrained encoder, if it has one. The encoder reads the text unmasked.
    """
    actions = () if tree is None else _gold_actions(tree, symbols, document.id)
    pieces = join_edus(tokenizer(document.edu_texts) if tokenizer else [])
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
        *join_edus(edus),
        np.array(symbols.words.numbers(masked.tokens), dtype=np.int64),
        syntax,
        actions,
        *pieces,
    )


def _gold_actions(tree: Tree, symbols: Symbols, id: str) -> tuple[int, ...]:
    numbers = symbols.actions.numbers()
    numbered = []
    for action in actions_of(tree):
        if action not in numbers:
            raise UnknownLabelError(action, id)
        numbered.append(numbers[action])
    return tuple(numbered)
