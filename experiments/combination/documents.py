"""The documents that combinations are compared on, as every model reads them: of a corpus, or of prepared features."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.paper_tables.data import Split, load_dev, make_split
from experiments.translation import make_translation
from genrst.document import Document
from genrst.model.examples import Example
from genrst.model.schedule import IntArray
from genrst.parser.search import WeightedModel
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline
from genrst.training.data import load_prepared
from genrst.trees.node import units
from genrst.trees.relations import detect_inventory


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents with gold trees."""

    split: Split
    read: Sequence[Sequence[Example]]
    """The documents as numbers of each model."""
    actions: IntArray
    """What number each action of the models has in the split."""

    @property
    def n_edus(self) -> int:
        """The EDUs of all documents."""
        return sum(example.n_edus for example in self.split.examples)

    def translate(self, actions: Sequence[int]) -> tuple[int, ...]:
        """A computation of the models in numbers of the split."""
        return tuple(self.actions[list(actions)].tolist())


def read_corpus(gold: Sequence[Document], pipeline: str | None, members: Sequence[WeightedModel]) -> Documents:
    """Documents with gold EDUs, tokens and sentences; the rest is spaCy's."""
    trees = [document.tree for document in gold if document.tree is not None]
    inventory = detect_inventory(unit.relation for tree in trees for unit in units(tree))
    annotated = list(annotate(gold, load_pipeline(pipeline)))
    symbols = members[0].model.symbols
    read = [[member.prepare(document) for document in annotated] for member in members]
    return Documents(make_split("gold", annotated, symbols, inventory), read, np.arange(len(symbols.actions)))


def read_prepared(file: Path, n_documents: int | None, members: Sequence[WeightedModel]) -> Documents:
    """The first dev documents of prepared features, or all; models may number symbols in another way."""
    prepared = load_prepared(file)
    split = load_dev(prepared).first(n_documents)
    translations = [make_translation(prepared, member.model) for member in members]
    read = [[translation.to_model(example) for example in split.examples] for translation in translations]
    return Documents(split, read, translations[0].actions)
