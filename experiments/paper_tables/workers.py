"""Running tasks side by side in processes of their own, or one after the other in this one."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import torch

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


class Here(Executor):
    """Runs a task at once, in this process."""

    def submit(
        self, fn: Callable[Parameters, Value], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> "Future[Value]":
        """The task is done when this returns."""
        future: Future[Value] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def start_workers(n_jobs: int) -> Iterator[Executor]:
    """An executor; when something fails, tasks that have not begun are dropped."""
    if n_jobs == 1:
        yield Here()
        return
    n_threads = max(1, torch.get_num_threads() // n_jobs)
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(n_jobs, context, initializer=_start, initargs=(n_threads,))
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _start(n_threads: int) -> None:
    torch.set_num_threads(n_threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would go on, and write into the folders of the next start."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
