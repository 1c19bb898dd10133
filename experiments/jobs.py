"""Run trainings and searches in parallel, each in its own process; existing results are skipped."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import torch

from experiments.data import Split
from experiments.runs import Result, Search, SeedRun, read_result, result_path, run_search, train
from genrst.training.prepared import Prepared

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Starts the trainings and searches that have no result file yet."""

    workers: Executor
    device: str
    at_once: int
    """The number of hypotheses searched at once."""

    def train(self, runs: Sequence[SeedRun], prepared: Prepared) -> Iterator[SeedRun]:
        """Train, and yield every run as soon as it is finished."""
        ready = [run for run in runs if run.is_trained]
        waiting = {self.workers.submit(train, run, prepared, self.device): run for run in runs if run not in ready}
        yield from ready
        for future in as_completed(waiting):
            future.result()
            yield waiting[future]

    def search(self, ready: Iterable[SeedRun], searches: Mapping[str, Sequence[Search]], split: Split) -> list[Result]:
        """Search with every run as soon as it is ready; results are ordered by model, search and seed."""
        runs: list[SeedRun] = []
        waiting: list[Future[None]] = []
        for run in ready:
            runs.append(run)
            waiting += self._start(run, searches[run.model], split)
        for future in as_completed(waiting):
            future.result()
        return [
            read_result(run, search, split)
            for model, of_model in searches.items()
            for search in of_model
            for run in sorted(runs, key=lambda run: run.seed)
            if run.model == model
        ]

    def _start(self, run: SeedRun, searches: Sequence[Search], split: Split) -> list["Future[None]"]:
        missing = [search for search in searches if not result_path(run, search, split).is_file()]
        # The slowest searches start first, so that no single worker is left running at the end.
        missing.sort(key=lambda search: -search.beam)
        return [self.workers.submit(run_search, run, search, split, self.at_once, self.device) for search in missing]


class Here(Executor):
    """Runs each task immediately in this process."""

    def submit(
        self, fn: Callable[Parameters, Value], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> "Future[Value]":
        """Run the task; it is done when this returns."""
        future: Future[Value] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def start_workers(n_jobs: int) -> Iterator[Executor]:
    """Yield an executor; when a task fails, tasks that have not started are cancelled."""
    if n_jobs == 1:
        yield Here()
        return
    n_threads = max(1, torch.get_num_threads() // n_jobs)
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(n_jobs, context, initializer=_start_worker, initargs=(n_threads,))
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _start_worker(n_threads: int) -> None:
    torch.set_num_threads(n_threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit with the parent process, because an orphaned worker would write to the folders of the next run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
