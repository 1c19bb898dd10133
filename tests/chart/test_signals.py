"""Signals of `en` and of networks with random weights."""

import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from genrst.chart.finder import ChartFinder
from genrst.chart.learning.secondary import EdgeNetwork, edge_examples, marker_meanings, train_edges
from genrst.chart.learning.signals import SignalExample, make_example, marker_logp, train_signals
from genrst.chart.signals.features import ask, find_atoms, pairs, pool_pieces, relations_of, words_of_atoms
from genrst.chart.signals.secondary import MARKERS, PREFIX, Roles
from genrst.chart.signals.signaller import ReadAtoms, SignalConfig, Signaller, split_markers
from genrst.document import Document, SecondaryEdge, Signal, signal_words
from genrst.errors import ConfigError, ModelNotFoundError, UsageError
from genrst.evaluation.signals import score_signals
from genrst.formats.files import read, write
from genrst.parser.folders import MODELS
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.storage import read_config, write_config
from genrst.trees.node import Leaf, Unit
from tests.seed import SEED

TEXT = (
    "Although it rained all day, we went to the park. However, nobody was there, because the gates were closed.\n\n"
    "Why did they close it? They said that it was too dangerous."
)
TREE = Unit(
    "causal", "SN", (Leaf(0), Unit("joint", "NNN", (Leaf(1), Leaf(2), Unit("other", "NS", (Leaf(3), Leaf(4))))))
)
DOCUMENT = replace(
    Document.from_edus(
        "a", ["If it rains,", "then we stay", "and read", "but, she said,", "so she leaves (alone)"], TREE
    ),
    signals=(
        Signal((0, 1), "dm", "dm", (1, 4)),
        Signal((2, 3), "dm", "dm", (7,)),
        Signal((4, 5), "lexical", "indicative_word", (13,)),
        Signal((4, 5), "graphical", "layout"),
        Signal((3, 5), "orphan", "orphan", (9,), target=(0, 1)),
    ),
    secondary_edges=(SecondaryEdge((3, 5), (0, 1), "joint"),),
)
KINDS = np.array([2, 0, 0, 1, 0, 6])
CONFIG = SignalConfig(
    6, 4, 24, (("lexical", "indicative_word"),), (("graphical", "layout"),),
    (("causal", "left"), ("joint", "N"), ("other", "right")), ("and", "but", "if … then", "so"), (0.3, 0.3),
    edge_relations=("joint", "other"),
)  # fmt: skip


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load("en", device="cpu", signals=True)


@pytest.fixture(scope="module")
def parsed(parser: Parser) -> Document:
    return parser(TEXT)


def texts(document: Document, signal: Signal) -> list[str]:
    spans = signal_words(document)
    return [(document.text or "")[spans[word - 1].start : spans[word - 1].end] for word in signal.tokens]


def test_en_finds_the_words_that_mark_relations(parsed: Document):
    found = {(one.type, *texts(parsed, one)) for one in parsed.signals}
    assert {("dm", "Although"), ("dm", "However,"), ("dm", "because"), ("graphical", "it?")} <= found
    because = next(one for one in parsed.signals if texts(parsed, one) == ["because"])
    assert (parsed.slice(*because.unit) or "").startswith("because the gates")


def test_trees_are_the_same_without_signals(parsed: Document):
    plain = load("en", device="cpu")(TEXT)
    assert not plain.signals
    assert (plain.tree, plain.log_probability) == (parsed.tree, parsed.log_probability)


def test_signals_are_written_and_read_back(parsed: Document, tmp_path: Path):
    edge = SecondaryEdge((2, 3), (0, 1), "joint-list")
    orphan = Signal((2, 3), "orphan", "orphan", (11,), target=(0, 1))
    document = replace(parsed, signals=(*parsed.signals, orphan), secondary_edges=(*parsed.secondary_edges, edge))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(document, tmp_path / "text.rs4")
    back = read(tmp_path / "text.rs4")
    assert sorted(back.signals, key=repr) == sorted(document.signals, key=repr)
    assert back.secondary_edges == document.secondary_edges
    assert [texts(back, one) for one in back.signals] == [texts(document, one) for one in document.signals]
    assert score_signals([document], [back]).types["all"]["signals relation"].f1 == 1


def test_trees_that_are_there_can_be_marked(parser: Parser, parsed: Document):
    assert isinstance(parser.finder, ChartFinder)
    (marked,) = parser.finder.mark([replace(parsed, signals=())])
    # EDUs are read one by one then, which changes a piece or two at most.
    assert {one for one in marked.signals if one.type == "dm"} == {one for one in parsed.signals if one.type == "dm"}
    with pytest.raises(UsageError, match="signals=True"):
        next(iter(load("en", device="cpu").finder.mark([parsed])))  # type: ignore[attr-defined]


def test_only_charts_find_signals(tiny: Path):
    with pytest.raises(UsageError, match="signals require a chart parser, got the model tiny"):
        load(tiny, signals=True)


def test_a_head_that_does_not_fit_is_refused(tmp_path: Path):
    with pytest.raises(ModelNotFoundError, match=r"the model cannot find signals; signals.json is missing"):
        Signaller.load(tmp_path)
    folder = MODELS / "en"
    config = read_config(SignalConfig, folder / "signals.json")
    write_config(replace(config, size=8), tmp_path / "signals.json")
    shutil.copyfile(folder / "signals.safetensors", tmp_path / "signals.safetensors")
    with pytest.raises(ConfigError, match=r"atom.weight must have the shape \(8, 768\), got \(256, 768\)"):
        Signaller.load(tmp_path)


def test_relations_of_lists_and_satellites():
    assert [(one.unit, one.other, one.name, one.role) for one in relations_of(TREE)] == [
        ((0, 1), (1, 5), "causal", "left"),
        ((2, 3), (1, 2), "joint", "N"),
        ((3, 5), (2, 3), "joint", "N"),
        ((4, 5), (3, 4), "other", "right"),
    ]
    both = Unit.from_relations(["a", "span", "b"], "SNS", (Leaf(0), Leaf(1), Leaf(2)))
    assert [(one.unit, one.other) for one in relations_of(both)] == [((0, 1), (1, 2)), ((2, 3), (0, 2))]
    chain = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    assert [one.unit for one in relations_of(chain)] == [(1, 2), (2, 3)]


def test_atoms_take_the_mean_of_their_pieces():
    document = Document.from_edus("a", ["don't go"])
    atoms = find_atoms(document)
    assert [document.text[one.start : one.end] for one in atoms.spans] == ["don", "'", "t", "go"]  # type: ignore[index]
    states = np.arange(5, dtype=np.float32)[:, None]
    assert pool_pieces(atoms, np.array([0, 2, 3, 4, 6]), states).ravel().tolist() == [0.5, 2, 3, 4]
    assert words_of_atoms(atoms, signal_words(document)).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "words", "parts"),
    [
        ("and then we", [0, 1], [[0], [1]]),
        ("as if we", [0, 1], [[0, 1]]),
        ("if it rains then", [0, 3], [[0, 3]]),
        ("if it rains so", [0, 3], [[0], [3]]),
        ("quite new we", [0, 1], [[0, 1]]),
    ],
)
def test_markers_are_split_as_known(text: str, words: list[int], parts: list[list[int]]):
    known = frozenset({"and", "then", "as if", "if", "if … then"})
    assert split_markers(words, text.split(), known) == parts


def example_of(document: Document) -> SignalExample:
    atoms, asked = find_atoms(document), ask(document, KINDS)
    generator = np.random.default_rng(SEED)
    states = generator.normal(size=(len(atoms.spans), 6)).astype(np.float32)
    edus = generator.normal(size=(5, 4)).astype(np.float32)
    words = words_of_atoms(atoms, signal_words(document))
    return make_example(document, atoms, asked, states, edus, KINDS, words, CONFIG)


def test_learning_and_inference_agree():
    """A head that has learned one document by heart finds its signals, in NumPy, as in PyTorch."""
    example = example_of(DOCUMENT)
    network = train_signals([example], CONFIG, 1, 200, 1e-2)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    signaller = Signaller(CONFIG, weights)
    vectors = signaller.atom_vectors(DOCUMENT, example.atoms, example.states)
    own = ReadAtoms(example.atoms, vectors, KINDS, example.edus)
    scored = signaller.score(DOCUMENT, own)
    with torch.no_grad():
        every = np.arange(len(example.rows))
        scores, marker, wordless, at = network(example, CONFIG.number_labels(example.asked), every)
        logp, orphans, _ = marker_logp(scores[:, 0], marker, at)
    np.testing.assert_allclose(scored.classes, scores[:, 1:].sigmoid().numpy(), atol=1e-5)
    np.testing.assert_allclose(scored.wordless, wordless.sigmoid().numpy(), atol=1e-5)
    used = np.unique(example.places)
    is_possible = CONFIG.are_possible(DOCUMENT.text or "", example.atoms)
    np.testing.assert_allclose(scored.markers, logp.exp().numpy() * is_possible[example.places], atol=1e-5)
    np.testing.assert_allclose(scored.orphans[used], orphans.exp().numpy() * is_possible[used], atol=1e-5)
    edges = edge_examples(
        DOCUMENT, own, words_of_atoms(example.atoms, signal_words(DOCUMENT)), {"joint": 1, "other": 2}
    )
    assert [one.marker for one in edges if one.pair >= 0] == ["but"]
    markers, meanings = marker_meanings(edges, 2)
    learned = train_edges([one for one in edges if one.pair >= 0], 2, 1, 60, 1e-2)
    assert isinstance(learned, EdgeNetwork)
    weights |= {f"{PREFIX}0.{name}": tensor.numpy() for name, tensor in learned.state_dict().items()}
    head = Signaller(replace(CONFIG, edge_markers=markers), weights | {MARKERS: meanings})
    found = head.add(replace(DOCUMENT, signals=(), secondary_edges=()), own)
    assert set(found.signals) == set(DOCUMENT.signals)
    assert found.secondary_edges == DOCUMENT.secondary_edges


def test_rules_take_the_place_of_classes():
    rule = ("other", "right", "first", "(", "graphical", "parentheses")
    config = replace(CONFIG, rules=(rule,))
    assert config.by_context == {rule[:4]: [("graphical", "parentheses")]}
    example = example_of(DOCUMENT)
    torch.manual_seed(1)
    weights = {name: one.numpy() for name, one in train_signals([example], CONFIG, 1, 1).state_dict().items()}
    signaller = Signaller(config, weights)
    own = ReadAtoms(example.atoms, signaller.atom_vectors(DOCUMENT, example.atoms, example.states), KINDS, example.edus)
    found = [one for one in signaller.add(DOCUMENT, own).signals if one.subtype == "parentheses"]
    assert [(one.unit, texts(DOCUMENT, one)) for one in found] == [((4, 5), ["(alone)"])]


def test_pairs_are_the_words_of_rows():
    asked, atoms = ask(DOCUMENT, KINDS), find_atoms(DOCUMENT)
    rows, places = pairs(asked, atoms)
    assert (atoms.edus[places] == asked.rows[rows, 1]).all()
    assert len(set(zip(rows.tolist(), places.tolist(), strict=True))) == len(rows)


def test_edges_are_looked_for_around_their_marker():
    found = Roles.of(TREE, KINDS).pairs(3)
    assert {pair.here for pair in found} == {(3, 4), (3, 5)}
    assert {(pair.here, pair.there) for pair in found} >= {((3, 5), (2, 3)), ((3, 5), (0, 1)), ((3, 4), (4, 5))}
    assert not any(pair.here[0] < pair.there[1] and pair.there[0] < pair.here[1] for pair in found)


def test_the_words_of_markers_and_their_neighbours_have_numbers():
    document = Document.from_edus("a", ["Even so, we went,", "so what?"])
    config = replace(CONFIG, markers=("even so", "so"))
    numbers = config.number_words(document.text or "", find_atoms(document)).tolist()
    # Even so , we went , so what ?
    assert [own for own, _, _ in numbers] == [1, 2, 0, 0, 0, 0, 2, 0, 0]
    assert [before for _, before, _ in numbers] == [0, 1, 2, 0, 0, 0, 0, 2, 0]
    assert [after for _, _, after in numbers] == [2, 0, 0, 0, 0, 2, 0, 0, 0]
