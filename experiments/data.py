"""Prepared documents for training and comparing models, from a corpus or from a file of features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from genrst.document import Document
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import TreeError, UsageError
from genrst.evaluation.report import Evaluation
from genrst.rnng.config import Symbols
from genrst.rnng.examples import Example, prepare
from genrst.rnng.learning import evaluate_parses
from genrst.rnng.transitions.actions import ActionSet
from genrst.training.data import annotate_as_configured, open_split, prepare_data
from genrst.training.kinds import TaskKind, kind_of
from genrst.training.prepared import Prepared, load_prepared
from genrst.training.run_config import DataConfig, RunConfig
from genrst.trees.binarise import prepare_tree
from genrst.trees.node import Tree
from genrst.trees.relations import load_inventory


@dataclass(frozen=True)
class Split:
    """Documents for comparing searches, with the symbols of their gold trees."""

    name: str
    examples: Sequence[Example]
    symbols: Symbols
    """The symbols of the models, followed by labels that occur only in gold trees of this split."""

    def first(self, n: int | None) -> "Split":
        """Return the first n documents as a split with another name, or all if n is None."""
        return self if n is None else Split(f"{self.name}-first-{n}", self.examples[:n], self.symbols)

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the documents."""
        return tuple(example.id for example in self.examples)

    def evaluate(self, derivations: Sequence[Sequence[int]]) -> Evaluation:
        """Evaluate trees, given as their actions, against the gold trees, also by level."""
        return evaluate_parses(self.examples, derivations, self.symbols)


def load_features(configs: Sequence[RunConfig], file: Path | None, cache: Path) -> Prepared:
    """Load the train and dev features that all models share, from a file or from the corpus."""
    if file is not None:
        return read_features(file, "rnng")
    return prepare_data(shared_source(configs), cache)[0]


def read_features(file: Path, kind: TaskKind) -> Prepared:
    """Read prepared features from a file, which must be for this kind of model."""
    prepared = load_prepared(file)
    if prepared.kind != kind:
        wanted = "charts" if kind == "chart" else "models that build trees step by step"
        raise UsageError(f"{file}: these features were prepared for another kind of model, not for {wanted}")
    return prepared


def shared_source(configs: Sequence[RunConfig]) -> RunConfig:
    """Return the configuration for preparing features that several models share.

    A configuration with an encoder is preferred, because models without one ignore word pieces.
    """
    encoders = {config.model.encoder for config in configs} - {None}
    sources = {(config.data, kind_of(config.model)) for config in configs}
    if len(sources) > 1 or len(encoders) > 1:
        raise UsageError("all models must have the same data and encoder, because they share features")
    return next((config for config in configs if config.model.encoder is not None), configs[0])


def load_dev(prepared: Prepared) -> Split:
    """Return the dev documents."""
    return Split("dev", prepared.dev, prepared.symbols)


def load_test(config: DataConfig, prepared: Prepared) -> Split:
    """Load the test documents of the corpus, prepared with the symbols of the models."""
    documents = list(open_split(config, "test"))
    inventory = load_inventory(prepared.notes["inventory"])
    trees = [prepare_tree(_gold_tree(document), inventory) for document in documents]
    known = prepared.symbols.actions.labels
    unseen = [label for label in ActionSet.from_trees(trees).labels if label not in known]
    symbols = replace(prepared.symbols, actions=ActionSet((*known, *unseen)))
    tokenizer = None if prepared.tokenizer is None else PieceTokenizer(prepared.tokenizer)
    pairs = zip(annotate_as_configured(documents, config), trees, strict=True)
    return Split("test", [prepare(one, symbols, tree, config.lowercase, tokenizer) for one, tree in pairs], symbols)


def _gold_tree(document: Document) -> Tree:
    if document.tree is None:
        raise TreeError(f"{document.id}: the document has no gold tree to evaluate against")
    return document.tree
