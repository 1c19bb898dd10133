"""Parsers with charts: trees, constraints, distributions, settings that fit and that do not."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.document import Document, Span
from genrst.errors import ConfigError, UsageError
from genrst.parser.folders import describe_model
from genrst.parser.loading import load
from genrst.parser.parser import Failure, Parser
from genrst.trees.constraints import Constraint, KeepWhole, frozen
from genrst.trees.node import Leaf, Unit, units
from tests.parser.samples import TEXT, write_chart, write_ensemble, write_parser, write_reading_chart

EDUS = ["It rained", "because of a storm", "and the ferry stopped .", "Nobody was hurt ,", "it rained ."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chart(tmp_path_factory.mktemp("models") / "chart")


@pytest.fixture(scope="module")
def parser(folder: Path) -> Parser:
    return load(folder, device="cpu")


@pytest.fixture(scope="module")
def document(parser: Parser) -> Document:
    """A document of two sentences."""
    given = Document.from_edus("text", EDUS)
    edges = [given.edus[edu] for edu in (0, 3)], [given.edus[edu] for edu in (2, 4)]
    sentences = tuple(Span(first.start, last.end) for first, last in zip(*edges, strict=True))
    return parser.parse(replace(given, sentences=sentences))


def test_a_text_gets_a_tree_with_probabilities(parser: Parser):
    document = parser(TEXT)
    assert document.tree is not None
    assert all(len(unit.children) == 2 for unit in units(document.tree))
    assert document.model == "chart"
    assert all(unit.probability is not None and 0 < unit.probability <= 1 for unit in units(document.tree))
    assert document.log_probability is not None
    assert document.log_probability < 0
    numbers = document.sentence_of_edus()
    spans = {(unit.start, unit.stop) for unit in units(document.tree)}
    for sentence in set(numbers):
        own = [edu for edu, number in enumerate(numbers) if number == sentence]
        assert len(own) == 1 or (own[0], own[-1] + 1) in spans, "sentences are whole"


def test_batches_change_nothing(parser: Parser, document: Document):
    found = list(parser.pipe([EDUS[:1], replace(document, tree=None), EDUS[:2], EDUS * 3]))
    assert all(isinstance(one, Document) for one in found)
    assert isinstance(found[1], Document)
    assert found[1].tree == document.tree


def test_constraints_of_a_call_and_of_a_document(parser: Parser, document: Document):
    wanted = Constraint(1, 4, True, "contrast", "NN")
    for found in (parser.parse(document, [wanted]), parser.parse(replace(document, constraints=(wanted,)))):
        assert found.tree is not None
        (unit,) = [unit for unit in units(found.tree) if (unit.start, unit.stop) == (1, 4)]
        assert (unit.relation, unit.nuclearity) == ("contrast", "NN")
        assert unit.probability == pytest.approx(1)
        assert found.constraints == (wanted,)
    assert parser.parse(replace(document, constraints=(wanted,)), []).tree == document.tree


def test_a_frozen_part_stays_and_the_rest_is_parsed_around_it(parser: Parser, document: Document):
    part = Unit("contrast", "NN", (Leaf(3), Leaf(4)))
    found = parser.parse(document, [*frozen(part), Constraint(0, 2, is_unit=False)]).tree
    assert found is not None
    assert part in list(units(found))
    assert (0, 2) not in [(unit.start, unit.stop) for unit in units(found)]


def test_a_contradiction_names_the_document_and_stops_no_other(parser: Parser, document: Document):
    bad = replace(document, id="bad", constraints=(Constraint(0, 2), Constraint(1, 3)))
    first, second = parser.pipe([bad, document])
    assert isinstance(first, Failure)
    line = r'bad: units must not cross, got {"edus": [0, 2]} and {"edus": [1, 3]}'
    assert str(first.error) == line
    assert isinstance(second, Document)
    none_left = replace(document, id="none", constraints=tuple(Constraint(i, i + 2, is_unit=False) for i in range(4)))
    with pytest.raises(UsageError, match=r"none: no tree is possible without the units \[0, 2\]"):
        parser.parse(none_left)


def test_what_is_kept_whole_can_be_chosen(folder: Path, document: Document):
    crossing = Constraint(2, 4)
    kinds: tuple[KeepWhole, ...] = ("sentences", "paragraphs", "nothing")
    for keep_whole in kinds:
        found = load(folder, keep_whole=keep_whole).parse(document, [crossing]).tree
        assert found is not None
        assert (2, 4) in [(unit.start, unit.stop) for unit in units(found)], "constraints are stronger"
    free, whole_sentences = (load(folder, keep_whole=one).distribution(document) for one in (kinds[-1], kinds[0]))
    assert whole_sentences.probability(0, 3) == pytest.approx(1)
    assert free.probability(0, 3) < 1
    assert free.entropy > whole_sentences.entropy


def test_k_best_and_the_best(folder: Path, parser: Parser, document: Document):
    found = parser.kbest(document, 3)
    logps = [one.log_probability or -math.inf for one in found]
    assert logps == sorted(logps, reverse=True)
    assert len({one.tree for one in found}) == 3
    best = load(folder, search="best").parse(document)
    assert best.tree == found[0].tree
    assert document.log_probability is not None
    assert document.log_probability <= logps[0] + 1e-4


def test_the_distribution(parser: Parser, document: Document):
    distribution = parser.distribution(document)
    tree, logp = distribution.mbr()
    assert tree == document.tree
    assert logp == document.log_probability == pytest.approx(distribution.log_probability(tree))
    labels = distribution.label_probabilities(0, 5)
    assert sum(labels.values()) == pytest.approx(1)
    assert isinstance(tree, Unit)
    assert (tree.relation, tree.nuclearity) in labels
    assert [sample.stop for sample in distribution.sample(3, seed=1)] == [5, 5, 5]
    assert distribution.probability(1, 2) == distribution.probability(0, 5) == pytest.approx(1)
    with pytest.raises(UsageError, match="must be a binary tree of this document with labels of the model"):
        distribution.log_probability(Unit("surprise", "NS", (Leaf(0), Leaf(1))))


def test_a_distribution_given_constraints_is_that_of_a_parser(parser: Parser, document: Document):
    constraints = [Constraint(1, 4, True, "contrast", "NN"), Constraint(1, 3, is_unit=False)]
    free = parser.distribution(document)
    found = free.given(constraints)
    expected = parser.parse(document, constraints)
    assert found.mbr() == (expected.tree, expected.log_probability)
    assert found.given([]).mbr() == free.mbr()


def test_the_distribution_of_another_model(tmp_path: Path, document: Document):
    steps = load(write_parser(tmp_path / "steps", has_segmenter=False))
    with pytest.raises(UsageError, match="distributions need a chart parser, which 'tiny' is not"):
        steps.distribution(document)


def test_charts_are_averaged(tmp_path: Path, folder: Path, document: Document):
    models = {name: write_chart(tmp_path / name, seed) for seed, name in enumerate(("one", "two"))}
    both = load(write_ensemble(tmp_path, {"one": 3, "two": 1}))
    means = [load(place).distribution(document).probability(3, 5) for place in models.values()]
    found = both.distribution(document)
    assert found.probability(3, 5) == pytest.approx(0.75 * means[0] + 0.25 * means[1], abs=1e-5)
    parsed = both.parse(document)
    assert parsed.log_probability is None, "an average has no trees"
    with pytest.raises(UsageError, match="an ensemble has no log-probabilities"):
        both.kbest(document, 2)
    with pytest.raises(UsageError, match="an ensemble of charts supports only the search mbr, got best"):
        load(tmp_path, search="best")
    write_reading_chart(tmp_path / "fine")
    with pytest.raises(ConfigError, match="the charts of an ensemble must have the same labels"):
        load(write_ensemble(tmp_path / "unlike", {str(folder): 1, str(tmp_path / "fine"): 1}))
    write_parser(tmp_path / "steps", has_segmenter=False)
    with pytest.raises(ConfigError, match="must be of one kind, got both chart and rnng models"):
        load(write_ensemble(tmp_path / "mixed", {str(folder): 1, str(tmp_path / "steps"): 1}))


def test_samples_and_their_probabilities(parser: Parser, document: Document):
    constrained = replace(document, constraints=(Constraint(1, 4, True, "contrast", "NN"),))
    for item in (document, constrained):
        distribution, found = parser.distribution(item), parser.sample(item, 5, seed=2)
        assert [one.tree for one in found] == distribution.sample(5, 2)
        for one in found:
            assert one.tree is not None
            assert one.log_probability == pytest.approx(distribution.log_probability(one.tree))
            assert one.metadata == item.metadata, "they are exact"


def test_searches_that_do_not_fit(tmp_path: Path, folder: Path):
    with pytest.raises(UsageError, match="the search of chart must be one of mbr, best, got bag"):
        load(folder, search="bag")
    steps = write_parser(tmp_path / "steps", has_segmenter=False)
    with pytest.raises(UsageError, match="the search of tiny must be one of bag, word, action, greedy, got mbr"):
        load(steps, search="mbr")


def test_settings(folder: Path, parser: Parser):
    assert repr(parser) == "<Parser 'chart': mbr search>"
    assert describe_model(folder)["config"]["kind"] == "chart"
    calm = load(write_chart(folder.parent / "calm", temperature=5.0))
    document = parser.parse_edus(EDUS)
    assert calm.distribution(document).entropy > parser.distribution(document).entropy
    with pytest.raises(ConfigError, match=r"temperature: the value must be a number above 0, got 0\.0"):
        load(write_chart(folder.parent / "frozen", temperature=0))


def test_saved_and_loaded_again(tmp_path: Path, parser: Parser, document: Document):
    parser.save(tmp_path / "copy")
    assert load(tmp_path / "copy").parse(document).tree == document.tree
