"""Two annotators of one corpus: pairs of their files, their agreement, and the adjudicated results.

Files are paired by their paths relative to the two folders, without suffixes. Changed files are read again. A result is
written to the output folder under the path of the left file, and the decisions so far to `.genrst` beside it. A result
replaces only an earlier result, never a file of the annotators.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

from starlette.exceptions import HTTPException

from genrst.characters import one_line
from genrst.document import Document
from genrst.errors import CorpusFormatError, GenrstError, InputError, OutputError, UsageError
from genrst.evaluation.adjudication import Pair
from genrst.evaluation.parseval import Granularity
from genrst.evaluation.report import Evaluation, evaluate
from genrst.formats.files import format_documents, read_file, warn_of_loss
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.io import read_bytes, write_atomically
from genrst.serve.annotation.drafts import FOLDER, save_lock
from genrst.serve.annotation.folder_requests import Choice, ResultRequest, TakeRequest
from genrst.serve.documents import JsonObject, check_size, collected_warnings


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two files of a pair in their current version, or why they cannot be compared."""

    version: str
    pair: Pair | None = None
    error: str | None = None


class Pairs:
    """The files that are in both folders, numbered in the order of their names."""

    def __init__(
        self,
        left: Mapping[str, Path],
        right: Mapping[str, Path],
        output: Path | None = None,
        labels: Granularity = "coarse",
        names: tuple[str, str] = ("left", "right"),
    ) -> None:
        self.names, self.output, self._labels = names, output, labels
        self.keys = sorted(left.keys() & right.keys())
        self.alone = {"left": sorted(left.keys() - right.keys()), "right": sorted(right.keys() - left.keys())}
        if not self.keys:
            raise UsageError(f"{names[0]} and {names[1]} have no file name in common")
        self._paths = [(left[key], right[key]) for key in self.keys]
        self._sources = {path.resolve() for side in (left, right) for path in side.values()}
        self._lock = RLock()
        """Held while files are read and compared, because requests run in several threads."""
        self._sides: dict[int, _Sides] = {}
        self._agreement: tuple[JsonObject, dict[str, JsonObject]] | None = None
        """The agreement over the folder and in each pair, cached until a file changes."""
        for number in range(len(self.keys) if output else 0):
            self._check_place(number)

    def list(self, max_edus: int) -> JsonObject:
        """Return all pairs with their agreement, and the agreement over the folder."""
        with self._lock:
            sides = [self._read(number, max_edus) for number in range(len(self.keys))]
            compared = [(key, one.pair) for key, one in zip(self.keys, sides, strict=True) if one.pair]
            if self._agreement is None and compared:
                self._agreement = _agreement(compared, self._labels)
            whole, each = self._agreement or ({}, {})
        return {
            "files": [self._row(number, one, each.get(self.keys[number])) for number, one in enumerate(sides)],
            "agreement": whole,
            "names": list(self.names),
            "alone": {side: list(map(one_line, names)) for side, names in self.alone.items()},
            "has_output": self.output is not None,
        }

    def open(self, number: int, max_edus: int) -> JsonObject:
        """Return both documents of a pair, their disagreements, and the result so far."""
        sides, pair = self._pair(number, max_edus)
        with collected_warnings() as lines:
            result, decisions, version = self._read_result(number, pair)
        return {
            "left": document_to_dict(pair.left),
            "right": document_to_dict(pair.right),
            "disagreements": [one._asdict() for one in pair.disagreements],
            "result": document_to_dict(result),
            "decisions": decisions,
            "version": version,
            "sources": sides.version,
            "warnings": lines,
        }

    def take(self, number: int, request: TakeRequest, max_edus: int) -> JsonObject:
        """Return the result with one side's version of a disagreement."""
        _, pair = self._pair(number, max_edus, request.sources)
        if not 0 <= request.number < len(pair.disagreements):
            n = len(pair.disagreements)
            raise UsageError(f"no such disagreement (there are {n}, numbered from 0)")
        result = document_from_dict(request.document)
        check_size(result.id, len(result.edus), max_edus)
        return {"document": document_to_dict(pair.take(result, request.number, request.side))}

    def save(self, number: int, request: ResultRequest, max_edus: int) -> JsonObject:
        """Write a result, unless it has changed since it was opened."""
        _, pair = self._pair(number, max_edus, request.sources)
        path, suffix = self._check_place(number), self._result(number).suffix.lower()
        with collected_warnings() as lines:
            document = document_from_dict(request.document)
            check_size(document.id, len(document.edus), max_edus)
            content = format_documents([document], suffix).encode("utf-8")
            warn_of_loss(document, suffix)
        choices = ((one, request.decisions.get(str(at))) for at, one in enumerate(pair.disagreements))
        decided = [[*one, choice] for one, choice in choices if choice is not None]
        after = _hash(content)
        make_folder(path.parent)
        with save_lock(path.parent):
            before = _version(path)
            if before != request.version:
                rule = "not written: another program has changed the result; open the pair again"
                raise HTTPException(409, one_line(f"{path}: {rule}"))
            # The decisions are written first, with both versions, so that after a crash the result is still recognised.
            record = {"versions": [before, after], "decided": decided}
            write_atomically(self._record(number), json.dumps(record) + "\n")
            write_atomically(path, content)
        return {"name": one_line(str(path)), "version": after, "warnings": lines}

    def _row(self, number: int, sides: _Sides, agreed: JsonObject | None) -> JsonObject:
        row: JsonObject = {"number": number, "name": one_line(self.keys[number]), "error": sides.error, "state": "open"}
        if sides.pair is None or agreed is None:
            return row
        n_disagreements = len(sides.pair.disagreements)
        row |= {"edus": len(sides.pair.left.edus), "disagreements": n_disagreements, **agreed}
        if self.output is None:
            return row
        try:
            decisions = self._decisions(number, sides.pair)
        except HTTPException as error:
            return row | {"error": error.detail}
        is_done = len(decisions) == n_disagreements and _version(self._result(number)) is not None
        return row | {"decided": len(decisions), "state": "done" if is_done else "open"}

    def _read(self, number: int, max_edus: int) -> _Sides:
        """Return the two files, read again only if one has changed."""
        version = _hash(repr([_stamp(path) for path in self._paths[number]]).encode())
        with self._lock:
            known = self._sides.get(number)
            if known is None or known.version != version:
                self._agreement = None
                try:
                    with collected_warnings():
                        left, right = (_read_one(path, max_edus) for path in self._paths[number])
                        known = _Sides(version, Pair(left, right))
                except GenrstError as error:
                    known = _Sides(version, error=one_line(str(error)))
                self._sides[number] = known
            return known

    def _pair(self, number: int, max_edus: int, version: str | None = None) -> tuple[_Sides, Pair]:
        """Return the pair with a number, which must still have the version that the client opened."""
        if not 0 <= number < len(self.keys):
            raise HTTPException(404, f"no such pair (there are {len(self.keys)}, numbered from 0)")
        sides = self._read(number, max_edus)
        if sides.pair is None:
            raise HTTPException(422, sides.error or "")
        if version not in (None, sides.version):
            raise HTTPException(
                409, one_line(f"{self.keys[number]}: a file of the pair has changed; open the pair again")
            )
        return sides, sides.pair

    # Results.

    def _result(self, number: int) -> Path:
        assert self.output is not None, "checked before"
        suffix = self._paths[number][0].suffix
        return self.output / f"{self.keys[number]}{'.json' if suffix.lower() == '.jsonl' else suffix}"

    def _record(self, number: int) -> Path:
        path = self._result(number)
        return path.parent / FOLDER / f"{path.name}.decisions"

    def _check_place(self, number: int) -> Path:
        """Return the path of a result, which must not be a file of an annotator."""
        if self.output is None:
            raise UsageError("results need an output folder; start genrst annotate with --output FOLDER")
        path = self._result(number)
        if path.resolve() in self._sources:
            raise UsageError(f"{path}: --output must not be a folder of the annotators")
        return path

    def _decisions(self, number: int, pair: Pair) -> dict[str, Choice]:
        """Return the decisions by disagreement number, for disagreements that still exist."""
        version = _version(self._result(number))
        try:
            record: Any = json.loads(read_bytes(self._record(number)))
            versions, decided = record["versions"], {_key(one[:4]): one[4] for one in record["decided"]}
        except InputError:
            versions, decided = [None], {}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise HTTPException(409, one_line(f"{self._record(number)}: damaged; delete this file")) from error
        if version is not None and version not in versions:
            rule = "not written by genrst annotate; move this file away"
            raise HTTPException(409, one_line(f"{self._result(number)}: {rule}"))
        found = ((str(at), decided.get(_key(one))) for at, one in enumerate(pair.disagreements))
        return {} if version is None else {at: choice for at, choice in found if choice is not None}

    def _read_result(self, number: int, pair: Pair) -> tuple[Document, dict[str, Choice], str | None]:
        if self.output is None:
            return pair.start(), {}, None
        decisions, path = self._decisions(number, pair), self._result(number)
        version = _version(path)
        if version is None:
            return pair.start(), {}, None
        try:
            return _read_one(path), decisions, version
        except GenrstError as error:
            raise HTTPException(409, one_line(str(error))) from error


def make_folder(path: Path) -> None:
    """Create a folder unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror or error}") from error


def _key(disagreement: Iterable[Any]) -> str:
    return json.dumps(list(disagreement))


def _agreement(pairs: Sequence[tuple[str, Pair]], labels: Granularity) -> tuple[JsonObject, dict[str, JsonObject]]:
    """Return the agreement over all pairs and in each, with the scores of `genrst evaluate --agreement`."""
    lefts, rights = ([replace(getattr(pair, side), id=key) for key, pair in pairs] for side in ("left", "right"))
    found = evaluate(lefts, rights, labels=labels)
    each = {one.id: _scores(replace(found, documents=[one])) for one in found.documents}
    return {**_scores(found), "labels": found.labels}, each


def _scores(evaluation: Evaluation) -> JsonObject:
    f1 = {aspect: counts.f1 for aspect, counts in evaluation.micro().items()}
    return {"f1": f1, "kappa": {name: one.as_dict() for name, one in evaluation.agreement().items()}}


def _read_one(path: Path, max_edus: int | None = None) -> Document:
    documents = read_file(path)
    if len(documents) != 1:
        raise CorpusFormatError(f"a file to compare must hold one document, got {len(documents)}", path)
    if max_edus is not None:
        check_size(documents[0].id, len(documents[0].edus), max_edus)
    return documents[0]


def _stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _version(path: Path) -> str | None:
    return _hash(read_bytes(path)) if path.is_file() else None
