"""Join the shards of silver documents that several processes have labelled in parallel.

    python -m experiments.silver_trees.label --shard 1/2 --output PART1.npz …
    python -m experiments.silver_trees.label --shard 2/2 --output PART2.npz …
    python -m experiments.silver_trees.join PART1.npz PART2.npz --output LABELLED.npz

The result is identical to that of a single process.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from experiments.command import run_command, start_parser
from experiments.silver_trees.label import LABELLING
from genrst.errors import UsageError
from genrst.training.prepared import Prepared, load_prepared, save_prepared


def main(words: Sequence[str] | None = None) -> None:
    """Read the shards and write one file."""
    parser = start_parser(__doc__)
    parser.add_argument("parts", type=Path, nargs="+", metavar="PART")
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    save_prepared(join({path: load_prepared(path) for path in arguments.parts}), arguments.output)


def join(parts: dict[Path, Prepared]) -> Prepared:
    """Join all shards, with documents in their original order."""
    shards = {path: _shard(path, part) for path, part in parts.items()}
    (first_path, first), *_ = parts.items()
    for path, part in parts.items():
        if (_origin(part), shards[path][1]) != (_origin(first), shards[first_path][1]):
            raise UsageError(f"{first_path} and {path}: the parts have different features, teachers or settings")
    _, n_shards = shards[first_path]
    if sorted(number for number, _ in shards.values()) != list(range(1, n_shards + 1)):
        given = " ".join(f"{number}/{n_shards}" for number, _ in shards.values())
        raise UsageError(f"the parts must be each of the {n_shards} shards exactly once, got {given}")
    rounds = zip_longest(*(parts[path].silver for path in sorted(parts, key=shards.__getitem__)))
    silver = [example for of_round in rounds for example in of_round if example is not None]
    return replace(first, silver=silver, notes=_notes(first))


def _shard(path: Path, part: Prepared) -> tuple[int, int]:
    shard = part.notes.get(LABELLING, {}).get("shard")
    if shard is None:
        raise UsageError(f"{path}: not a shard of labelled documents (see label --shard)")
    number, of = shard
    return number, of


def _origin(part: Prepared) -> tuple[Any, ...]:
    """Return the data that all shards must have in common."""
    ids = [[example.id for example in examples] for examples in (part.train, part.dev)]
    return part.symbols, part.tokenizer, ids, _notes(part)


def _notes(part: Prepared) -> dict[str, Any]:
    return part.notes | {LABELLING: part.notes[LABELLING] | {"shard": None}}


if __name__ == "__main__":
    main()
