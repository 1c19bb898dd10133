"""Describe a corpus (documents, EDUs, relations, depth and left-branching of its trees) or a model (its card).

  genrst info
  genrst info GUM --split dev
  genrst info RST-DT
  genrst info en
  genrst info hf:USER/NAME@COMMIT
  genrst info runs/paper/model

Without an argument, the installed models are listed. Every file of a corpus is read, so this is also a dry run:
oddities and unreadable files are listed on standard error and counted.
"""

import argparse
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from genrst.characters import inert
from genrst.cli.console import Failures, show, show_json
from genrst.cli.inputs import add_corpus_arguments, open_corpus, read_corpus
from genrst.corpora.statistics import Statistics, count
from genrst.errors import InputError
from genrst.io import tell

_HEAD = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
"""The YAML header of a model card, which is for Hugging Face."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst info`."""
    parser.add_argument(
        "path",
        metavar="CORPUS|MODEL",
        nargs="?",
        help="a file or folder with trees, the folder of a corpus, or a model (default: list the installed models)",
    )
    add_corpus_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the facts about a model, or the statistics of a corpus."""
    from genrst.parser.folders import describe_model, find_model, installed_models

    if arguments.path is None:
        models = [describe_model(find_model(name)) for name in installed_models()]
        if arguments.json:
            show_json(models)
        else:
            show("\n".join(map(format_model_line, models)) or "no models are installed")
        return 0
    folder = _model_folder(arguments.path)
    if folder is not None:
        facts = describe_model(folder)
        if arguments.json:
            show_json(facts)
        else:
            show(format_model(facts))
        return 0
    return _describe_corpus(arguments)


def _describe_corpus(arguments: argparse.Namespace) -> int:
    """Read every file and print statistics. An unreadable file is reported, or raises if it is the only one."""
    if not Path(arguments.path).exists():
        from genrst.parser.folders import installed_models

        models = ", ".join(installed_models()) or "none"
        raise InputError(f"{arguments.path}: no such file, folder or model (installed: {models})")
    corpus = open_corpus(arguments.path, arguments)
    failures = Failures()
    if len(corpus) > 1:
        corpus = replace(corpus, on_bad=failures.report)
    with warnings.catch_warnings(record=True) as oddities:
        warnings.simplefilter("always")
        statistics = count(read_corpus(corpus, "reading"))
    for oddity in oddities:
        tell(f"warning: {oddity.message}")
    n_left_out = sum(map(len, corpus.left_out.values()))
    odd_files = {str(oddity.message).partition(": ")[0] for oddity in oddities}
    problems = {
        **{"oddities": len(oddities), "odd_files": len(odd_files)},
        **{"unreadable": failures.count, "left_out": n_left_out},
    }
    if arguments.json:
        show_json({"corpus": corpus.name, "split": corpus.split, **statistics.as_dict(), **problems})
    else:
        show(format_statistics(statistics, f"{corpus.name}, {corpus.split or 'all documents'}", problems))
    return 0 if arguments.skip_bad else failures.status


def _model_folder(name: str) -> Path | None:
    """Return the folder of a model, given its path or its installed name; None if there is no such model."""
    from genrst.parser.folders import find_model, installed_models, is_model
    from genrst.parser.hub import PREFIX

    if name.startswith(PREFIX):
        return find_model(name)
    path = Path(name)
    if path.is_dir():
        return path if is_model(path) else None
    return find_model(name) if name in installed_models() and not path.exists() else None


def format_model_line(facts: dict[str, Any]) -> str:
    """Format a model for a list: its name, kind and size."""
    size = f"{facts['n_parameters'] / 1e6:.1f} M parameters, {facts['bytes'] / 2**20:.0f} MiB"
    return inert(f"{facts['model']:<16}{_kind(facts)}, {size}")


def format_model(facts: dict[str, Any]) -> str:
    """Format the model card, followed by a line for each fact."""
    card = "\n".join(inert(line) for line in _HEAD.sub("", facts["card"] or "").strip().split("\n"))
    parser = facts["parser"]
    rows = {
        "model": facts["model"],
        "folder": facts["folder"],
        "kind": _kind(facts),
        "parameters": f"{facts['n_parameters']:,}",
        "segmenter": str(facts["segmenter"] or "none: the encoder segments"),
        "size": f"{facts['bytes'] / 2**20:.1f} MiB",
        **_vocabulary(facts),
        "search": _search(parser),
        **({} if facts["segmenter"] is None else {"pipeline": parser["pipeline"] or "the best one installed"}),
    }
    table = "\n".join(f"{name:<12}{inert(str(value))}" for name, value in rows.items())
    return f"{card}\n\n{table}" if card else table


def _search(parser: dict[str, Any]) -> str:
    if parser["search"] in ("mbr", "best"):
        return f"{parser['search']}, temperature {parser['temperature']:g}, keep whole: {parser['keep_whole']}"
    return f"{parser['search']}, beam {parser['beam']}, word weight {parser['word_weight']}"


def _kind(facts: dict[str, Any]) -> str:
    """Return the kind of a model; for an ensemble, its members with their weights."""
    if "members" not in facts:
        return str(facts["config"]["kind"])
    return "ensemble: " + ", ".join(f"{member['weight']:g} × {member['model']}" for member in facts["members"])


def _vocabulary(facts: dict[str, Any]) -> dict[str, str]:
    """Return the vocabulary sizes. The members of an ensemble share labels but not words."""
    if "members" in facts:
        return {"labels": f"{facts['members'][0]['n_labels']:,}"}
    words = {} if facts["segmenter"] is None else {"words": f"{facts['n_words']:,}"}
    return {**words, "labels": f"{facts['n_labels']:,}"}


def format_statistics(statistics: Statistics, title: str, problems: Mapping[str, int] = MappingProxyType({})) -> str:
    """Format the statistics as a text table."""
    numbers = {**statistics.as_dict(), **problems}
    counts = ("documents", "trees", "edus", "tokens", "sentences", "paragraphs", "signals", "secondary_edges")
    shapes = ("edus_per_document", "depth", "stack_depth", "left_branching", "skew")
    lines = [title, ""]
    lines += [
        f"{name.replace('_', ' '):<20}{numbers[name]:>12,}"
        for name in (*counts, *problems)
        if numbers[name] or name == "documents"
    ]
    lines += ["", f"{'':<20}{'min':>12}{'median':>12}{'mean':>12}{'max':>12}"]
    lines += [_shape_row(name, numbers[name]) for name in shapes if numbers[name]]
    lines += ["", f"{'relation (binary)':<30}{'NS':>8}{'SN':>8}{'NN':>8}{'share':>9}"]
    total = sum(statistics.relations.values()) or 1
    for relation, by_nuclearity in numbers["relations"].items():
        cells = "".join(f"{by_nuclearity.get(nuclearity, 0):>8,}" for nuclearity in ("NS", "SN", "NN"))
        lines.append(f"{inert(relation):<30}{cells}{sum(by_nuclearity.values()) / total:>9.1%}")
    return "\n".join(lines)


def _shape_row(name: str, summary: dict[str, Any]) -> str:
    cells = "".join(f"{_short(summary[key]):>12}" for key in ("min", "median", "mean", "max"))
    return f"{name.replace('_', ' '):<20}{cells}"


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
