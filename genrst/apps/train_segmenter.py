"""The part of `genrst train` that trains the EDU segmenter."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from genrst.apps.messages import show, tell
from genrst.errors import UsageError
from genrst.model.device import choose_device
from genrst.training.config import resolve
from genrst.training.segmenter.config import SegmenterDataConfig, SegmenterRunConfig
from genrst.training.segmenter.prepared import SegmenterPrepared, load_segmenter_data
from genrst.training.segmenter.run import SegmenterRun
from genrst.training.segmenter.trainer import SegmenterRecord


def train_segmenter(tables: Mapping[str, Any], arguments: argparse.Namespace) -> int:
    """Prepare, then train every seed."""
    path = Path(arguments.config)
    config = resolve(SegmenterRunConfig, tables, path)
    if arguments.resume:
        raise UsageError("--resume is for parsers: a segmenter is trained in minutes, from the start")
    if arguments.prepare_only:
        show(str(_prepare(config.data, Path(arguments.cache))[1]))
        return 0
    runs = _runs(config, Path(arguments.output or Path("runs") / path.stem), arguments.device)
    prepared = _prepared(config.data, arguments)
    best = [_follow(run, prepared) for run in runs]
    if len(best) > 1:
        columns = {name: [record.dev_scores[name] for record in best] for name in best[0].dev_scores}
        tell("mean ± spread: " + " ".join(f"{name} {mean(v):.2f} ± {stdev(v):.2f}" for name, v in columns.items()))
    return 0


def _prepare(config: SegmenterDataConfig, cache: Path) -> tuple[SegmenterPrepared, Path]:
    # What needs spaCy is imported only where features are made.
    from genrst.apps.segmenter_preparation import prepare_segmenter_data

    return prepare_segmenter_data(config, cache)


def _prepared(config: SegmenterDataConfig, arguments: argparse.Namespace) -> SegmenterPrepared:
    if arguments.prepared:
        return load_segmenter_data(Path(arguments.prepared))
    return _prepare(config, Path(arguments.cache))[0]


def _runs(config: SegmenterRunConfig, folder: Path, device: str) -> Sequence[SegmenterRun]:
    seeds = config.training.seeds
    chosen = choose_device(device)
    runs = [SegmenterRun(config, seed, folder / f"seed-{seed}" if len(seeds) > 1 else folder, chosen) for seed in seeds]
    for run in runs:
        if run.exists:
            raise UsageError(f"{run.folder} holds a run already: --output starts another")
    return runs


def _follow(run: SegmenterRun, prepared: SegmenterPrepared) -> SegmenterRecord:
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
