"""Engines that run units of work: processes on this machine, or Ray on one or more machines.

Both pass units to the same `Worker`s and return parts in any order, so results do not depend on the engine.
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
    """A unit that was skipped because its input has changed or vanished; the next run tries it again."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The engine and the number of workers."""

    engine: EngineName = "local"
    workers: int | None = None
    """The number of workers (default: one per core)."""
    address: str | None = None
    """The address of a Ray cluster (default: start Ray on this machine)."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"--workers must be at least 1, got {self.workers}")
        if self.address is not None and self.engine != "ray":
            raise UsageError(f"--address works only with --engine ray, got {self.engine}")


def run_units(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Iterator[Part | Missed]:
    """Yield the parts of all units, in any order."""
    run = _run_with_ray if plan.engine == "ray" else _run_here
    return run(units, settings, format, plan)


def _do(worker: Worker, unit: Unit, format: PartFormat) -> Part | Missed:
    try:
        return make_part(unit.number, worker.do(unit), format)
    except InputError as error:
        return Missed(unit.number, str(error))


# On this machine.


def _run_here(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Iterator[Part | Missed]:
    """Run workers on this machine, with a thread per worker that waits for its process."""
    can_ask = hasattr(os, "sched_getaffinity")
    cores = sorted(os.sched_getaffinity(0)) if can_ask else list(range(os.cpu_count() or 1))
    n_workers = min(plan.workers or len(cores), len(units))
    # Workers are pinned only if they use all cores; otherwise another run would pin its workers to the same cores.
    places: list[int | None] = [*cores] if n_workers == len(cores) and hasattr(os, "sched_getaffinity") else []
    todo: queue.SimpleQueue[Unit] = queue.SimpleQueue()
    for unit in units:
        todo.put(unit)
    # The queue of finished parts is bounded, so that workers wait for the writer.
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
    """Assign GPUs to workers in turn."""
    if settings.load.device != "cuda":
        return settings
    import torch

    device = f"cuda:{number % max(torch.cuda.device_count(), 1)}"
    return replace(settings, load=replace(settings.load, device=device))


# On Ray.


class Actor:
    """A worker as an actor of Ray Data."""

    def __init__(self, settings: Settings, format: PartFormat) -> None:
        self.format: PartFormat = format
        self.template = Template(settings) if can_fork(settings) else None
        start: Start = self.template.fork if self.template else partial(start_program, settings)
        self.worker = Worker(start, settings.timeout)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Run a unit."""
        try:
            result: Part | Missed | GenrstError = _do(self.worker, pickle.loads(row["unit"]), self.format)
        except GenrstError as error:
            result = error
        return {"result": pickle.dumps(result)}


def _run_with_ray(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Iterator[Part | Missed]:
    """Run workers as Ray actors. Ray restarts actors that die, and reassigns their units."""
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
    """Connect to a Ray cluster, or start Ray on this machine, without its log output."""
    import ray
    import ray.data

    # By default, Ray runs workers at a lower priority than all other programs.
    os.environ.setdefault("RAY_worker_niceness", "0")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # Ray warns about its own use of deprecated parts.
    warnings.filterwarnings("ignore", module=r"ray\b")
    here: dict[str, Any] = {} if plan.address else {"num_cpus": plan.workers, "include_dashboard": False}
    try:
        ray.init(plan.address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise GenrstError(f"--address must be the address of a Ray cluster, got {plan.address}: {reason}") from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False


def _deal_out(units: Sequence[Unit], settings: Settings, format: PartFormat, plan: Plan) -> Any:  # noqa: ANN401
    """Return the data set of results. Its rows are pickled bytes, which Ray passes on unchanged."""
    import ray.data

    resources: dict[str, float] = ray.cluster_resources()
    n_workers = min(plan.workers or int(resources.get("CPU", 1)), len(units))
    n_gpus = min(resources.get("GPU", 0) / n_workers, 1) if settings.load.device == "cuda" else 0
    rows = ray.data.from_items([{"unit": pickle.dumps(unit)} for unit in units], override_num_blocks=len(units))
    # Without a given number of workers, Ray starts as many as it has resources and work for.
    workers = ray.data.ActorPoolStrategy(min_size=n_workers if plan.workers else 1, max_size=n_workers)
    return rows.map(Actor, fn_constructor_args=(settings, format), compute=workers, num_cpus=1, num_gpus=n_gpus)
