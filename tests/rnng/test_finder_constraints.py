"""Parsers that build trees step by step: what is demanded of trees, and samples of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from genrst.document import Document, Span
from genrst.encoder.model import Model
from genrst.errors import UsageError
from genrst.parser.loading import load
from genrst.parser.parser import Failure, Parser
from genrst.rnng.finder import Member, RnngFinder, make_network
from genrst.trees.constraints import Constraint, KeepWhole, frozen
from genrst.trees.node import Leaf, Tree, Unit, units
from tests.parser.samples import load_like, rnng_finder, write_chart, write_ensemble, write_parser
from tests.training.samples import SMALL

EDUS = ["It rained", "because of a storm", "and the ferry stopped .", "Nobody was hurt ,", "it rained ."]
PART = Unit("contrast", "NN", (Leaf(1), Unit("causal", "NS", (Leaf(2), Leaf(3)))))
DEMANDED = [*frozen(PART), Constraint(0, 4, is_unit=False)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in ("generative", "discriminative"):
        write_parser(folder / kind, kind=kind, has_segmenter=False)
    return write_ensemble(folder / "both", {"../generative": 1, "../discriminative": 1})


@pytest.fixture(scope="module")
def parser(folder: Path) -> Parser:
    return load(folder.parent / "generative", device="cpu")


@pytest.fixture(scope="module")
def document(parser: Parser) -> Document:
    return parser.parse_edus(EDUS)


def spans(tree: Tree | None) -> set[tuple[int, int]]:
    assert tree is not None
    return {(unit.start, unit.stop) for unit in units(tree)}


MODELS = [
    *(("generative", search) for search in ("bag", "action", "word", "greedy")),
    *(("discriminative", search) for search in ("bag", "greedy")),
    ("both", "word"),
]


@pytest.mark.parametrize(("name", "search"), MODELS)
def test_every_search_of_every_model_finds_what_is_demanded(folder: Path, document: Document, name, search):
    parser = load(folder.parent / name, device="cpu", search=search)
    free, found = parser.parse(document), parser.parse(document, DEMANDED)
    assert found.tree is not None
    assert PART in list(units(found.tree))
    assert (0, 4) not in spans(found.tree)
    together = list(parser.pipe([found, document, EDUS[:1]]))
    assert [one.tree for one in together if isinstance(one, Document)] == [found.tree, free.tree, Leaf(0)]
    assert search == "greedy" or len(parser.kbest(found, 3)) == 3


def test_contradictions_are_those_of_charts(parser: Parser, document: Document, tmp_path: Path):
    chart = load(write_chart(tmp_path / "chart"))
    for constraints in (
        [Constraint(0, 2), Constraint(1, 3)],
        [Constraint(edu, edu + 2, is_unit=False) for edu in range(4)],
        [Constraint(0, 2, relation="cause")],
        [Constraint(0, 9)],
    ):
        bad = replace(document, id="bad", constraints=tuple(constraints))
        first, second = parser.pipe([bad, document])
        assert isinstance(first, Failure)
        (expected,) = chart.pipe([bad])
        assert isinstance(expected, Failure)
        assert str(first.error) == str(expected.error)
        assert str(first.error).startswith("bad: ")
        assert isinstance(second, Document)
        assert second.tree == document.tree


def test_what_is_kept_whole(folder: Path, document: Document):
    model = folder.parent / "generative"
    wishes: list[KeepWhole | None] = [None, "nothing", "sentences"]
    parsers = {keep_whole: load(model, keep_whole=keep_whole) for keep_whole in wishes}
    trees = {keep_whole: set[Tree | None]() for keep_whole in parsers}
    for cut in (1, 3):
        place, end = document.edus[cut].start, document.edus[-1].end
        divided = replace(document, sentences=(Span(0, place), Span(place, end)))
        for keep_whole, parser in parsers.items():
            trees[keep_whole].add(parser.parse(divided).tree)
        kept = {span for span in ((0, cut), (cut, 5)) if span[1] - span[0] > 1}
        assert kept <= spans(parsers["sentences"].parse(divided).tree)
    assert trees[None] == trees["nothing"], "by default nothing is kept whole"
    assert len(trees["sentences"]) == 2


def test_samples(folder: Path, parser: Parser, document: Document):
    steps = load(folder.parent / "discriminative", device="cpu")
    exact = steps.sample(document, 4, seed=1)
    assert [one.metadata for one in exact] == [document.metadata] * 4
    weighted = parser.sample(replace(document, constraints=tuple(DEMANDED)), 4, seed=1, particles=30)
    for one in weighted:
        assert one.tree is not None
        assert PART in list(units(one.tree))
        assert 1 <= float(one.metadata["effective_sample_size"]) <= 30
    for one in [*exact, *weighted]:
        assert one.log_probability is not None
        assert one.log_probability < 0
    again = parser.sample(replace(document, constraints=tuple(DEMANDED)), 4, seed=1, particles=30)
    assert again == weighted
    laid_out = replace(SMALL, kind="discriminative", layout_size=2)
    symbols = rnng_finder(steps).members[0].model.symbols
    own = Member(Model(make_network(laid_out, symbols).eval(), symbols))
    (one,) = RnngFinder([own], rnng_finder(steps).settings).sample(document, 1, 1, 9)
    assert float(one.metadata["effective_sample_size"]) <= 9, "layout is generated, so there are weights"
    assert {one.log_probability for one in load(folder).sample(EDUS, 2, particles=5)} == {None}


def test_the_probability_of_a_sample_has_all_words_whatever_the_search(parser: Parser, document: Document):
    (one,) = parser.sample(document, 1, particles=5)
    (other,) = load_like(parser, search="greedy").sample(document, 1, particles=5)
    assert (one.tree, one.log_probability) == (other.tree, other.log_probability)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 2, "seed": -1}, {"n": 2, "seed": 1 << 63}, {"n": 2, "particles": 0}])
def test_samples_that_cannot_be_drawn(parser: Parser, wrong):
    with pytest.raises(UsageError, match=r"must be .+, got "):
        parser.sample(EDUS, **wrong)
