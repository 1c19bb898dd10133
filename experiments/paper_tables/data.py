"""The documents that models are trained and compared on, as numbers: from a corpus, or from a file of features."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import TreeError, UsageError
from genrst.evaluation.report import Evaluation
from genrst.model.encoder.files import PieceTokenizer
from genrst.model.examples import Example, prepare, prepare_tree
from genrst.model.symbols import Symbols
from genrst.training.data import Prepared, annotate_as_configured, load_prepared, prepare_data
from genrst.training.dev import evaluate_parses
from genrst.training.run_config import DataConfig, RunConfig
from genrst.transitions.actions import ActionSet
from genrst.trees.node import Tree
from genrst.trees.relations import Inventory, load_inventory


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
        return evaluate_parses(self.examples, computations, self.symbols)


def load_features(configs: Sequence[RunConfig], file: Path | None, cache: Path) -> Prepared:
    """The features of train and dev that all models share: those of a file, or of the corpus."""
    if file is not None:
        return load_prepared(file)
    data, encoder = shared_source(configs)
    return prepare_data(data, cache, encoder)[0]


def shared_source(configs: Sequence[RunConfig]) -> tuple[DataConfig, str | None]:
    """The data and the encoder of models that share features; one without an encoder does not look at word pieces."""
    encoders = {config.model.encoder for config in configs} - {None}
    if len({config.data for config in configs}) > 1 or len(encoders) > 1:
        raise UsageError("all models must have the same data and encoder, for they share features")
    return configs[0].data, next(iter(encoders), None)


def load_dev(prepared: Prepared) -> Split:
    """The development documents."""
    return Split("dev", prepared.dev, prepared.symbols)


def load_test(config: DataConfig, prepared: Prepared) -> Split:
    """The test documents of the corpus, as numbers of the symbols that the models know."""
    inventory = load_inventory(prepared.notes["inventory"])
    documents = list(load_corpus(config.path, config.corpus, "test", version=config.gum_version))
    tokenizer = None if prepared.tokenizer is None else PieceTokenizer(prepared.tokenizer)
    annotated = annotate_as_configured(documents, config)
    return make_split("test", annotated, prepared.symbols, inventory, config.lowercase, tokenizer)


def make_split(
    name: str,
    documents: Sequence[Document],
    symbols: Symbols,
    inventory: Inventory,
    lowercase: bool = False,
    tokenizer: PieceTokenizer | None = None,
) -> Split:
    """Annotated documents with trees as numbers of symbols that models know."""
    trees = [prepare_tree(_tree(document), inventory) for document in documents]
    symbols = _with_labels(symbols, trees)
    pairs = zip(documents, trees, strict=True)
    return Split(name, [prepare(document, symbols, tree, lowercase, tokenizer) for document, tree in pairs], symbols)


def _tree(document: Document) -> Tree:
    if document.tree is None:
        raise TreeError(f"{document.id}: a document must have a tree to evaluate on")
    return document.tree


def _with_labels(symbols: Symbols, trees: Sequence[Tree]) -> Symbols:
    known = symbols.actions.labels
    unseen = [label for label in ActionSet.from_trees(trees).labels if label not in known]
    return dataclasses.replace(symbols, actions=ActionSet((*known, *unseen)))
