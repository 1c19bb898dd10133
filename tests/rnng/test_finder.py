"""The search of a parser: with several models as one, and with a pretrained encoder."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from genrst import Document, Parser, load
from genrst.encoder.model import Model, save_model
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.errors import GenrstError, UsageError
from genrst.rnng.config import make_symbols
from genrst.rnng.finder import Member, make_network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.scorer import Ensemble
from genrst.rnng.transitions.actions import ActionSet, tree_of
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer
from tests.parser.samples import (
    LABELS,
    PIPELINE,
    TEXT,
    WORDS,
    check,
    load_like,
    make_model,
    rnng_finder,
    write_ensemble,
    write_parser,
)
from tests.training.samples import SMALL

EDUS = ["It rained,", "so we stayed in.", "Nobody was hurt.", "The ferry stopped", "because of a storm."]


def write_encoded(folder: Path, **settings: object) -> Path:
    """A discriminative model with a pretrained encoder and words of its own."""
    torch.manual_seed(4)
    symbols = make_symbols(reversed(WORDS[:8]), ["ROOT", "det"], ActionSet(LABELS), min_count=1)
    config = replace(SMALL, kind="discriminative", encoder="tiny")
    network = make_network(config, symbols, make_pretrained(config))
    save_model(Model(network, symbols, make_tokenizer()), folder)
    (folder / "parser.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a pretrained encoder, one without, and both together."""
    folder = tmp_path_factory.mktemp("models")
    write_encoded(folder / "encoded")
    write_parser(folder / "static", lowercase=True, search="greedy", beam=1)
    members = {"../encoded": 2, str(folder / "static"): 0.5}
    return write_ensemble(folder / "both", members, segmenter="../static/segmenter")


@pytest.fixture(scope="module")
def both(folder: Path) -> Parser:
    return load(folder, device="cpu")


def test_trees_are_those_of_the_ensemble(both: Parser):
    assert [one.weight for one in rnng_finder(both).members] == [2.0, 0.5]
    document = both.segment(TEXT)
    scorers = [
        NetworkScorer(one.model.network, [one.prepare(document)], one.model.symbols.nucleus_is_right)
        for one in rnng_finder(both).members
    ]
    (found,) = search_beams(Ensemble(scorers, [2.0, 0.5]), BeamOptions(4, word_weight=0.5))
    actions = rnng_finder(both).members[0].model.symbols.actions
    assert both(TEXT).tree == tree_of(actions[action] for action in found.parses[0].actions)


@pytest.mark.slow
def test_an_ensemble_agrees_with_neither_model_alone(folder: Path, both: Parser):
    """Or nothing here would show that both are asked."""
    alone = [
        load(folder.parent / name, search="bag", beam=4).parse_edus(EDUS * 3).tree for name in ("encoded", "static")
    ]
    assert both.parse_edus(EDUS * 3).tree not in alone


@pytest.mark.slow
def test_every_way_in(both: Parser):
    document = both(TEXT)
    check(document, TEXT)
    assert document == both.kbest(TEXT, 3)[0]
    given = both.parse_edus(EDUS)
    assert both.parse(given) == given
    assert [one.tree for one in both.pipe([TEXT, EDUS]) if isinstance(one, Document)] == [document.tree, given.tree]
    assert len({one.tree for one in both.kbest(EDUS, 3)}) == 3


@pytest.mark.parametrize("search", ["bag", "word", "action", "greedy"])
def test_a_weighted_sum_is_no_log_probability(folder: Path, search: Any):
    document = load(folder, search=search).parse_edus(EDUS)
    assert (document.model, document.log_probability) == ("both", None)


def test_settings_are_those_of_the_ensemble_but_texts_are_read_as_in_training(both: Parser):
    assert repr(both) == "<Parser 'both': bag search, beam 4>"
    assert [one.lowercase for one in rnng_finder(both).members] == [False, True]


@pytest.mark.slow
def test_the_segmenter_is_that_of_the_ensemble(folder: Path, both: Parser, tmp_path: Path):
    own = load(folder.parent / "static", device="cpu").segment(TEXT)
    assert both.segment(TEXT).edus == own.edus
    other = load(write_ensemble(tmp_path, {str(folder.parent / "static"): 1.0}), device="cpu").segment(TEXT)
    assert other.edus == load("en", device="cpu").segment(TEXT).edus != own.edus


def test_a_model_in_memory_needs_edus(both: Parser):
    with pytest.raises(UsageError, match=r"^text: a model in memory has no segmenter; pass documents with EDUs$"):
        load_like(both)(TEXT)


@pytest.mark.parametrize("name", ["static", "encoded"])
def test_the_only_member_with_weight_one_is_that_model(folder: Path, tmp_path: Path, name: str):
    place = folder.parent / name
    ensemble = load(write_ensemble(tmp_path, {str(place): 1}))
    alone = load(place, search="bag", beam=4, pipeline=PIPELINE)
    expected = [replace(document, model="both") for document in alone.kbest(EDUS, 3)]
    assert ensemble.kbest(EDUS, 3) == expected
    assert expected[0].log_probability is not None


def test_a_model_twice_with_half_weight_is_the_model_without_log_probability(tmp_path: Path, tiny: Path):
    ensemble = load(write_ensemble(tmp_path, {str(tiny): 0.5, f"{tiny}/.": 0.5}))
    single = load(write_ensemble(tmp_path / "single", {str(tiny): 0.5}))
    expected = load(tiny).kbest(EDUS, 3)
    for parser in (ensemble, single):
        found = parser.kbest(EDUS, 3)
        assert [document.tree for document in found] == [document.tree for document in expected]
        assert {document.log_probability for document in found} == {None}


def test_members_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder beside it comes before a name, and the working folder does not count."""
    monkeypatch.setattr("genrst.parser.folders.MODELS", tmp_path / "models")
    write_parser(tmp_path / "models" / "en", has_segmenter=False, lowercase=True)
    monkeypatch.chdir(write_ensemble(tmp_path / "both", {"en": 1}).parent)
    assert [one.lowercase for one in rnng_finder(load("both")).members] == [True]
    write_parser(tmp_path / "both" / "en", has_segmenter=False)
    assert [one.lowercase for one in rnng_finder(load("both")).members] == [False]
    write_ensemble(tmp_path / "models" / "pair", {"../en": 1})
    assert load("pair").config.name == "both", "ensembles have names, too"
    write_ensemble(tmp_path / "both", {"models/en": 1})
    with pytest.raises(GenrstError, match="got 'models/en'"):
        load("both")


MEMBER_ERRORS: list[tuple[object, str]] = [
    ({"members": []}, "members: an ensemble must have 1 to 100 members, got 0"),
    ({}, "members: an ensemble must have 1 to 100 members, got 0"),
    ({"members": [{"name": "tiny"}]}, "members[0].name: unknown key; must be one of model, weight"),
    ({"members": [{"model": "nowhere"}]}, "a member must be a folder or an installed model, got 'nowhere'"),
    ({"members": [{"model": "a\0b"}]}, "a member must be a folder or an installed model, got 'a\\x00b'"),
    ({"members": [{"model": "parser.json"}]}, "a member must be a folder or an installed model, got 'parser"),
    ({"members": [{"model": "m", "weight": 0}]}, "the weight of the member 'm' must be greater than 0, got 0.0"),
    ({"members": [{"model": "m", "weight": -1}]}, "the weight of the member 'm' must be greater than 0, got -1.0"),
    (
        {"members": [{"model": "m", "weight": float("nan")}]},
        "the weight of the member 'm' must be greater than 0, got nan",
    ),
    (
        {"members": [{"model": "m", "weight": float("inf")}]},
        "the weight of the member 'm' must be greater than 0, got inf",
    ),
    ({"members": [{"model": "."}]}, "a member must not be an ensemble itself, got '.'"),
    ({"members": [{}]}, "a member must not be an ensemble itself, got ''"),
]


@pytest.mark.parametrize(("content", "message"), MEMBER_ERRORS, ids=[message for _, message in MEMBER_ERRORS])
def test_members_that_are_wrong(tmp_path: Path, content: object, message: str):
    write_ensemble(tmp_path, {})
    (tmp_path / "ensemble.json").write_text(json.dumps(content))
    with pytest.raises(GenrstError) as error:
        load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'ensemble.json'}: {message}")
    assert len(str(error.value).splitlines()) == 1


def test_circles(tmp_path: Path):
    write_ensemble(tmp_path / "a", {"../b": 1})
    write_ensemble(tmp_path / "b", {"../a": 1})
    with pytest.raises(GenrstError, match=r"a/ensemble.json: a member must not be an ensemble itself, got '../b'$"):
        load(tmp_path / "a")


def test_a_folder_without_a_model(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(GenrstError, match=r"empty: config\.json is missing; a model folder must hold"):
        load(write_ensemble(tmp_path, {"empty": 1}))


def test_weights_of_its_own(tmp_path: Path):
    write_parser(tmp_path, has_segmenter=False)
    write_ensemble(tmp_path, {"x": 1})
    with pytest.raises(GenrstError, match=r"must not have weights itself, got weights.safetensors$"):
        load(tmp_path)


def test_labels_that_differ(tmp_path: Path, tiny: Path):
    model = make_model()
    symbols = replace(model.symbols, actions=ActionSet((*LABELS[1:], LABELS[0])))
    save_model(Model(model.network, symbols), tmp_path / "other")
    with pytest.raises(GenrstError) as error:
        load(write_ensemble(tmp_path, {str(tiny): 1, "other": 1}))
    assert str(error.value) == "the models of an ensemble must have the same labels"


def encoder_of(member: Member) -> tuple[torch.dtype, torch.dtype, float]:
    """The precision of the encoder, that of the rest, and the overlap of windows."""
    network = member.model.network
    assert isinstance(network.edu_encoder, PretrainedEncoder)
    dtypes = {parameter.dtype for parameter in network.edu_encoder.encoder.parameters()}
    others = {parameter.dtype for name, parameter in network.named_parameters() if ".encoder." not in name}
    assert len(dtypes) == len(others) == 1
    return dtypes.pop(), others.pop(), network.edu_encoder.shape.overlap


def load_members(folder: Path) -> Sequence[Member]:
    return rnng_finder(load(folder, device="cpu")).members


def members_with(model: Path, folder: Path, **settings: object) -> Sequence[Member]:
    """Those of an ensemble of one model, which has these settings."""
    return load_members(write_ensemble(folder, {str(model): 1}, **settings))


@pytest.mark.parametrize("precision", ["auto", "int8", "float32", "bfloat16"])
def test_precision_and_overlap_of_encoders(folder: Path, tmp_path: Path, precision: str):
    """Whole numbers are for charts only."""
    (member,) = members_with(folder.parent / "encoded", tmp_path, encoder_precision=precision, encoder_overlap=0.25)
    expected = torch.bfloat16 if precision == "bfloat16" else torch.float32
    assert encoder_of(member) == (expected, torch.float32, 0.25)


def test_without_a_pretrained_encoder_there_is_nothing_to_change(tiny: Path, tmp_path: Path):
    for precision in ("auto", "bfloat16"):
        folder = tmp_path / precision
        (member,) = members_with(tiny, folder, encoder_precision=precision, encoder_overlap=0.25)
        assert {parameter.dtype for parameter in member.model.network.parameters()} == {torch.float32}


def test_encoders_of_an_ensemble_are_set_one_by_one_or_for_all(tmp_path: Path):
    write_encoded(tmp_path / "one", encoder_precision="bfloat16", encoder_overlap=0.125)
    write_encoded(tmp_path / "two")
    of_their_own, for_all = (
        [encoder_of(one) for one in load_members(write_ensemble(tmp_path, {"one": 1, "two": 1}, **settings))]
        for settings in ({}, {"encoder_precision": "float32", "encoder_overlap": 0.0})
    )
    assert of_their_own == [(torch.bfloat16, torch.float32, 0.125), (torch.float32, torch.float32, 0.5)]
    assert for_all == [(torch.float32, torch.float32, 0.0)] * 2


@pytest.fixture(scope="module", params=[("bert", "generative"), ("mpnet", "discriminative")])
def encoded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parser:
    encoder, kind = request.param
    folder: Path = tmp_path_factory.mktemp("model")
    torch.manual_seed(3)
    config = replace(SMALL, kind=kind, encoder="tiny", document_size=8, direct_size=4)
    symbols = make_model().symbols
    network = make_network(config, symbols, make_pretrained(config, encoder))
    save_model(Model(network, symbols, make_tokenizer(encoder)), folder)
    (folder / "parser.json").write_text(json.dumps({"name": "tiny", "pipeline": PIPELINE, "beam": 2}))
    return load(folder)


def test_raw_texts_with_a_pretrained_encoder(encoded: Parser):
    check(encoded(TEXT), TEXT)


@pytest.mark.slow
@pytest.mark.parametrize("edu", ["Rain.", "the rain " * 3000, "\ud800 rain", "\u200b.", "[SEP] <pad>"])
def test_one_edu_of_any_kind(encoded: Parser, edu: str):
    document = encoded.parse_edus([edu])
    assert document.tree is not None
    assert document.tree.stop == 1


def test_the_text_of_an_edu_matters_beyond_its_words(encoded: Parser):
    """Words the vocabulary does not have are not alike to the encoder."""
    examples = [
        rnng_finder(encoded).members[0].prepare(encoded.parse_edus([edu, "and nobody was hurt."]))
        for edu in ("Xylo zebu", "Quux zyzzy")
    ]
    assert examples[0].edu_words.tolist() == examples[1].edu_words.tolist()
    assert examples[0].pieces.tolist() != examples[1].pieces.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* fills the stack of")
def test_long_documents(encoded: Parser):
    document = load_like(encoded, search="greedy").parse_edus(["the ferry stopped", "because of a storm."] * 200)
    assert document.tree is not None
    assert document.tree.stop == 400


def test_several_documents_at_once(encoded: Parser):
    items = [["It rained,", "so we stayed in."], ["Rain."], ["The ferry stopped", "because of a storm,", "he said."]]
    together = list(encoded.pipe(items))
    for item, document in zip(items, together, strict=True):
        alone = encoded.parse_edus(item)
        assert isinstance(document, Document)
        assert document.tree == alone.tree
