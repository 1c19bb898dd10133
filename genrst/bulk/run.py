"""A bulk run from inputs to parts, as a stream of progress reports.

A run computes the missing parts. Its only state is the output folder, so it can be killed at any time.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from genrst.bulk.addresses import find_files
from genrst.bulk.engines import Missed, Plan, run_units
from genrst.bulk.inputs import Choice, Unit, make_units, scan_all
from genrst.bulk.parts import Folder, Part, PartFormat, check_apart, make_manifest
from genrst.bulk.work import Settings
from genrst.errors import UsageError


@dataclass(frozen=True, slots=True)
class Shard:
    """The share of a run that this process computes if several are started: the i-th of every n parts, from 1."""

    i: int = 1
    n: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse a shard such as `3/8`."""
        i, _, n = text.partition("/")
        if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
            raise UsageError(f"--shard must be I/N with 1 <= I <= N, got {text}")
        return cls(int(i), int(n))


@dataclass(slots=True)
class Report:
    """The progress of a run. A document counts when it has a tree or an error."""

    n_parts: int = 0
    """Parts that this run computes."""
    n_skipped: int = 0
    """Parts that were finished before."""
    n_total: int = 0
    """Documents that this run parses."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Files that are not read, with the reason."""
    damaged: Sequence[str] = ()
    """Problems of earlier parts that are computed again."""
    n_parts_done: int = 0
    n_documents: int = 0
    n_edus: int = 0
    n_words: int = 0
    n_errors: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    missed: list[Missed] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def add(self, part: Part) -> None:
        """Count a part."""
        self.n_parts_done += 1
        self.n_documents += part.n_documents + len(part.errors)
        self.n_edus += part.n_edus
        self.n_words += part.n_words
        self.n_errors += len(part.errors)
        self.kinds.update(kind for kind, _ in part.errors)
        self.reasons.update(f"{kind}: {rule}" for kind, rule in part.errors)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON, with speeds."""
        seconds = max(time.monotonic() - self.started, 1e-6)
        left = self.n_total - self.n_documents
        return {
            "parts": self.n_parts_done,
            "of_parts": self.n_parts,
            "skipped_parts": self.n_skipped,
            "documents": self.n_documents,
            "of_documents": self.n_total,
            "errors": self.n_errors,
            "edus": self.n_edus,
            "words": self.n_words,
            "seconds": round(seconds, 1),
            "documents_per_second": round(self.n_documents / seconds, 2),
            "edus_per_second": round(self.n_edus / seconds, 1),
            "words_per_second": round(self.n_words / seconds, 1),
            "seconds_left": round(seconds * left / self.n_documents) if self.n_documents else None,
        }


@dataclass(frozen=True, slots=True)
class Job:
    """The inputs, the output folder and all options of a run."""

    inputs: Sequence[str]
    out: Path
    settings: Settings = field(default_factory=Settings)
    choice: Choice = field(default_factory=Choice)
    format: PartFormat = "parquet"
    plan: Plan = field(default_factory=Plan)
    shard: Shard = field(default_factory=Shard)


def run(job: Job) -> Iterator[Report]:
    """Compute the missing parts; yield the same report object before the first part and after each."""
    check_apart(job.out, job.inputs)
    found = find_files(job.inputs)
    sources = scan_all(found.addresses, job.settings.columns)
    manifest = make_manifest(job.settings, job.choice, job.format, sources)
    folder = Folder(job.out, job.format)
    folder.claim(manifest, sources)
    own = list(islice(make_units(sources, job.choice), job.shard.i - 1, None, job.shard.n))
    finished = {unit.number for unit in own if folder.is_finished(unit.number)}
    damaged = {number: problem for number in sorted(finished) if (problem := folder.find_damage(number))}
    todo = [unit for unit in own if unit.number not in finished or unit.number in damaged]
    folder.tidy({unit.number for unit in todo})
    n_documents = sum(len(unit.records) for unit in todo)
    report = Report(len(todo), len(own) - len(todo), n_documents, found.left_out, [*damaged.values()])
    yield report
    yield from _run(todo, folder, job, report)


def _run(todo: Sequence[Unit], folder: Folder, job: Job, report: Report) -> Iterator[Report]:
    if not todo:
        return
    for found in run_units(todo, job.settings, job.format, job.plan):
        if isinstance(found, Missed):
            report.missed.append(found)
            continue
        folder.write(found)
        report.add(found)
        yield report
