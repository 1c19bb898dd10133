"""Finding the documents that a process dies of, with processes that only play dead."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.bulk.inputs import Record, Unit
from genrst.bulk.work import Rows, Settings
from genrst.bulk.workers import Process, Worker, start_program
from genrst.errors import GenrstError, InputError, MissingDependencyError

Script = Callable[[Sequence[int]], Any]
"""What a process does with documents: its answer, `dead` or `late`."""


class Actor:
    """A process that follows a script; it is its own link."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.answer: Any = None
        self.is_dead = False

    @property
    def link(self) -> Any:
        return self

    def send(self, question: tuple[Sequence[Record], float]) -> None:
        if self.is_dead:
            raise BrokenPipeError
        self.answer = self.script([record.document for record in question[0]])

    def poll(self, _: float) -> bool:
        return bool(self.answer != "late")

    def recv(self) -> Any:
        if self.answer == "dead":
            raise EOFError
        return self.answer

    def end(self) -> int:
        self.is_dead = True
        return -9


def rows(documents: Sequence[int]) -> tuple[str, Rows]:
    """Rows that know with whom documents were parsed."""
    return "rows", Rows(documents=[{"document": one, "with": sorted(documents)} for one in documents])


def do(script: Script, n_documents: int) -> tuple[Rows, int]:
    """The rows of a unit, and how many processes it took."""
    started = []

    def start() -> Process:
        started.append(Actor(script))
        return started[-1]

    unit = Unit(0, tuple(Record(number, "a/b.txt", "", 0, 1) for number in range(n_documents)))
    return Worker(start, 2.0).do(unit), len(started)


poison = st.dictionaries(st.integers(0, 19), st.sampled_from(["dead", "late", ("failed", "ValueError: x")]), max_size=5)


@given(poison, st.integers(1, 20))
def test_culprits_are_found_and_the_others_parsed_together(poison: dict[int, Any], n_documents: int):
    def script(documents: Sequence[int]) -> Any:
        return next((poison[one] for one in documents if one in poison), rows(documents))

    found, _ = do(script, n_documents)
    healthy = [one for one in range(n_documents) if one not in poison]
    assert found.documents == [{"document": one, "with": healthy} for one in healthy]
    kinds = {"dead": "crash", "late": "time"}
    assert {row["document"]: row["kind"] for row in found.errors} == {
        one: kinds.get(how, "failed") if isinstance(how, str) else "failed"
        for one, how in poison.items()
        if one < n_documents
    }


@given(st.integers(0, 30), st.integers(1, 5))
def test_a_process_that_is_killed_blames_nobody(moment: int, n_documents: int):
    count = iter(range(10**6))

    def script(documents: Sequence[int]) -> Any:
        return "dead" if next(count) == moment else rows(documents)

    found, n_started = do(script, n_documents)
    assert found.documents == [{"document": one, "with": list(range(n_documents))} for one in range(n_documents)]
    assert not found.errors
    assert n_started == 1 + (moment == 0)


def test_documents_that_only_live_alone_are_parsed_alone():
    found, _ = do(lambda documents: "dead" if len(documents) > 1 else rows(documents), 3)
    assert [row["with"] for row in found.documents] == [[0], [1], [2]]
    assert not found.errors


def test_what_no_document_is_to_blame_for_is_an_error():
    with pytest.raises(InputError, match="gone"):
        do(lambda documents: ("input", "gone"), 3)
    with pytest.raises(MissingDependencyError, match="no spaCy"):
        do(lambda documents: ("fatal", "no spaCy"), 3)


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_one_line():
    with pytest.raises(GenrstError, match=r"no model or folder named 'nowhere'"):
        start_program(Settings("nowhere"))
