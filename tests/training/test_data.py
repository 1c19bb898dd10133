"""Prepared features of a corpus whose splits differ."""

from dataclasses import replace

from genrst.document import Document
from genrst.training.data import _prepare
from genrst.training.run_config import DataConfig
from genrst.trees.node import relabel
from tests.encoder.tiny_encoders import make_tokenizer
from tests.training.samples import make_document


def with_relation(document: Document, relation: str) -> Document:
    assert document.tree is not None
    return replace(document, tree=relabel(document.tree, lambda _: relation))


def test_a_chart_knows_fine_relations_of_dev_only_by_their_class():
    train, dev = (with_relation(make_document(0), f"context-{name}") for name in ("circumstance", "background"))
    found = _prepare(DataConfig(), "chart", [train], [dev], [], make_tokenizer("mpnet"))
    (example,) = found.dev
    assert example.units is not None
    assert {found.symbols.name(number)[0] for number in example.units[:, 3]} == {"context"}
