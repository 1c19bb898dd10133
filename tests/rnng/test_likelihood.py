"""Likelihoods: parts that add up, samples against the sum over all trees, and what must fit together."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genrst.chart.finder import Distribution
from genrst.document import Document, Span
from genrst.errors import ParserWarning, UnknownLabelError, UsageError
from genrst.parser.finder import TreeFinder
from genrst.parser.loading import load
from genrst.rnng.finder import RnngFinder
from genrst.rnng.likelihood import (
    TextScore,
    model_tree,
    score_text,
    score_tree,
    score_trees,
    single_model,
)
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.results import Parse
from genrst.rnng.transitions.actions import tree_of
from genrst.trees.node import Leaf, Unit, units
from tests.chart.enumeration import log_sum
from tests.parser.samples import LABELS, rnng_finder, write_chart, write_ensemble, write_parser
from tests.rnng.search.literal import enumerate_all

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
def finder(folder: Path) -> RnngFinder:
    return load_finder(folder / "model")


@pytest.fixture(scope="module")
def chart(folder: Path) -> TreeFinder:
    return load(folder / "chart", device="cpu").finder


@pytest.fixture(scope="module")
def document(finder: RnngFinder) -> Document:
    return finder.prepare([Document.from_edus("rain", EDUS, TREE)])[0]


@pytest.fixture(scope="module")
def proposal(chart: TreeFinder, document: Document) -> Distribution:
    return chart.free_distribution(document)


def load_finder(folder: Path) -> RnngFinder:
    return rnng_finder(load(folder, device="cpu"))


def all_parses(finder: RnngFinder, document: Document) -> list[Parse]:
    """Every tree, by the literal transition system."""
    one = single_model(finder)
    return enumerate_all(NetworkScorer(one.model.network, [one.prepare(document)], one.model.symbols.nucleus_is_right))


def test_surprisals_add_up(finder: RnngFinder, document: Document):
    score = score_tree(finder, document)
    actions = single_model(finder).model.symbols.actions
    (same,) = [one for one in all_parses(finder, document) if tree_of(actions[n] for n in one.actions) == TREE]
    assert score.log_probability == pytest.approx(same.logp, abs=1e-4)
    parts = [nats for edu in score.edus for nats in (edu.structure, *(nats for _, nats in edu.words))]
    assert -sum(parts) - score.closing == pytest.approx(same.logp, abs=1e-4)
    assert -sum(nats for edu in score.edus for _, nats in edu.words) == pytest.approx(same.word_logp, abs=1e-4)
    assert [word for word, _ in score.edus[1].words] == ["because", "of", "a", "storm", "<eos>"]
    assert score.n_words == sum(len(edu.split()) + 1 for edu in EDUS)
    assert min(parts) >= 0


def test_many_trees_at_once_have_the_scores_of_enumeration(
    finder: RnngFinder, document: Document, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("genrst.rnng.likelihood.AT_ONCE", 7)
    parses = all_parses(finder, document)[:20]
    actions = single_model(finder).model.symbols.actions
    trees = [tree_of(actions[number] for number in parse.actions) for parse in parses]
    found = score_trees(finder, document, trees)
    assert [one.actions for one in found] == [parse.actions for parse in parses]
    for part in ("action_logp", "word_logp"):
        assert [getattr(one, part) for one in found] == pytest.approx([getattr(one, part) for one in parses], abs=1e-4)


@pytest.mark.parametrize("kind", ["model", "discriminative"])
@pytest.mark.parametrize("n_edus", [1, 2, 3])
def test_samples_meet_the_sum_over_all_trees(folder: Path, chart: TreeFinder, kind: str, n_edus: int):
    finder = load_finder(folder / kind)
    (document,) = finder.prepare([Document.from_edus("rain", EDUS[:n_edus])])
    parses = all_parses(finder, document)
    exact = log_sum(parse.logp for parse in parses)
    found = score_text(finder, chart.free_distribution(document), document, 1500, seed=2)
    assert abs(found.log_probability - exact) <= 3 * found.standard_error + 1e-4
    assert 150 < found.effective_size <= 1500 + 1e-6
    best = parses[0]
    tree = tree_of(single_model(finder).model.symbols.actions[number] for number in best.actions)
    assert sum(found.distribution().values()) == pytest.approx(1)
    assert found.distribution()[tree] == pytest.approx(math.exp(best.logp - exact), abs=0.09)
    spans = found.unit_probabilities()
    exact_p = dict.fromkeys(spans, 0.0)
    actions = single_model(finder).model.symbols.actions
    for parse in parses:
        for unit in units(tree_of(actions[number] for number in parse.actions)):
            exact_p[unit.start, unit.stop] = exact_p.get((unit.start, unit.stop), 0) + math.exp(parse.logp - exact)
    assert spans == pytest.approx(exact_p, abs=0.09)


def test_the_standard_error_is_right(finder: RnngFinder, proposal: Distribution, document: Document):
    """The spread of independent estimates is what each of them says of itself."""
    found = score_text(finder, proposal, document, 3000)
    parts = [slice(first, first + 50) for first in range(0, 3000, 50)]
    estimates = [TextScore(found.trees[part], found.logps[part], found.proposed_logps[part]) for part in parts]
    spread = float(np.std([one.log_probability for one in estimates], ddof=1))
    assert spread == pytest.approx(np.mean([one.standard_error for one in estimates]), rel=0.3)


def test_seeds(finder: RnngFinder, proposal: Distribution, document: Document):
    first, same, other = (score_text(finder, proposal, document, 50, seed).log_probability for seed in (3, 3, 4))
    assert first == same != other


def test_effective_size_by_hand():
    score = TextScore([TREE] * 4, np.log([0.1, 0.1, 0.2, 0.4]), np.log([0.1, 0.1, 0.1, 0.1]))
    assert score.log_probability == pytest.approx(math.log((1 + 1 + 2 + 4) / 4))
    assert score.effective_size == pytest.approx(64 / 22)
    weights = np.array([1, 1, 2, 4])
    assert score.standard_error == pytest.approx(weights.std(ddof=1) / math.sqrt(4) / weights.mean())


def test_a_chart_proposes_every_tree(chart: TreeFinder, document: Document):
    across = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    two = Document.from_edus("two", ["It rained .", "Nobody was", "hurt ."])
    two = replace(two, sentences=(Span(0, two.edus[0].end), Span(two.edus[1].start, two.edus[2].end)))
    (whole,) = chart.distributions([two])
    crossing = Unit("joint", "NN", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
    assert whole.log_probability(crossing) == -math.inf
    assert chart.free_distribution(two).log_probability(crossing) > -math.inf
    free = chart.free_distribution(document)
    assert free.log_probabilities([across, TREE]) == [free.log_probability(one) for one in (across, TREE)]


def test_a_small_effective_sample_is_a_warning(
    finder: RnngFinder, proposal: Distribution, document: Document, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("genrst.rnng.likelihood.FEW", 20)
    with pytest.warns(
        ParserWarning, match=r"rain: the effective size of 20 samples is only [\d.]+; log p\(words\) is probably higher"
    ):
        score_text(finder, proposal, document, 20)


def test_trees_are_made_coarse_and_binary(finder: RnngFinder):
    flat = Unit("joint", "NNN", (Leaf(0), Leaf(1), Leaf(2)))
    labels = single_model(finder).model.symbols.actions.pairs
    binary = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    assert model_tree(Document.from_edus("flat", EDUS, flat), labels) == binary


def test_what_cannot_be_scored_is_said_in_one_line(
    folder: Path, finder: RnngFinder, proposal: Distribution, document: Document
):
    unknown = replace(document, tree=Unit("nonsense", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2))))))
    with pytest.raises(UnknownLabelError, match="nonsense"):
        score_tree(finder, unknown)
    with pytest.raises(UsageError, match="the number of samples must be 2 or more, got 1"):
        score_text(finder, proposal, document, 1)
    both = load_finder(write_ensemble(folder / "both", {"../model": 1.0, "../discriminative": 1.0}))
    with pytest.raises(UsageError, match="likelihoods need a single model; 'both' is an ensemble"):
        score_tree(both, document)


def test_labels_of_the_proposal(
    tmp_path: Path,
    finder: RnngFinder,
    proposal: Distribution,
    document: Document,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("tests.parser.samples.LABELS", LABELS[:-1])
    fewer = load(write_chart(tmp_path / "chart"), device="cpu").finder.free_distribution(document)
    poorer = load_finder(write_parser(tmp_path / "model", has_segmenter=False))
    missing = LABELS[-1].relation, LABELS[-1].nuclearity
    with pytest.warns(ParserWarning, match=f"the proposal never draws {' '.join(missing)}; log p.words. leaves out"):
        found = score_text(finder, fewer, document)
    assert missing not in {(unit.relation, unit.nuclearity) for tree in found.trees for unit in units(tree)}
    with pytest.raises(UsageError, match=f"all labels of its proposal, but lacks {' '.join(missing)}"):
        score_text(poorer, proposal, document)
