"""The part of `genrst train` that trains the EDU segmenter.

Train a parser, or the EDU segmenter.

  genrst train configs/paper.toml --set data.path=GUM
  genrst train configs/paper.toml --set training.seeds=[1,2,3] --output runs/paper
  genrst train configs/paper.toml --resume auto
  torchrun --nproc-per-node 2 -m genrst.cli.main train configs/paper.toml
  genrst train configs/segmenter.toml --set data.path=GUM --set data.silver=AMALGUM

The run's folder holds the resolved configuration, a log (JSON lines), the learning curve, the checkpoint and the best
model. Features are prepared once and cached; `--prepare-only` stops there, and `--prepared FILE` trains from such a
file on a machine without spaCy or the corpus.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from genrst.config import resolve
from genrst.console import show, tell
from genrst.errors import MissingDependencyError, UsageError
from genrst.model.device import choose_device
from genrst.segmenter.data import SegmenterPrepared, load_segmenter_data
from genrst.segmenter.segmenter_config import SegmenterDataConfig, SegmenterRunConfig
from genrst.segmenter.training import SegmenterRecord, SegmenterRun

if TYPE_CHECKING:
    import torch

    from genrst.training.data import Prepared
    from genrst.training.distributed import Processes
    from genrst.training.run import Run
    from genrst.training.run_config import RunConfig
    from genrst.training.trainer import Record


def train_segmenter(tables: Mapping[str, Any], arguments: argparse.Namespace) -> int:
    """Prepare, then train every seed."""
    path = Path(arguments.config)
    config = resolve(SegmenterRunConfig, tables, path)
    if arguments.resume:
        raise UsageError("--resume is for parsers: a segmenter is trained in minutes, from the start")
    if arguments.prepare_only:
        show(str(_prepare(config.data, Path(arguments.cache))[1]))
        return 0
    runs = _segmenter_runs(config, Path(arguments.output or Path("runs") / path.stem), arguments.device)
    prepared = _segmenter_data(config.data, arguments)
    best = [_follow_segmenter(run, prepared) for run in runs]
    if len(best) > 1:
        columns = {name: [record.dev_scores[name] for record in best] for name in best[0].dev_scores}
        tell("mean ± spread: " + " ".join(f"{name} {mean(v):.2f} ± {stdev(v):.2f}" for name, v in columns.items()))
    return 0


def _prepare(config: SegmenterDataConfig, cache: Path) -> tuple[SegmenterPrepared, Path]:
    # What needs spaCy is imported only where features are made.
    from genrst.segmenter.data import prepare_segmenter_data

    return prepare_segmenter_data(config, cache)


def _segmenter_data(config: SegmenterDataConfig, arguments: argparse.Namespace) -> SegmenterPrepared:
    if arguments.prepared:
        return load_segmenter_data(Path(arguments.prepared))
    return _prepare(config, Path(arguments.cache))[0]


def _segmenter_runs(config: SegmenterRunConfig, folder: Path, device: str) -> Sequence[SegmenterRun]:
    seeds = config.training.seeds
    chosen = choose_device(device)
    runs = [SegmenterRun(config, seed, folder / f"seed-{seed}" if len(seeds) > 1 else folder, chosen) for seed in seeds]
    for run in runs:
        if run.exists:
            raise UsageError(f"{run.folder} holds a run already: --output starts another")
    return runs


def _follow_segmenter(run: SegmenterRun, prepared: SegmenterPrepared) -> SegmenterRecord:
    """Train one seed, telling what happens; returns the record of its best epoch."""
    best = None
    for record in run.records(prepared):
        best = record if record.is_best or best is None else best
        tell(
            f"seed {run.seed} epoch {record.epoch}: loss {record.train_loss:.4f}, dev {_scores(record)}"
            f"{' best' if record.is_best else ''} [{record.seconds:.1f} s]"
        )
    assert best is not None
    tell(f"seed {run.seed}: best epoch {best.epoch}, {_scores(best)}")
    return best


def _scores(record: SegmenterRecord) -> str:
    return " ".join(f"{name} {score:.2f}" for name, score in record.dev_scores.items())


HELP = "train a parser or a segmenter"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst train`."""
    parser.add_argument("config", metavar="CONFIG.toml", help="what to train, on what, and how")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="a.b=c", help="change a setting")
    parser.add_argument("--output", metavar="DIR", help="the run's folder (default: runs/NAME of the configuration)")
    parser.add_argument("--resume", metavar="auto|PATH", help="go on from the run's checkpoint, or from a given one")
    parser.add_argument(
        "--cache", metavar="DIR", default="cache", help="where prepared features are kept (default: cache)"
    )
    parser.add_argument("--prepared", metavar="FILE", help="train from this file of prepared features")
    parser.add_argument("--prepare-only", action="store_true", help="prepare features, print their file, and stop")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))


def run(arguments: argparse.Namespace) -> int:
    """Prepare, then train every seed."""
    from genrst.config import read_tables, resolve
    from genrst.training.run_config import RunConfig

    path = Path(arguments.config)
    tables = read_tables(path, arguments.changes)
    if "segmenter" in tables:
        return train_segmenter(tables, arguments)
    config = resolve(RunConfig, tables, path)
    if arguments.prepare_only:
        from genrst.training.data import prepare_data

        show(str(prepare_data(config.data, Path(arguments.cache), config.model.encoder)[1]))
        return 0
    _train(config, arguments)
    return 0


def _train(config: "RunConfig", arguments: argparse.Namespace) -> None:
    from genrst.model.device import choose_device
    from genrst.training.distributed import join_processes, leave_processes

    device = choose_device(arguments.device)
    processes = join_processes(device)
    try:
        folder = Path(arguments.output or Path("runs") / Path(arguments.config).stem)
        runs = _runs(config, folder, device, processes)
        _check(runs, arguments.resume)
        prepared = _prepared(config, arguments)
        histories = {f"seed {run.seed}": list(_follow(run, prepared, arguments.resume)) for run in runs}
        if processes.is_first:
            _finish(histories, folder, config.training.select)
    finally:
        leave_processes()


def _prepared(config: "RunConfig", arguments: argparse.Namespace) -> "Prepared":
    from genrst.training.data import load_prepared

    if arguments.prepared:
        return load_prepared(Path(arguments.prepared))
    from genrst.training.data import prepare_data

    return prepare_data(config.data, Path(arguments.cache), config.model.encoder)[0]


def _runs(config: "RunConfig", folder: Path, device: "torch.device", processes: "Processes") -> "list[Run]":
    from genrst.training.run import Run

    seeds = config.training.seeds
    return [
        Run(config, seed, folder if len(seeds) == 1 else folder / f"seed-{seed}", device, processes) for seed in seeds
    ]


def _check(runs: "list[Run]", resume: str | None) -> None:
    """What can be wrong with the folders, before features are prepared or the first of several seeds is trained."""
    if resume not in (None, "auto") and len(runs) > 1:
        raise UsageError("--resume PATH is for one seed; use --resume auto for several")
    for run in runs:
        if resume is None and run.find_checkpoint() is not None and run.processes.is_first:
            raise UsageError(
                f"{run.folder} holds a run already: --resume auto goes on with it, --output starts another"
            )


def _follow(run: "Run", prepared: "Prepared", resume: str | None) -> "Iterator[Record]":
    """Train one seed, telling what happens; yields all its records, also those from before a resumption."""
    from genrst.training.run import LOG, read_log

    checkpoint = run.find_checkpoint() if resume == "auto" else Path(resume) if resume else None
    for record in run.records(prepared, checkpoint):
        if run.processes.is_first:
            tell(_line(run.seed, record))
    yield from read_log(run.folder / LOG) if run.processes.is_first else ()


def _line(seed: int, record: "Record") -> str:
    scores = " ".join(f"{aspect} {score:.1f}" for aspect, score in record.dev_scores.items())
    perplexity = "" if record.dev_perplexity is None else f", perplexity {record.dev_perplexity:.1f}"
    return (
        f"seed {seed} epoch {record.epoch}: loss {record.train_loss:.3f}, dev loss {record.dev_loss:.3f} "
        f"(actions {record.dev_action_loss:.3f}{perplexity}) {scores}"
        f"{' best' if record.is_best else ''} [{record.train_seconds:.1f} + {record.dev_seconds:.1f} s]"
    )


def _finish(histories: "dict[str, list[Record]]", folder: Path, select: str) -> None:
    """The curve, and the best scores of each seed with their mean and spread."""
    from statistics import mean, stdev

    from genrst.training.run import plot_curves

    best = []
    for name, records in histories.items():
        # A finished run that was resumed into another folder has no records there.
        if scored := [record for record in records if record.dev_scores]:
            best.append(max(scored, key=lambda record: record.dev_scores[select]))
            scores = " ".join(f"{aspect} {score:.2f}" for aspect, score in best[-1].dev_scores.items())
            tell(f"{name}: best epoch {best[-1].epoch}, {scores}")
    if len(best) > 1:
        columns = {aspect: [record.dev_scores[aspect] for record in best] for aspect in best[0].dev_scores}
        tell("mean ± spread: " + " ".join(f"{a} {mean(v):.2f} ± {stdev(v):.2f}" for a, v in columns.items()))
    try:
        plot_curves(histories, folder / "curve.svg")
    except MissingDependencyError as error:
        tell(f"no learning curve: {error}")
