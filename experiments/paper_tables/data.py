"""The documents that models are trained and compared on, as numbers: from a corpus, or from a file of features."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from genrst.apps.preparation import prepare_data
from genrst.corpora.corpus import load_corpus
from genrst.corpora.document import Document, Span
from genrst.errors import TreeError, UsageError
from genrst.evaluation.evaluate import evaluate
from genrst.evaluation.report import Evaluation
from genrst.model.example import Example
from genrst.model.piece_tokenizer import PieceTokenizer
from genrst.model.prepare import prepare, prepare_tree
from genrst.model.symbols import Symbols
from genrst.training.config import DataConfig, RunConfig
from genrst.training.prepared import Prepared, load_prepared
from genrst.transitions.actions import ActionSet
from genrst.transitions.oracle import tree_of
from genrst.trees.node import Tree
from genrst.trees.relations import OPEN, load_inventory


@dataclass(frozen=True)
class Split:
    """Documents that searches are compared on, and the symbols of their gold trees."""

    name: str
    examples: Sequence[Example]
    symbols: Symbols
    """Those of the models; labels that only gold trees of this split have come after all others."""

    def first(self, n: int | None) -> "Split":
        """The first documents alone, under another name; all if no number is given."""
        return self if n is None else Split(f"{self.name}-first-{n}", self.examples[:n], self.symbols)

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the documents."""
        return tuple(example.id for example in self.examples)

    def evaluate(self, computations: Sequence[Sequence[int]]) -> Evaluation:
        """The trees of some computations against the gold ones, also level by level."""
        gold = list(self._documents([example.actions for example in self.examples]))
        return evaluate(gold, list(self._documents(computations)), labels="fine", inventory=OPEN)

    def _documents(self, computations: Sequence[Sequence[int]]) -> Iterator[Document]:
        """Documents without text: an EDU is a character, and a space follows it."""
        for example, actions in zip(self.examples, computations, strict=True):
            edus = tuple(Span(2 * edu, 2 * edu + 1) for edu in range(example.n_edus))
            tree = tree_of(self.symbols.actions[action] for action in actions)
            sentences, paragraphs = (_spans(part) for part in (example.syntax.sentences, example.syntax.paragraphs))
            yield Document(example.id, None, edus, tree, sentences=sentences, paragraphs=paragraphs)


def _spans(numbers: Sequence[int]) -> tuple[Span, ...]:
    """Sentences or paragraphs, from the number of that in which each EDU lies."""
    starts = [edu for edu in range(len(numbers)) if edu == 0 or numbers[edu] != numbers[edu - 1]]
    return tuple(Span(2 * start, 2 * stop - 1) for start, stop in pairwise([*starts, len(numbers)]))


def load_features(configs: Sequence[RunConfig], file: Path | None, cache: Path) -> Prepared:
    """The features of train and dev that all models share: those of a file, or of the corpus."""
    if file is not None:
        return load_prepared(file)
    first, *others = [(config.data, config.model.encoder) for config in configs]
    if any(other != first for other in others):
        raise UsageError("all models must have the same data and encoder, for they share features")
    data, encoder = first
    return prepare_data(data, cache, encoder)[0]


def load_dev(prepared: Prepared) -> Split:
    """The development documents."""
    return Split("dev", prepared.dev, prepared.symbols)


def load_test(config: DataConfig, prepared: Prepared) -> Split:
    """The test documents of the corpus, as numbers of the symbols that the models know."""
    inventory = load_inventory(prepared.notes["inventory"])
    documents = list(load_corpus(config.path, config.corpus, "test", version=config.gum_version))
    trees = [prepare_tree(_tree(document), inventory) for document in documents]
    symbols = _with_labels(prepared.symbols, trees)
    tokenizer = None if prepared.tokenizer is None else PieceTokenizer(prepared.tokenizer)
    examples = [
        prepare(document, symbols, tree, config.lowercase, tokenizer)
        for document, tree in zip(_annotate(documents, config), trees, strict=True)
    ]
    return Split("test", examples, symbols)


def _tree(document: Document) -> Tree:
    if document.tree is None:
        raise TreeError(f"{document.id}: a document must have a tree to evaluate on")
    return document.tree


def _with_labels(symbols: Symbols, trees: Sequence[Tree]) -> Symbols:
    known = symbols.actions.labels
    unseen = [label for label in ActionSet.from_trees(trees).labels if label not in known]
    return dataclasses.replace(symbols, actions=ActionSet((*known, *unseen)))


def _annotate(documents: Sequence[Document], config: DataConfig) -> list[Document]:
    """As training documents are annotated."""
    from genrst.text.annotate import annotate
    from genrst.text.pipeline import load_pipeline

    annotated = list(annotate(documents, load_pipeline(config.pipeline)))
    if config.syntax == "spacy":
        return annotated
    pairs = zip(documents, annotated, strict=True)
    return [dataclasses.replace(own, entities=found.entities) for own, found in pairs]
