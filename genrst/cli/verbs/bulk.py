"""Parse a whole collection, disk to disk: many documents, several processes or machines, and nothing is lost.

  genrst bulk texts/ trees/
  genrst bulk 'corpus/*.jsonl.gz' more.parquet trees/ --text-column body
  genrst bulk texts/ trees/ --engine ray --address auto
  genrst bulk texts/ trees/ --shard 3/8
  genrst bulk texts/ trees/ --sample 100

IN is files, folders, patterns or other addresses (s3://…) of texts, of .jsonl, .jsonl.gz, Parquet or Arrow with a
column of texts, or of any format that genrst reads. OUT is a folder: of tables with a row per document (documents), per
unit and EDU (nodes) and per document without a tree (errors), in numbered parts.

Finished parts stay. The same command again verifies them and does what is missing, also after a crash. It refuses OUT
if the inputs, the model or the settings have changed. A file or document that cannot be read or parsed, is too long,
takes too long, or kills its process is an error in the table and does not stop the others. Files of a folder that are
not read are named.
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
    """The arguments of `genrst bulk`."""
    parser.add_argument("inputs", metavar="IN", nargs="+", help="files, folders, patterns or addresses")
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder, new or that of an earlier run")
    parser.add_argument("--format", choices=("parquet", "jsonl"), default="parquet", help="default: parquet")
    parser.add_argument("--json", action="store_true", help="report progress and the summary as JSON lines")
    model = add_model_arguments(parser)
    add_search_arguments(model)
    add_tree_arguments(model)
    add_why_argument(model, "find the words that mark relations, and secondary edges, for tables of their own")
    documents = parser.add_argument_group("documents")
    documents.add_argument("--text-column", default="text", metavar="NAME", help="of JSON lines and tables")
    documents.add_argument("--id-column", default="id", metavar="NAME", help="of JSON lines and tables")
    documents.add_argument("--limit", type=int, metavar="N", help="only the first N documents")
    documents.add_argument("--sample", type=int, metavar="N", help="only N documents, drawn evenly, always the same")
    documents.add_argument("--max-characters", type=int, default=100_000, metavar="N", help="longer ones are errors")
    documents.add_argument(
        "--timeout", type=float, default=600, metavar="S", help="seconds that a document may compute"
    )
    documents.add_argument("--no-text", action="store_true", help="leave the texts out of the results")
    work = parser.add_argument_group("who does it")
    work.add_argument("--engine", choices=("local", "ray"), default="local", help="processes here (default), or Ray")
    work.add_argument("--workers", type=int, metavar="N", help="processes (default: one for each core)")
    work.add_argument("--address", metavar="HOST", help="of a Ray cluster, or auto (default: start Ray here)")
    work.add_argument("--shard", default="1/1", metavar="I/N", help="only the I-th of every N parts")
    work.add_argument("--part-documents", type=int, default=100, metavar="N", help="the most documents of a part")
    work.add_argument("--part-bytes", type=int, default=500_000, metavar="N", help="the most bytes of a part")


def run(arguments: argparse.Namespace) -> int:
    """Do what is missing; 1 if something still is. Documents without a tree are in the table, and no failure."""
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
        tell(f"{len(report.missed)} of {report.n_parts} parts are missing; the same command again does them")
    return 1 if report.missed else 0


def _tell_problems(report: "Report") -> None:
    """Say what is not read, and what is done again, before anything is parsed."""
    from genrst.bulk.addresses import describe

    if report.left_out:
        tell(describe(report.left_out))
    for problem in report.damaged[:10]:
        tell(f"{problem}; its part is done again")
    if len(report.damaged) > 10:
        tell(f"{len(report.damaged)} finished parts are damaged and done again")


def make_job(arguments: argparse.Namespace) -> "Job":
    """What the options ask for."""
    from genrst.bulk.engines import Plan
    from genrst.bulk.inputs import Choice, Columns
    from genrst.bulk.run import Job, Shard
    from genrst.bulk.work import Settings
    from genrst.parser.hub import pinned
    from genrst.parser.loading import warn_of_options

    if not (arguments.timeout > 0 and arguments.max_characters > 0):
        given = f"{arguments.timeout}, {arguments.max_characters}"
        raise UsageError(f"--timeout and --max-characters must be more than 0, got {given}")
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
    """The kind of device, which results depend on: a GPU if there is one here."""
    if arguments.device != "auto":
        return str(arguments.device)
    from genrst.parser.loading import choose_device

    return choose_device("auto").partition(":")[0]


class _Line:
    """Progress: a line on a terminal that is written again and again, elsewhere one now and then, or JSON lines."""

    def __init__(self, is_json: bool) -> None:
        self._is_json = is_json
        self._has_terminal = not is_json and has_terminal()
        self._width = 0
        self._told = monotonic()

    def show(self, report: "Report") -> None:
        """Say how far the run is."""
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
        """Go to the next line."""
        if self._has_terminal:
            show_progress("\n")


def describe(report: "Report") -> str:
    """A line on how far a run is."""
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
