"""What options of training or of the model give: train a configuration as it is and with changes, search, compare.

    python -m experiments.additions.run --data GUM --output runs/additions --config minilm-discriminative \\
        --change model.layout_kinds=true --change "training.exploration=0.5 training.averaging=0.99"
    python -m experiments.additions.run --prepared FILE.npz --output runs/additions --config small --jobs 4 --change …

Everything is written as it comes and never computed twice: a run that was killed goes on with the same command, and
one with more changes or seeds takes what is there. Prints a line of JSON for each change and search of dev; all of them
are in results.jsonl, and in table.md to read.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.additions.table import BASE, as_table, compare_with_base
from experiments.command import (
    add_search_arguments,
    check_once,
    check_search_arguments,
    count,
    find_config,
    keep_settings,
    run_command,
    start_parser,
)
from experiments.paper_tables.data import load_dev, load_features, shared_source
from experiments.paper_tables.schedule import Schedule
from experiments.paper_tables.searches import Search, list_bag_searches
from experiments.paper_tables.train import Member, make_members
from experiments.paper_tables.workers import start_workers
from genrst.errors import UsageError
from genrst.io import write_atomically
from genrst.training.run_config import load_config

SETTINGS = ("config", "data", "prepared", "settings")
"""The arguments that must stay the same, for what they make is shared by all changes."""

LONGEST_NAME = 100
"""Of a folder."""


def main(words: Sequence[str] | None = None) -> None:
    """Do all trainings and searches that are not done yet, and compare."""
    run_command(_parser(), run, words)


def _parser() -> argparse.ArgumentParser:
    parser = start_parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="DIR", type=Path, help="the folder of the corpus")
    source.add_argument("--prepared", metavar="FILE", type=Path, help="features of train and dev, by genrst train")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=Path("cache"), help="where features are kept")
    parser.add_argument("--output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--config", required=True, help="a file, or a name in configs/")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="a.b=c", help="in all trainings")
    help = "a training with this, or with several settings in one word; may be given again"
    parser.add_argument("--change", dest="changes", action="append", default=[], metavar="a.b=c", help=help)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--beam", type=count, default=10, help="of bag-level search")
    add_search_arguments(parser, [0.5])
    return parser


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    _check(arguments)
    members = _members(arguments)
    prepared = load_features([member.config for member in members], arguments.prepared, arguments.cache)
    keep_settings(arguments, SETTINGS, arguments.output / "settings.json")
    searches = {member.model: _searches(member, arguments) for member in members}
    with start_workers(arguments.jobs) as workers:
        schedule = Schedule(workers, arguments.device, arguments.at_once)
        systems = schedule.search(schedule.train(members, prepared), searches, load_dev(prepared))
    rows = compare_with_base(systems)
    lines = "".join(row.as_line() for row in rows)
    print(lines, end="", flush=True)
    write_atomically(arguments.output / "results.jsonl", lines)
    about = " ".join([f"`{find_config(arguments.config).name}`", *(f"`{one}`" for one in arguments.settings)])
    write_atomically(arguments.output / "table.md", as_table(rows, about, prepared.notes.get("inventory", "a corpus")))


def _check(arguments: argparse.Namespace) -> None:
    check_once(arguments, "seeds", "word_weights")
    check_search_arguments(arguments)


def _members(arguments: argparse.Namespace) -> list[Member]:
    """Every seed of base and of each change; the first seed of all comes first, so that what fails fails early."""
    changes = [[], *(change.split() for change in arguments.changes)]
    by_seed = list(zip(*(_of_change(change, arguments) for change in changes), strict=True))
    for number, member in enumerate(by_seed[0]):
        if any(member.config == other.config or member.folder == other.folder for other in by_seed[0][:number]):
            raise UsageError(f"--change: each must make another configuration, was: {member.model!r}")
    members = [member for of_seed in by_seed for member in of_seed]
    shared_source([member.config for member in members])
    for member in members:
        member.check_settings()
    return members


def _of_change(change: Sequence[str], arguments: argparse.Namespace) -> Iterator[Member]:
    """All seeds of a change, or of base where nothing changes."""
    name = " ".join(change) or BASE
    config = load_config(find_config(arguments.config), [*arguments.settings, *change])
    if arguments.data is not None:
        config = replace(config, data=replace(config.data, path=str(arguments.data)))
    folder = re.sub(r"[^\w.=-]+", "_", name)[:LONGEST_NAME]
    return make_members(name, config, arguments.seeds, arguments.output / folder)


def _searches(member: Member, arguments: argparse.Namespace) -> list[Search]:
    return [*list_bag_searches(member.config.model, arguments.beam, arguments.word_weights), Search("greedy")]


if __name__ == "__main__":
    main()
