"""Replace the trees of silver documents by those of an ensemble of trained parsers, the teachers.

    python -m experiments.silver_trees.label --teacher runs/teacher/model --prepared FILE.npz \
        --output LABELLED.npz

Teachers must have the same labels and are combined with equal weights. Their symbols and tokenizers can differ from the
prepared features. Training and dev documents are unchanged. Prints the teachers' scores on dev, and their agreement
with the earlier silver trees.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.command import (
    Rows,
    count,
    read_environment,
    read_seeds,
    run_command,
    scores_of,
    start_parser,
)
from experiments.data import read_features
from experiments.silver_trees.teachers import load_teachers
from genrst.encoder.device import choose_device
from genrst.errors import UsageError
from genrst.parser.folders import find_model
from genrst.parser.options import ParserConfig
from genrst.rnng.config import Symbols
from genrst.rnng.examples import Example
from genrst.rnng.finder import RnngSettings
from genrst.rnng.learning import evaluate_parses
from genrst.task import AnyExample
from genrst.training.prepared import save_prepared

LABELLING = "labelling"
"""The key of the settings in the notes of the output file and in all rows."""
SETTINGS = ("teacher", "documents", "seed", "min_edus", "max_edus", "shard", "beam", "word_weight")


def main(words: Sequence[str] | None = None) -> None:
    """Read, label and write."""
    run_command(make_parser(), run, words)


def make_parser() -> argparse.ArgumentParser:
    """Make the argument parser of the command."""
    parser = start_parser(__doc__)
    add_silver_arguments(parser, "models", documents=2400, min_edus=10, max_edus=250)
    parser.add_argument("--beam", type=count, default=1, help="beam of bag-level search; 1: greedy search (default)")
    parser.add_argument(
        "--word-weight",
        type=float,
        default=0.5,
        help="weight of words of generative teachers, with --beam (default: 0.5)",
    )
    parser.add_argument("--at-once", type=count, default=120, help="hypotheses (documents times beam) searched at once")
    return parser


def add_silver_arguments(
    parser: argparse.ArgumentParser, kind: str, *, documents: int, min_edus: int, max_edus: int
) -> None:
    """Add the arguments of all commands in which teachers label silver documents."""
    parser.add_argument("--teacher", nargs="+", required=True, metavar="MODEL", help=f"folders or names of {kind}")
    parser.add_argument("--prepared", type=Path, required=True, help="file of features with silver documents")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--documents", type=count, default=documents, help="number of silver documents to sample")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the sample (default: 1)")
    parser.add_argument("--min-edus", type=count, default=min_edus, help="skip shorter silver documents")
    parser.add_argument("--max-edus", type=count, default=max_edus, help="skip longer silver documents")
    parser.add_argument(
        "--shard", type=read_shard, metavar="I/N", help="use only the I-th of every N sampled documents"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, help="file for the printed rows")


def read_shard(word: str) -> tuple[int, int]:
    """Parse I/N on the command line."""
    number, slash, of = word.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"must be I/N with 1 <= I <= N, got {word!r}")
    return int(number), int(of)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if len({*arguments.teacher}) < len(arguments.teacher):
        raise UsageError(f"--teacher: duplicate teachers, got {' '.join(arguments.teacher)}")
    ParserConfig(word_weight=arguments.word_weight)
    device = choose_device(arguments.device)
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    rows = Rows(read_environment(device), {LABELLING: settings, "seeds": read_all_seeds(arguments.teacher)})
    prepared = read_features(arguments.prepared, "rnng")
    symbols = prepared.symbols
    sizes = range(arguments.min_edus, arguments.max_edus + 1)
    silver = take_shard(choose(prepared.silver, sizes, arguments.documents, arguments.seed), arguments.shard)
    search = RnngSettings(None, "greedy" if arguments.beam == 1 else "bag", arguments.beam, arguments.word_weight)
    at_once = max(1, arguments.at_once // arguments.beam)
    teachers = load_teachers(arguments.teacher, prepared, device, search, at_once)
    _compare("dev", prepared.dev, teachers(prepared.dev), symbols, rows)
    found = teachers(silver)
    _compare("silver", silver, found, symbols, rows)
    silver = [replace(example, actions=actions) for example, actions in zip(silver, found, strict=True)]
    rows.write(arguments.results)
    notes = prepared.notes | {LABELLING: settings}
    save_prepared(replace(prepared, silver=silver, notes=notes), arguments.output)


def read_all_seeds(names: Sequence[str]) -> list[int | None]:
    """Return the seeds of models, given by name or folder."""
    return [seed for name in names for seed in read_seeds(find_model(name))]


def choose(silver: Sequence[AnyExample], sizes: range, n_documents: int, seed: int) -> list[AnyExample]:
    """Sample documents whose size is in the range, or return all if there are fewer."""
    fitting = [example for example in silver if example.n_edus in sizes]
    if not fitting:
        bounds = f"{sizes.start} to {sizes.stop - 1}"
        raise UsageError(f"none of the {len(silver)} silver documents has {bounds} EDUs")
    return random.Random(seed).sample(fitting, min(n_documents, len(fitting)))


def take_shard(silver: list[AnyExample], shard: tuple[int, int] | None) -> list[AnyExample]:
    """Return the I-th of every N documents, or all."""
    if shard is None:
        return silver
    number, of = shard
    if of > len(silver):
        raise UsageError(
            f"--shard: the number of shards must be at most the number of documents, {len(silver)}, got {of}"
        )
    return silver[number - 1 :: of]


def _compare(
    name: str, examples: Sequence[Example], found: Sequence[tuple[int, ...]], symbols: Symbols, rows: Rows
) -> None:
    """Score the trees found against the trees of the documents."""
    rows.add(documents=name, n=len(examples), **scores_of(evaluate_parses(examples, found, symbols)))


if __name__ == "__main__":
    main()
