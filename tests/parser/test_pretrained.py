"""Parsing with a model that has a pretrained encoder."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import genrst
from genrst.model.storage import Model, make_network, save_model
from genrst.parser.parser import Parser
from tests.model.tiny_encoders import make_pretrained, make_tokenizer
from tests.parser.samples import PIPELINE, TEXT, check, load_like
from tests.parser.samples import make_model as make_static_model
from tests.training.samples import SMALL

torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")


@pytest.fixture(scope="module", params=[("bert", "generative"), ("mpnet", "discriminative")])
def parser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parser:
    encoder, kind = request.param
    folder: Path = tmp_path_factory.mktemp("model")
    torch.manual_seed(3)
    config = replace(SMALL, kind=kind, encoder="tiny", document_size=8, direct_size=4)
    symbols = make_static_model().symbols
    network = make_network(config, symbols, make_pretrained(config, encoder))
    save_model(Model(network, symbols, make_tokenizer(encoder)), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "tiny", "pipeline": PIPELINE, "beam": 2}))
    return genrst.load(folder)


def test_raw_texts(parser: Parser):
    check(parser(TEXT), TEXT)


def test_given_edus(parser: Parser):
    document = parser.parse_edus(["It rained,", "so we stayed in."])
    assert document.tree is not None
    assert (document.tree.start, document.tree.stop) == (0, 2)


@pytest.mark.parametrize("edu", ["Rain.", "the rain " * 3000, "\ud800 rain", "\u200b.", "[SEP] <pad>"])
def test_one_edu_of_any_kind(parser: Parser, edu: str):
    document = parser.parse_edus([edu])
    assert document.tree is not None
    assert document.tree.stop == 1


def test_the_text_of_an_edu_matters_beyond_its_words(parser: Parser):
    """Words the vocabulary does not have are not alike to the encoder."""
    examples = [
        parser.search.models[0].prepare(parser.parse_edus([edu, "and nobody was hurt."]))
        for edu in ("Xylo zebu", "Quux zyzzy")
    ]
    assert examples[0].edu_words.tolist() == examples[1].edu_words.tolist()
    assert examples[0].pieces.tolist() != examples[1].pieces.tolist()


@pytest.mark.slow
def test_long_documents(parser: Parser):
    document = load_like(parser, search="greedy").parse_edus(["the ferry stopped", "because of a storm."] * 1000)
    assert document.tree is not None
    assert document.tree.stop == 2000


def test_several_documents_at_once(parser: Parser):
    items = [["It rained,", "so we stayed in."], ["Rain."], ["The ferry stopped", "because of a storm,", "he said."]]
    together = list(parser.pipe(items))
    for item, document in zip(items, together, strict=True):
        alone = parser.parse_edus(item)
        assert isinstance(document, genrst.Document)
        assert document.tree == alone.tree
