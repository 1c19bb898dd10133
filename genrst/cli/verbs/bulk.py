"""Parse a whole collection with several processes or machines; an interrupted run can be resumed.

  genrst bulk texts/ trees/
  genrst bulk 'corpus/*.jsonl.gz' more.parquet trees/ --text-column body
  genrst bulk texts/ trees/ --engine ray --address auto
  genrst bulk texts/ trees/ --shard 3/8
  genrst bulk texts/ trees/ --sample 100

IN is one or more files, folders, patterns or URLs (s3://…) of texts, of .jsonl, .jsonl.gz, Parquet or Arrow tables with
a text column, or of any format that genrst reads. OUT is a folder. It receives tables, in numbered parts, with one row
per document (documents), per unit and EDU (nodes), and per document without a tree (errors).

To resume after an interruption or a crash, run the same command again: it verifies the finished parts and computes the
missing ones. It refuses OUT if the inputs, the model or the settings have changed. A file or document that cannot be
read or parsed, is too long, takes too long, or crashes its process becomes a row of the errors table and does not stop
the others. Files in a folder that are not read are reported.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from genrst.cli.console import counted, has_terminal, show, show_json, show_progress
from genrst.cli.models import (
    add_model_arguments,
    add_search_arguments,
    add_tree_arguments,
    add_why_argument,
    load_options,
)
from genrst.errors import UsageError
from genrst.io import INTERVAL, tell

if TYPE_CHECKING:
    from genrst.bulk.run import Job, Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst bulk`."""
    parser.add_argument("inputs", metavar="IN", nargs="+", help="files, folders, patterns or URLs")
    parser.add_argument("out", metavar="OUT", type=Path, help="a new folder, or the folder of an earlier run")
    parser.add_argument(
        "--format", choices=("parquet", "jsonl"), default="parquet", help="format of the tables (default: parquet)"
    )
    parser.add_argument("--json", action="store_true", help="report progress and the summary as JSON lines")
    model = add_model_arguments(parser)
    add_search_arguments(model)
    add_tree_arguments(model)
    add_why_argument(
        model, "also find signals (words that mark relations) and secondary edges, and write tables of them"
    )
    documents = parser.add_argument_group("documents")
    documents.add_argument(
        "--text-column",
        default="text",
        metavar="NAME",
        help="column of the text in JSON lines and tables (default: text)",
    )
    documents.add_argument(
        "--id-column", default="id", metavar="NAME", help="column of the id in JSON lines and tables (default: id)"
    )
    documents.add_argument("--limit", type=int, metavar="N", help="parse only the first N documents")
    documents.add_argument(
        "--sample", type=int, metavar="N", help="parse only a random sample of N documents, always the same"
    )
    documents.add_argument(
        "--max-characters", type=int, default=100_000, metavar="N", help="reject longer documents (default: 100000)"
    )
    documents.add_argument(
        "--timeout", type=float, default=600, metavar="S", help="stop parsing a document after S seconds (default: 600)"
    )
    documents.add_argument("--no-text", action="store_true", help="omit the texts from the results")
    work = parser.add_argument_group("processes and machines")
    work.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="run local processes (default) or use Ray"
    )
    work.add_argument("--workers", type=int, metavar="N", help="number of processes (default: one per core)")
    work.add_argument(
        "--address", metavar="HOST", help="address of a Ray cluster, or auto (default: start Ray locally)"
    )
    work.add_argument("--shard", default="1/1", metavar="I/N", help="compute only the I-th of every N parts")
    work.add_argument(
        "--part-documents",
        type=int,
        default=100,
        metavar="N",
        help="maximum number of documents per part (default: 100)",
    )
    work.add_argument(
        "--part-bytes",
        type=int,
        default=500_000,
        metavar="N",
        help="maximum number of bytes per part (default: 500000)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compute the missing parts; return 1 if any part is still missing. A document without a tree is not a failure."""
    from genrst.bulk.run import Report
    from genrst.bulk.run import run as run_job

    report, is_told = Report(), False
    line = _Line(arguments.json)
    for report in run_job(make_job(arguments)):
        if not is_told:
            _tell_problems(report)
            is_told = True
        line.show(report)
    line.end()
    for missed in report.missed[:10]:
        tell(f"part {missed.number} is missing: {missed.reason}")
    _summarise(report, arguments.json)
    if report.missed:
        tell(f"{len(report.missed)} of {report.n_parts} parts are missing; run the same command again to compute them")
    return 1 if report.missed else 0


def _tell_problems(report: "Report") -> None:
    """Report files that are not read and parts that are computed again, before anything is parsed."""
    from genrst.bulk.addresses import describe

    if report.left_out:
        tell(describe(report.left_out))
    for problem in report.damaged[:10]:
        tell(f"{problem}; its part is computed again")
    if len(report.damaged) > 10:
        tell(f"{len(report.damaged)} finished parts are damaged and are computed again")


def make_job(arguments: argparse.Namespace) -> "Job":
    """Make the job that the options describe."""
    from genrst.bulk.engines import Plan
    from genrst.bulk.inputs import Choice, Columns
    from genrst.bulk.run import Job, Shard
    from genrst.bulk.work import Settings
    from genrst.parser.hub import pinned
    from genrst.parser.loading import warn_of_options

    if not (arguments.timeout > 0 and arguments.max_characters > 0):
        given = f"{arguments.timeout}, {arguments.max_characters}"
        raise UsageError(f"--timeout and --max-characters must be greater than 0, got {given}")
    options = replace(load_options(arguments), device=_choose_device(arguments))
    warn_of_options(arguments.model, options)
    settings = Settings(
        model=pinned(arguments.model),
        load=options,
        columns=Columns(arguments.text_column, arguments.id_column),
        max_characters=arguments.max_characters,
        timeout=arguments.timeout,
        with_text=not arguments.no_text,
    )
    return Job(
        arguments.inputs,
        arguments.out,
        settings,
        Choice(arguments.limit, arguments.sample, arguments.part_documents, arguments.part_bytes),
        arguments.format,
        Plan(arguments.engine, arguments.workers, arguments.address),
        Shard.parse(arguments.shard),
    )


def _choose_device(arguments: argparse.Namespace) -> str:
    """Return the kind of device, a GPU if there is one. It is stored with the settings, because it affects results."""
    if arguments.device != "auto":
        return str(arguments.device)
    from genrst.parser.loading import choose_device

    return choose_device("auto").partition(":")[0]


class _Line:
    """Progress: a line that is redrawn on a terminal, an occasional line elsewhere, or JSON lines."""

    def __init__(self, is_json: bool) -> None:
        self._is_json = is_json
        self._has_terminal = not is_json and has_terminal()
        self._width = 0
        self._told = monotonic()

    def show(self, report: "Report") -> None:
        """Show the progress of the run."""
        if self._is_json:
            show_json({"event": "progress", **report.as_dict()})
        elif self._has_terminal:
            text = describe(report)
            show_progress(f"\r{text:<{self._width}}")
            self._width = len(text)
        elif monotonic() - self._told > INTERVAL:
            tell(describe(report))
            self._told = monotonic()

    def end(self) -> None:
        """End the line."""
        if self._has_terminal:
            show_progress("\n")


def describe(report: "Report") -> str:
    """Return one line about the progress of a run."""
    facts = report.as_dict()
    left = facts["seconds_left"]
    rest = "" if left is None else f", {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
    return (
        f"{facts['documents']:,} of {facts['of_documents']:,} documents, {facts['documents_per_second']:g}/s, "
        f"{facts['edus_per_second']:g} EDU/s, {facts['words_per_second']:g} words/s, {facts['errors']:,} errors{rest}"
    )


def _summarise(report: "Report", is_json: bool) -> None:
    facts, frequent = report.as_dict(), report.reasons.most_common(10)
    if is_json:
        more = {"left_out": dict(report.left_out), "damaged": list(report.damaged)}
        show_json({"event": "summary", **facts, "kinds": dict(report.kinds), "frequent_errors": dict(frequent), **more})
        return
    skipped = f"; finished before: {counted(report.n_skipped, 'part')}" if report.n_skipped else ""
    show(
        f"{counted(facts['documents'], 'document')} in {counted(report.n_parts_done, 'part')}, "
        f"{counted(facts['edus'], 'EDU')}, {counted(facts['words'], 'word')} in {facts['seconds']:g} s "
        f"({facts['edus_per_second']:g} EDU/s), {counted(facts['errors'], 'error')}{skipped}"
    )
    for reason, count in frequent:
        show(f"{count:8,}  {reason}")
