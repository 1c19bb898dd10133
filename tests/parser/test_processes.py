"""Streams parsed by several processes are those of one."""

import os
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from genrst.chart.finder import ChartFinder
from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.parser.loading import load
from genrst.parser.parser import Failure, Item, Parser, unwrap
from genrst.parser.processes import work_in_processes
from genrst.trees.node import Tree, units
from tests.parser.samples import rnng_finder, write_reading_chart

TEXTS = ["It rained, so we stayed in.", "", ["My own", "EDUs."], "Nobody was hurt.", "The ferry stopped, they say."]
BATCHES = [[3, 1], [2, 5, 4], [9, 8], [7, 6], [1, 0]]


def test_started_anew_they_keep_the_order():
    make = partial(partial, sorted)
    assert list(work_in_processes(iter(BATCHES), make, 2, is_forked=False)) == list(map(sorted, BATCHES))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_they_read_no_further_ahead_than_needed():
    batches = count()
    results = work_in_processes(batches, lambda: abs, 2, is_forked=True)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert next(batches) == 6
    results.close()  # type: ignore[attr-defined]


def warn(number: int) -> int:
    warnings.warn(UserWarning(f"odd: {number % 2}"), stacklevel=1)
    return number


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_warnings_come_back_once():
    with pytest.warns(UserWarning, match="odd") as caught:
        assert list(work_in_processes(iter(range(8)), lambda: warn, 2, is_forked=True)) == list(range(8))
    assert sorted(str(warning.message) for warning in caught) == ["odd: 0", "odd: 1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_one_that_dies_is_an_error():
    with pytest.raises(GenrstError, match=r"^a parsing process has died, perhaps for lack of memory"):
        list(work_in_processes(iter([3, 4]), lambda: os._exit, 2, is_forked=True))


@pytest.mark.slow
def test_a_stream(parser: Parser):
    single, several = (list(parser.pipe(TEXTS, 2, n_process=n_process)) for n_process in (1, 2))
    assert [str(one.error) for one in single if isinstance(one, Failure)] == [
        "text-2: a text must have at least one word, got ''"
    ]
    assert list(map(repr, several)) == list(map(repr, single))
    assert [one for one in several if not isinstance(one, Failure)] == [
        one for one in single if not isinstance(one, Failure)
    ]


def test_pairs(parser: Parser):
    numbered = [(text, number) for number, text in enumerate(TEXTS[:3])]
    found = list(parser.pipe(numbered, 2, as_tuples=True))
    assert [number for _, number in found] == [0, 1, 2]
    assert [repr(outcome) for outcome, _ in found] == list(map(repr, parser.pipe(TEXTS[:3])))


def test_numbers_that_make_no_sense(parser: Parser):
    with pytest.raises(UsageError, match=r"^n_process must be at least 1, got 0"):
        parser.pipe([], n_process=0)


# Processes that are started anew load the parser once more.


@pytest.fixture
def no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genrst.parser.processes.can_fork", lambda device_type: False)


@pytest.mark.usefixtures("no_fork")
def test_a_parser_in_memory_cannot_be_loaded_again(parser: Parser):
    with pytest.raises(UsageError, match=r"^only a parser that was loaded from a folder can use several processes"):
        list(Parser(parser.finder, parser.config).pipe(TEXTS, n_process=2))


def test_a_parser_is_loaded_again_with_its_options(tiny: Path, tmp_path: Path):
    changes: dict[str, Any] = {"search": "word", "beam": 2, "word_weight": 0.25, "max_stack": 9, "pipeline": "other"}
    parser = load(tiny, device="cpu", keep_whole="paragraphs", **changes)
    again = load_again(parser)
    assert again.config == parser.config
    assert rnng_finder(again).settings == rnng_finder(parser).settings
    assert rnng_finder(again).settings == replace(rnng_finder(load(tiny)).settings, keep_whole="paragraphs", **changes)
    chart = load(write_reading_chart(tmp_path), device="cpu", search="best", keep_whole="nothing", relations="coarse")
    again = load_again(chart)
    assert again.config == chart.config
    assert isinstance(again.finder, ChartFinder)
    settings = again.finder.settings
    assert (settings.search, settings.keep_whole, settings.relations) == ("best", "nothing", "coarse")


def load_again(parser: Parser) -> Parser:
    reload: Callable[[], Parser] = pickle.loads(pickle.dumps(parser.reload))
    return reload()


def spawned_trees(parser: Parser, items: Sequence[Item]) -> list[Tree | None]:
    return [unwrap(outcome).tree for outcome in parser.pipe(items, 1, n_process=2)]


@pytest.mark.slow
@pytest.mark.usefixtures("no_fork")
def test_spawned_processes_keep_the_relations_coarse():
    texts = ["It rained, so we stayed in.", "The ferry stopped because of a storm, they say."]
    coarse, fine = (load("en", device="cpu", relations=relations) for relations in ("coarse", "fine"))
    found = spawned_trees(coarse, texts)
    assert found == [coarse(text).tree for text in texts] != [fine(text).tree for text in texts]
    names = {unit.relation for tree in found if tree is not None for unit in units(tree)}
    assert names <= {relation for relation, _ in coarse.finder.labels}


@pytest.mark.slow
@pytest.mark.usefixtures("no_fork")
def test_spawned_processes_keep_sentences_whole(tiny: Path):
    plain = Document.from_edus("rain", ["It rained", "because of a storm", "and nobody was hurt ,", "it stopped ."])
    documents = [
        replace(plain, sentences=(Span(0, plain.edus[cut].start), Span(plain.edus[cut].start, plain.edus[-1].end)))
        for cut in (1, 2, 3)
    ]
    whole, cut = (load(tiny, device="cpu", keep_whole=keep_whole) for keep_whole in ("sentences", "nothing"))
    found = spawned_trees(whole, documents)
    assert found == [whole(document).tree for document in documents] != [cut(document).tree for document in documents]
