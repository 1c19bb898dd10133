"""Streams parsed by several processes are those of one."""

import os
import warnings
from functools import partial
from itertools import count

import pytest

from genrst.errors import GenrstError, UsageError
from genrst.parser.parser import Failure, Parser
from genrst.parser.processes import work_in_processes

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
    with pytest.raises(GenrstError, match=r"^a process that parses has ended; perhaps there is too little memory"):
        list(work_in_processes(iter([3, 4]), lambda: os._exit, 2, is_forked=True))


@pytest.mark.slow
def test_a_stream(parser: Parser):
    single, several = (list(parser.pipe(TEXTS, 2, n_process=n_process)) for n_process in (1, 2))
    assert [str(one.error) for one in single if isinstance(one, Failure)] == [
        "text-2: a text must have a word, was: ''"
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


def test_the_same_parser_in_another_process(parser: Parser):
    again = parser._load_again()()
    assert again.config == parser.config
    assert again("It rained, so we stayed in.") == parser("It rained, so we stayed in.")


def test_numbers_that_make_no_sense(parser: Parser):
    with pytest.raises(UsageError, match=r"^n_process must be 1 or more, was: 0"):
        parser.pipe([], n_process=0)
    with pytest.raises(UsageError, match=r"^a parser must be loaded from a folder to be used by other processes"):
        Parser(parser.search, parser.config)._load_again()
