"""Describe a corpus: documents, EDUs, relations, depth and left-branching of its trees. Or a model: its card.

genrst info GUM --split dev
genrst info en
genrst info runs/paper/model
"""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genrst.apps.corpus_arguments import add_corpus_arguments, open_corpus
from genrst.apps.info_model import format_model, model_folder
from genrst.apps.messages import show
from genrst.apps.progress import progress

if TYPE_CHECKING:
    from genrst.corpora.statistics import Statistics

HELP = "describe a corpus or a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst info`."""
    parser.add_argument(
        "path", metavar="CORPUS|MODEL", help="a file or folder with trees, the folder of a corpus, or a model"
    )
    add_corpus_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Count and print, or print what is known of a model."""
    folder = model_folder(arguments.path)
    if folder is not None:
        return _describe(folder, arguments.json)
    from genrst.corpora.statistics import count

    corpus = open_corpus(arguments.path, arguments)
    statistics = count(progress(corpus, "reading", len(corpus)))
    if arguments.json:
        show(json.dumps({"corpus": corpus.name, "split": corpus.split, **statistics.as_dict()}, ensure_ascii=False))
    else:
        show(format_statistics(statistics, f"{corpus.name}, {corpus.split or 'all documents'}"))
    return 0


def _describe(folder: Path, as_json: bool) -> int:
    from genrst.model_folder import describe_model

    facts = describe_model(folder)
    show(json.dumps(facts, ensure_ascii=False) if as_json else format_model(facts))
    return 0


def format_statistics(statistics: "Statistics", title: str) -> str:
    """A text table."""
    numbers = statistics.as_dict()
    counts = ("documents", "trees", "edus", "tokens", "sentences", "paragraphs", "signals", "secondary_edges")
    shapes = ("edus_per_document", "depth", "stack_depth", "left_branching", "skew")
    lines = [title, ""]
    lines += [
        f"{name.replace('_', ' '):<20}{numbers[name]:>12,}" for name in counts if numbers[name] or name == "documents"
    ]
    lines += ["", f"{'':<20}{'min':>12}{'median':>12}{'mean':>12}{'max':>12}"]
    lines += [_shape_row(name, numbers[name]) for name in shapes if numbers[name]]
    lines += ["", f"{'relation (binary)':<30}{'NS':>8}{'SN':>8}{'NN':>8}{'share':>9}"]
    total = sum(statistics.relations.values()) or 1
    for relation, by_nuclearity in numbers["relations"].items():
        cells = "".join(f"{by_nuclearity.get(nuclearity, 0):>8,}" for nuclearity in ("NS", "SN", "NN"))
        lines.append(f"{relation:<30}{cells}{sum(by_nuclearity.values()) / total:>9.1%}")
    return "\n".join(lines)


def _shape_row(name: str, summary: dict[str, Any]) -> str:
    cells = "".join(f"{_short(summary[key]):>12}" for key in ("min", "median", "mean", "max"))
    return f"{name.replace('_', ' '):<20}{cells}"


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
