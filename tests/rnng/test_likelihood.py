"""Likelihoods: parts that add up, samples against the sum over all trees, and what must fit together."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genrst.document import Document
from genrst.errors import ParserWarning, UnknownLabelError, UsageError
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.rnng.likelihood import (
    TextScore,
    free_distribution,
    model_tree,
    score_text,
    score_tree,
    score_trees,
    single_model,
)
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.literal import enumerate_all
from genrst.rnng.search.results import Parse
from genrst.rnng.transitions.oracle import tree_of
from genrst.trees.node import Leaf, Unit, units
from tests.chart.enumeration import log_sum
from tests.parser.samples import LABELS, write_chart, write_ensemble, write_parser

EDUS = ["It rained", "because of a storm", "and the ferry stopped ."]
TREE = Unit("causal", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_parser(folder / "model", has_segmenter=False)
    write_parser(folder / "discriminative", kind="discriminative", has_segmenter=False)
    write_chart(folder / "chart", temperature=1.5)
    return folder


@pytest.fixture(scope="module")
def parser(folder: Path) -> Parser:
    return load(folder / "model", device="cpu")


@pytest.fixture(scope="module")
def chart(folder: Path) -> Parser:
    return load(folder / "chart", device="cpu")


@pytest.fixture(scope="module")
def document(parser: Parser) -> Document:
    return parser.annotate(Document.from_edus("rain", EDUS, TREE))


def all_parses(parser: Parser, document: Document) -> list[Parse]:
    """Every tree, by the literal transition system."""
    one = single_model(parser)
    return enumerate_all(NetworkScorer(one.model.network, [one.prepare(document)], one.model.symbols.nucleus_is_right))


def test_surprisals_add_up(parser: Parser, document: Document):
    score = score_tree(parser, document)
    actions = single_model(parser).model.symbols.actions
    (same,) = [one for one in all_parses(parser, document) if tree_of(actions[n] for n in one.actions) == TREE]
    assert score.log_probability == pytest.approx(same.logp, abs=1e-4)
    parts = [nats for edu in score.edus for nats in (edu.structure, *(nats for _, nats in edu.words))]
    assert -sum(parts) - score.closing == pytest.approx(same.logp, abs=1e-4)
    assert -sum(nats for edu in score.edus for _, nats in edu.words) == pytest.approx(same.word_logp, abs=1e-4)
    assert [word for word, _ in score.edus[1].words] == ["because", "of", "a", "storm", "<eos>"]
    assert score.n_words == sum(len(edu.split()) + 1 for edu in EDUS)
    assert min(parts) >= 0


def test_many_trees_at_once_have_the_scores_of_enumeration(
    parser: Parser, document: Document, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("genrst.rnng.likelihood.AT_ONCE", 7)
    parses = all_parses(parser, document)[:20]
    actions = single_model(parser).model.symbols.actions
    trees = [tree_of(actions[number] for number in parse.actions) for parse in parses]
    found = score_trees(parser, document, trees)
    assert [one.actions for one in found] == [parse.actions for parse in parses]
    for part in ("action_logp", "word_logp"):
        assert [getattr(one, part) for one in found] == pytest.approx([getattr(one, part) for one in parses], abs=1e-4)


@pytest.mark.parametrize("kind", ["model", "discriminative"])
@pytest.mark.parametrize("n_edus", [1, 2, 3])
def test_samples_meet_the_sum_over_all_trees(folder: Path, chart: Parser, kind: str, n_edus: int):
    parser = load(folder / kind, device="cpu")
    document = parser.annotate(EDUS[:n_edus])
    parses = all_parses(parser, document)
    exact = log_sum(parse.logp for parse in parses)
    found = score_text(parser, chart, document, 1500, seed=2)
    assert abs(found.log_probability - exact) <= 3 * found.standard_error + 1e-4
    assert 150 < found.effective_size <= 1500 + 1e-6
    best = parses[0]
    tree = tree_of(single_model(parser).model.symbols.actions[number] for number in best.actions)
    assert sum(found.distribution().values()) == pytest.approx(1)
    assert found.distribution()[tree] == pytest.approx(math.exp(best.logp - exact), abs=0.09)
    spans = found.unit_probabilities()
    exact_p = dict.fromkeys(spans, 0.0)
    actions = single_model(parser).model.symbols.actions
    for parse in parses:
        for unit in units(tree_of(actions[number] for number in parse.actions)):
            exact_p[unit.start, unit.stop] = exact_p.get((unit.start, unit.stop), 0) + math.exp(parse.logp - exact)
    assert spans == pytest.approx(exact_p, abs=0.09)


def test_the_standard_error_is_right(parser: Parser, chart: Parser, document: Document):
    """The spread of independent estimates is what each of them says of itself."""
    found = score_text(parser, chart, document, 3000)
    parts = [slice(first, first + 50) for first in range(0, 3000, 50)]
    estimates = [TextScore(found.trees[part], found.logps[part], found.proposed_logps[part]) for part in parts]
    spread = float(np.std([one.log_probability for one in estimates], ddof=1))
    assert spread == pytest.approx(np.mean([one.standard_error for one in estimates]), rel=0.3)


def test_seeds(parser: Parser, chart: Parser, document: Document):
    first, same, other = (score_text(parser, chart, document, 50, seed).log_probability for seed in (3, 3, 4))
    assert first == same != other


def test_effective_size_by_hand():
    score = TextScore([TREE] * 4, np.log([0.1, 0.1, 0.2, 0.4]), np.log([0.1, 0.1, 0.1, 0.1]))
    assert score.log_probability == pytest.approx(math.log((1 + 1 + 2 + 4) / 4))
    assert score.effective_size == pytest.approx(64 / 22)
    weights = np.array([1, 1, 2, 4])
    assert score.standard_error == pytest.approx(weights.std(ddof=1) / math.sqrt(4) / weights.mean())


def test_a_chart_proposes_every_tree(chart: Parser, document: Document):
    across = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    two = Document.from_edus("two", ["It rained .", "Nobody was", "hurt ."])
    whole = chart.distribution(two)
    crossing = Unit("joint", "NN", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
    assert whole.log_probability(crossing) == -math.inf
    assert free_distribution(chart, two).log_probability(crossing) > -math.inf
    free = free_distribution(chart, document)
    assert free.log_probabilities([across, TREE]) == [free.log_probability(one) for one in (across, TREE)]


def test_a_small_effective_sample_is_a_warning(
    parser: Parser, chart: Parser, document: Document, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("genrst.rnng.likelihood.FEW", 20)
    with pytest.warns(ParserWarning, match=r"rain: 20 samples are worth [\d.]+; log p\(words\) may well be higher"):
        score_text(parser, chart, document, 20)


def test_trees_are_made_coarse_and_binary(parser: Parser):
    flat = Unit("joint", "NNN", (Leaf(0), Leaf(1), Leaf(2)))
    actions = single_model(parser).model.symbols.actions
    binary = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    assert model_tree(Document.from_edus("flat", EDUS, flat), actions) == binary


def test_what_cannot_be_scored_is_said_in_one_line(folder: Path, parser: Parser, chart: Parser, document: Document):
    unknown = replace(document, tree=Unit("nonsense", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2))))))
    with pytest.raises(UnknownLabelError, match="nonsense"):
        score_tree(parser, unknown)
    with pytest.raises(UsageError, match="it must be one model that builds trees step by step, was: 'chart'"):
        score_tree(chart, document)
    with pytest.raises(UsageError, match="it must be a chart's model, was: 'tiny'"):
        score_text(parser, parser, document)
    with pytest.raises(UsageError, match="there must be two samples or more, was: 1"):
        score_text(parser, chart, document, 1)
    both = load(write_ensemble(folder / "both", {"../model": 1.0, "../discriminative": 1.0}), device="cpu")
    with pytest.raises(UsageError, match="it must be one model that builds trees step by step, was: 'both'"):
        score_tree(both, document)


def test_labels_of_the_proposal(
    tmp_path: Path, parser: Parser, chart: Parser, document: Document, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tests.parser.samples.LABELS", LABELS[:-1])
    fewer, poorer = (load(write(tmp_path / write.__name__), device="cpu") for write in (write_chart, write_parser))
    missing = LABELS[-1].relation, LABELS[-1].nuclearity
    with pytest.warns(ParserWarning, match=f"'chart' never draws {' '.join(missing)}: trees with it are left out"):
        found = score_text(parser, fewer, document)
    assert missing not in {(unit.relation, unit.nuclearity) for tree in found.trees for unit in units(tree)}
    with pytest.raises(UsageError, match=f"labels of its proposal, 'chart', was: without {' '.join(missing)}"):
        score_text(poorer, chart, document)
