"""The tree of a text does not depend on what is parsed with it, before it or in another process: not in one bit."""

import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import genrst
from genrst.chart.finder import ChartFinder
from genrst.chart.texts import EncoderCache
from genrst.document import Document
from genrst.parser.parser import Item, Parser, from_edus, unwrap
from genrst.trees.node import units
from tests.parser.samples import TEXT, write_chart, write_ensemble

RAIN = "It rained, so we stayed in."
LONG = " ".join(
    f"The ferry to island {number} stopped, because a storm had come from the north." for number in range(30)
)
TEXTS: list[Item] = [
    RAIN,
    TEXT,
    RAIN,
    "Hello!",
    ["The council said", "that fees would rise ,", "but nobody believed it ."],
    LONG,
    TEXT,
    "Nobody was hurt. They say that the harbour, which is old, is too shallow; dredging would help.",
]
"""One is longer than a window of the encoder."""


def bits(document: Document) -> tuple[object, ...]:
    """All that was found, and every probability in full."""
    assert document.tree is not None
    p = [float(unit.probability or 0.0).hex() for unit in units(document.tree)]
    logp = None if document.log_probability is None else float(document.log_probability).hex()
    return document.text, document.edus, document.sentences, document.paragraphs, str(document.tree), p, logp


def parse_alone(parser: Parser) -> list[tuple[object, ...]]:
    return [bits(parser(item)) for item in TEXTS]


def parse_together(parser: Parser, batch_size: int, n_process: int = 1) -> list[tuple[object, ...]]:
    return [bits(unwrap(one)) for one in parser.pipe(TEXTS, batch_size, n_process=n_process)]


@pytest.fixture(scope="module")
def en() -> Parser:
    return genrst.load("en", device="cpu")


@pytest.fixture(scope="module")
def alone(en: Parser) -> list[tuple[object, ...]]:
    """What is found in each text by itself. All that follow have been parsed before they fork."""
    return parse_alone(en)


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are read, not remembered."""
    monkeypatch.setattr(EncoderCache, "most_pieces", 0)


def forget(parser: Parser) -> Parser:
    """The same parser, which has read nothing yet."""
    assert isinstance(parser.finder, ChartFinder)
    return replace(parser, finder=ChartFinder(parser.finder.scorers, parser.finder.settings))


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("n_process", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_in_batches(en: Parser, alone: Sequence[object], batch_size: int, n_process: int):
    """Processes are forked here, where they can be."""
    assert parse_together(forget(en), batch_size, n_process) == alone


@pytest.mark.slow
def test_from_the_cache(en: Parser, alone: Sequence[object]):
    fresh = forget(en)
    assert parse_together(fresh, 3) == parse_together(fresh, 8) == alone


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_by_threads(en: Parser, alone: Sequence[object], monkeypatch: pytest.MonkeyPatch, n_threads: int):
    monkeypatch.setenv("OMP_NUM_THREADS", str(n_threads))
    assert parse_together(forget(en), 8) == alone


@pytest.mark.slow
def test_in_spawned_processes(en: Parser, alone: Sequence[object], monkeypatch: pytest.MonkeyPatch):
    """Each loads a parser of its own."""
    monkeypatch.setattr("genrst.parser.processes.can_fork", lambda device: False)
    assert parse_together(en, 3, n_process=2) == alone


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_in_forked_processes_again_and_again(en: Parser, alone: Sequence[object]):
    """Neither the parser nor what is forked from it waits for threads that are gone."""
    for _ in range(3):
        assert parse_together(en, 2, n_process=2) == alone
        assert bits(en(TEXT)) == alone[1]


@pytest.mark.slow
def test_where_edus_are_known(en: Parser):
    """As users have them who segment first."""
    documents = [replace(document, tree=None) for document in map(en.segment, (RAIN, TEXT, LONG, RAIN))]
    documents.append(from_edus("last", ["It rained ,", "so we stayed in ."], [0]))
    expected = [bits(en(document)) for document in documents]
    for batch_size in (2, 8):
        assert [bits(unwrap(one)) for one in forget(en).pipe(documents, batch_size)] == expected


@pytest.mark.slow
def test_n_best_trees_and_samples(en: Parser):
    """They come from scores that are found anew."""
    assert [bits(one) for one in en.kbest(TEXT, 5)] == [bits(one) for one in forget(en).kbest(TEXT, 5)]
    assert list(map(bits, en.sample(TEXT, 5, seed=3))) == list(map(bits, forget(en).sample(TEXT, 5, seed=3)))


@pytest.mark.slow
def test_a_parser_that_was_pickled(en: Parser, alone: Sequence[object]):
    again = pickle.loads(pickle.dumps(en))
    assert parse_alone(again) == alone


def test_charts_that_choose_together(tmp_path: Path):
    write_chart(tmp_path / "one")
    write_chart(tmp_path / "two", seed=5)
    parser = genrst.load(write_ensemble(tmp_path, {"one": 1.0, "two": 3.0}), device="cpu")
    expected = parse_alone(parser)
    for batch_size in (1, 2, 8):
        assert parse_together(forget(parser), batch_size) == expected
    assert parse_together(parser, 2, n_process=2) == expected
    assert parse_alone(pickle.loads(pickle.dumps(parser))) == expected
