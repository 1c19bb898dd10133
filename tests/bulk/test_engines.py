"""Whole runs: workers that are killed, documents that kill, and both engines, which agree to the bit."""

import os
import signal
import time
from collections import Counter
from pathlib import Path
from threading import Thread

import pytest

from genrst.bulk.engines import EngineName, Plan
from genrst.bulk.inputs import Choice
from genrst.bulk.run import Job, run
from genrst.bulk.work import Settings
from genrst.bulk.workers import Template
from genrst.errors import GenrstError
from tests.bulk import kill_driver
from tests.bulk.samples import KINDS, content, rows_of, write_lines, write_model, write_sentences

N_DOCUMENTS = 2000

pytestmark = pytest.mark.slow


def processes(title: str) -> list[int]:
    """Processes of this user whose command line has these words and that are descendants of this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if title in (path / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " "):
                found.append(int(path.name))
        except OSError:
            continue
    return [number for number in found if os.getpid() in ancestors(number)]


def ancestors(number: int) -> list[int]:
    found = []
    while number > 1:
        try:
            number = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        found.append(number)
    return found


def victims(engine: EngineName) -> list[int]:
    """The processes of which one is killed: an actor of Ray, or a worker that was forked from the template."""
    if engine == "ray":
        return processes("ray::MapWorker")
    programs = processes("genrst.bulk.workers")
    return [number for number in programs if ancestors(number)[0] in programs]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
def test_both_engines_lose_nothing_and_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("ray")
    model = write_model(tmp_path, monkeypatch)
    write_lines(tmp_path / "texts.jsonl", N_DOCUMENTS)
    settings = Settings(str(model), max_characters=5000, timeout=0.5)
    engines: tuple[EngineName, ...] = ("local", "ray")
    for engine in engines:
        job = Job([str(tmp_path / "texts.jsonl")], tmp_path / engine, settings, Choice(), plan=Plan(engine, 2))
        has_killed = False
        for report in run(job):
            if report.n_parts_done >= 4 and not has_killed:
                os.kill(victims(engine)[0], signal.SIGKILL)
                has_killed = True
        assert has_killed
        assert (report.n_documents, report.missed) == (N_DOCUMENTS, [])
    assert content(tmp_path / "local") == content(tmp_path / "ray")
    documents, errors = (rows_of(tmp_path / "ray", table) for table in ("documents", "errors"))
    assert sorted(row["document"] for row in [*documents, *errors]) == list(range(N_DOCUMENTS))
    assert {row["document"]: row["kind"] for row in errors} == {
        number: KINDS[number % 600] for number in range(N_DOCUMENTS) if number % 600 in KINDS
    }
    assert Counter(row["document"] for row in rows_of(tmp_path / "ray", "nodes")) == {
        row["document"]: 2 * row["n_edus"] - 1 for row in documents
    }


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
def test_the_process_that_loads_the_model_is_replaced(tmp_path: Path):
    """It is killed as soon as it is there; and again with all workers after a part."""
    write_sentences(tmp_path / "texts.jsonl", 40)

    def kill_first() -> None:
        while not (found := processes("genrst.bulk.workers")):
            time.sleep(0.01)
        os.kill(found[0], signal.SIGKILL)
        killed.append(found[0])

    killed = list[int]()
    thread = Thread(target=kill_first)
    thread.start()
    job = Job([str(tmp_path / "texts.jsonl")], tmp_path / "out", choice=Choice(part_documents=5), plan=Plan(workers=2))
    for report in run(job):
        if report.n_parts_done == 1:
            for number in processes("genrst.bulk.workers"):
                os.kill(number, signal.SIGKILL)
                killed.append(number)
    thread.join()
    assert len(killed) == 1 + 3
    assert (report.n_documents, report.n_errors, report.missed) == (40, 0, [])


def test_a_process_that_never_lives_to_load_the_model_is_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(GenrstError, match=r"a worker died 3 times while loading the model \(exit status 1\)"):
        Template(Settings())


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path):
    """More often, and with Ray: see `tests.bulk.kill_driver`."""
    n_kills = int(os.environ.get("GENRST_KILLS", "2"))
    counts = kill_driver.main("local", n_kills, tmp_path)
    assert counts == sorted(counts)
    assert 0 < counts[-1] < kill_driver.n_parts(n_kills)
