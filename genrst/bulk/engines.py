"""Who does the units of work: processes on this machine, or Ray on one machine or many.

Both give units to the same `Worker`s and hand back parts in any order, so that results do not depend on them.
"""

import logging
import os
import pickle
import queue
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from genrst.bulk.inputs import Unit
from genrst.bulk.parts import Part, PartFormat, make_part
from genrst.bulk.work import Settings
from genrst.bulk.workers import Start, Template, Worker, can_fork, start_program
from genrst.errors import GenrstError, InputError, MissingDependencyError, UsageError

EngineName: TypeAlias = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Missed:
    """A unit that was not done, because its input is not what it was: the next run does it."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How many workers there are, and where."""

    engine: EngineName = "local"
    workers: int | None = None
    """As many as there are cores, if none are given."""
    address: str | None = None
    """Of a Ray cluster; without one, Ray is started here."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"--workers must be 1 or more, got {self.workers}")
        if self.address is not None and self.engine != "ray":
            raise UsageError(f"--address must go with --engine ray, got {self.engine}")


def run_units(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Iterator[Part | Missed]:
    """The parts of all units, in any order."""
    run = _run_with_ray if plan.engine == "ray" else _run_here
    return run(units, settings, format, plan)


def _do(worker: Worker, unit: Unit, format: PartFormat) -> Part | Missed:
    try:
        return make_part(unit.number, worker.do(unit), format)
    except InputError as error:
        return Missed(unit.number, str(error))


# On this machine.


def _run_here(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Iterator[Part | Missed]:
    """A thread for each worker, which waits for its process."""
    can_ask = hasattr(os, "sched_getaffinity")
    cores = sorted(os.sched_getaffinity(0)) if can_ask else list(range(os.cpu_count() or 1))
    n_workers = min(plan.workers or len(cores), len(units))
    # On cores of their own, if nothing else is meant to run there: other runs would choose the same.
    places: list[int | None] = [*cores] if n_workers == len(cores) and hasattr(os, "sched_getaffinity") else []
    todo: queue.SimpleQueue[Unit] = queue.SimpleQueue()
    for unit in units:
        todo.put(unit)
    # Finished parts wait for the one who writes them, but not many.
    done: queue.Queue[Part | Missed | BaseException | None] = queue.Queue(2 * n_workers)
    template = Template(settings) if can_fork(settings) else None
    is_over = threading.Event()
    starts = [
        partial(template.fork, place) if template else partial(start_program, _on_device(settings, number), place)
        for number, place in enumerate(places or [None] * n_workers)
    ]
    threads = [
        threading.Thread(target=_work_through, args=(todo, done, start, settings, format, is_over), daemon=True)
        for start in starts
    ]
    try:
        for thread in threads:
            thread.start()
        n_left = n_workers
        while n_left:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                n_left -= 1
            else:
                yield found
    finally:
        is_over.set()
        if template:
            template.close()


def _work_through(
    todo: "queue.SimpleQueue[Unit]",
    done: "queue.Queue[Part | Missed | BaseException | None]",
    start: Start,
    settings: Settings,
    format: PartFormat,
    is_over: threading.Event,
) -> None:
    worker = Worker(start, settings.timeout)
    try:
        with suppress(queue.Empty):
            while not is_over.is_set():
                done.put(_do(worker, todo.get_nowait(), format))
        worker.close()
        done.put(None)
    except BaseException as error:
        done.put(error)


def _on_device(settings: Settings, number: int) -> Settings:
    """Workers take turns with the GPUs."""
    if settings.load.device != "cuda":
        return settings
    import torch

    device = f"cuda:{number % max(torch.cuda.device_count(), 1)}"
    return replace(settings, load=replace(settings.load, device=device))


# On Ray.


class Actor:
    """A worker of Ray Data."""

    def __init__(self, settings: Settings, format: PartFormat) -> None:
        self.format: PartFormat = format
        self.template = Template(settings) if can_fork(settings) else None
        start: Start = self.template.fork if self.template else partial(start_program, settings)
        self.worker = Worker(start, settings.timeout)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Do a unit."""
        try:
            result: Part | Missed | GenrstError = _do(self.worker, pickle.loads(row["unit"]), self.format)
        except GenrstError as error:
            result = error
        return {"result": pickle.dumps(result)}


def _run_with_ray(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Iterator[Part | Missed]:
    """An actor for each worker. Ray starts those again that die, and gives their units to others."""
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError("--engine ray needs Ray: pip install 'genrst[bulk]'") from error
    try:
        _start_ray(plan)
        for row in _deal_out(units, settings, format, plan).iter_rows():
            result = pickle.loads(row["result"])
            if isinstance(result, GenrstError):
                raise result
            yield result
    finally:
        ray.shutdown()


def _start_ray(plan: Plan) -> None:
    """Connect Ray to a cluster, or start it here; it is silent."""
    import ray
    import ray.data

    # Of its own accord Ray gives way to all other programs.
    os.environ.setdefault("RAY_worker_niceness", "0")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # It warns of its own use of itself.
    warnings.filterwarnings("ignore", module=r"ray\b")
    here: dict[str, Any] = {} if plan.address else {"num_cpus": plan.workers, "include_dashboard": False}
    try:
        ray.init(plan.address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise GenrstError(f"--address must be that of a Ray cluster, got {plan.address}: {reason}") from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False


def _deal_out(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Any:  # noqa: ANN401
    """The data set of results. Rows hold bytes, which Ray passes on as they are."""
    import ray.data

    resources: dict[str, float] = ray.cluster_resources()
    n_workers = min(plan.workers or int(resources.get("CPU", 1)), len(units))
    n_gpus = min(resources.get("GPU", 0) / n_workers, 1) if settings.load.device == "cuda" else 0
    rows = ray.data.from_items([{"unit": pickle.dumps(unit)} for unit in units], override_num_blocks=len(units))
    # Without a number of workers there are as many as Ray finds room and work for.
    workers = ray.data.ActorPoolStrategy(min_size=n_workers if plan.workers else 1, max_size=n_workers)
    return rows.map(Actor, fn_constructor_args=(settings, format), compute=workers, num_cpus=1, num_gpus=n_gpus)
