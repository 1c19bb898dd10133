"""Train a parser or a segmenter.

  genrst train paper --set data.path=GUM
  genrst train paper --set training.seeds=[1,2,3] --output runs/paper
  genrst train paper --resume auto
  genrst train mpnet-chart --from en --set data.path=FOLDER
  torchrun --nproc-per-node 2 -m genrst.cli.main train paper

The run folder holds the resolved configuration, a log (JSON lines), the learning curve, the checkpoint and the best
model. Features are prepared once and cached. --prepare-only stops after that step; --prepared FILE trains from such a
file on a machine without spaCy or the corpus.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

from genrst.cli.console import show
from genrst.cli.guard import Guard, add_force_argument
from genrst.config import find_config
from genrst.errors import MissingDependencyError, UsageError
from genrst.io import read_bytes, tell

if TYPE_CHECKING:
    from genrst.training.prepared import Prepared
    from genrst.training.run import Run
    from genrst.training.trainer import Record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst train`."""
    parser.add_argument(
        "config",
        metavar="CONFIG",
        help="a TOML file, or the name of a built-in configuration such as small or paper",
    )
    parser.add_argument(
        "--set", dest="changes", action="append", default=[], metavar="a.b=c", help="override a setting; repeatable"
    )
    parser.add_argument(
        "--from", dest="start", metavar="MODEL", help="start from the weights of a trained chart such as en"
    )
    parser.add_argument("--output", metavar="DIR", help="run folder (default: runs/ and the name of the configuration)")
    parser.add_argument(
        "--resume", metavar="auto|PATH", help="resume from the latest checkpoint in the run folder (auto) or from PATH"
    )
    parser.add_argument("--cache", metavar="DIR", default="cache", help="folder for prepared features (default: cache)")
    parser.add_argument("--prepared", metavar="FILE", help="train from this file of prepared features")
    parser.add_argument("--prepare-only", action="store_true", help="prepare features, print their file, and stop")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="default: auto")
    add_force_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prepare the features, then train each seed."""
    from genrst.encoder.device import choose_device
    from genrst.parser.folders import find_model
    from genrst.training.data import prepare_data
    from genrst.training.distributed import join_processes, leave_processes
    from genrst.training.prepared import load_prepared
    from genrst.training.run import CURVE, Run, plot_curves
    from genrst.training.run_config import load_config

    changes = [*arguments.changes, *([f"training.start={find_model(arguments.start)}"] if arguments.start else [])]
    config = load_config(find_config(arguments.config), changes)
    cache = Path(arguments.cache)
    if arguments.prepare_only:
        show(str(prepare_data(config, cache)[1]))
        return 0
    device = choose_device(arguments.device)
    processes = join_processes(device)
    try:
        folders = _seed_folders(config.training.seeds, arguments)
        runs = [Run(config, seed, folder, device, processes) for seed, folder in folders.items()]
        guard, curve = Guard("train", arguments.force), _run_folder(arguments) / CURVE
        _check(runs, arguments.resume)
        if processes.is_first:
            _check_files(runs, guard)
            guard.check(curve)
        if arguments.prepared:
            prepared = load_prepared(Path(arguments.prepared))
        else:
            prepared, _ = prepare_data(config, cache)
        histories = {f"seed {run.seed}": _follow(run, prepared, arguments.resume, guard) for run in runs}
        if not processes.is_first:
            return 0
        # A finished run that is resumed into another folder has no records there.
        scored = {name: [record for record in records if record.dev_scores] for name, records in histories.items()}
        best = {
            name: max(records, key=lambda one: config.training.judge(one.dev_loss, one.dev_scores))
            for name, records in scored.items()
            if records
        }
        _tell_spread([_tell_best(*pair) for pair in best.items()])
        try:
            plot_curves(histories, curve)
            guard.note(curve)
        except MissingDependencyError as error:
            tell(f"no learning curve: {error}")
        return 0
    finally:
        leave_processes()


def _check(runs: "list[Run]", resume: str | None) -> None:
    """Check, before features are prepared, that the run folders match --resume."""
    if resume not in (None, "auto") and len(runs) > 1:
        raise UsageError("--resume PATH works for one seed only; use --resume auto for several")
    for run in runs:
        if resume is None and run.find_checkpoint() is not None and run.processes.is_first:
            raise UsageError(
                f"{run.folder} already holds a run: use --resume auto to continue it, or --output to start another"
            )


def _check_files(runs: "Sequence[Run]", guard: Guard) -> None:
    """Refuse a run folder with other files: its configuration must have been written by genrst, or be identical."""
    from genrst.training.run import CHECKPOINT, CONFIG, LOG, MODEL, config_text

    for run in runs:
        config = run.folder / CONFIG
        if not config.is_file():
            for name in (CONFIG, LOG, MODEL, CHECKPOINT):
                guard.check(run.folder / name)
        elif read_bytes(config) != config_text(run.config).encode():
            guard.check(config)


def _follow(run: "Run", prepared: "Prepared", resume: str | None, guard: Guard) -> "list[Record]":
    """Train one seed and report progress; return all its records, including those from before a resumption."""
    from genrst.training.run import CONFIG, LOG, read_log

    checkpoint = run.find_checkpoint() if resume == "auto" else Path(resume) if resume else None
    for record in run.records(prepared, checkpoint):
        if run.processes.is_first:
            guard.note(run.folder / CONFIG)
            perplexity = "" if record.dev_perplexity is None else f", perplexity {record.dev_perplexity:.1f}"
            tell(
                f"seed {run.seed} epoch {record.epoch}: loss {record.train_loss:.3f}, dev loss {record.dev_loss:.3f} "
                f"(actions {record.dev_action_loss:.3f}{perplexity}) {_scores(record, 1)}"
                f"{' best' if record.is_best else ''} [{record.train_seconds:.1f} + {record.dev_seconds:.1f} s]"
            )
    if not run.processes.is_first:
        return []
    guard.note(run.folder / CONFIG)  # for a run that had finished before, the loop above has no records
    return read_log(run.folder / LOG)


def _run_folder(arguments: argparse.Namespace) -> Path:
    return Path(arguments.output or Path("runs") / Path(arguments.config).stem)


def _seed_folders(seeds: Sequence[int], arguments: argparse.Namespace) -> dict[int, Path]:
    """Return the folder of each seed: the run folder itself if there is only one seed."""
    folder = _run_folder(arguments)
    return {seed: folder if len(seeds) == 1 else folder / f"seed-{seed}" for seed in seeds}


def _tell_best(name: str, best: "Record") -> dict[str, float]:
    """Report the best epoch of a seed and return its scores."""
    tell(f"{name}: best epoch {best.epoch}, {_scores(best)}")
    return best.dev_scores


def _tell_spread(best: Sequence[Mapping[str, float]]) -> None:
    """Report the mean and standard deviation of the best scores of several seeds."""
    if len(best) > 1:
        columns = {name: [scores[name] for scores in best] for name in best[0]}
        tell("mean ± spread: " + " ".join(f"{name} {mean(v):.2f} ± {stdev(v):.2f}" for name, v in columns.items()))


def _scores(record: "Record", n_digits: int = 2) -> str:
    return " ".join(f"{name} {score:.{n_digits}f}" for name, score in record.dev_scores.items())
