"""The card of a trained model: what it is, what it was trained on, and how relations were mapped to classes."""

from collections.abc import Mapping
from typing import Any

from genrst.characters import inert
from genrst.training.run_config import RunConfig
from genrst.training.trainer import Record
from genrst.trees.relations import describe_classes
from genrst.version import VERSION

HEAD = """\
---
language: en
library_name: genrst
tags:
- discourse-parsing
- rhetorical-structure-theory
---
"""
"""The metadata that Hugging Face reads."""


def make_card(config: RunConfig, seed: int, record: Record, notes: Mapping[str, Any]) -> str:
    """Return a card in Markdown; `notes` are those of the prepared features."""
    scores = ", ".join(f"{aspect} {score:.1f}" for aspect, score in record.dev_scores.items())
    silver = f" and, with automatic trees, on {inert(config.data.silver)}" if config.data.silver else ""
    return f"""{HEAD}
# A {config.model.kind} parser

Trained with genrst {VERSION} on {inert(config.data.path)}{silver}: seed {seed}, epoch {record.epoch}.
Parseval F1 on dev: {scores}.

{_segmentation(config)}

## Relations

{inert(describe_classes(notes["relations"]))}
"""


def _segmentation(config: RunConfig) -> str:
    if config.model.kind == "chart":
        return "It segments raw text into EDUs itself."
    return "Raw text is segmented by `en` unless `parser.json` names another chart parser."
