"""The results of a bulk run: a folder of numbered parts, with a manifest of inputs, model and settings.

    OUT/manifest.json  OUT/inputs.jsonl
    OUT/documents/00000.parquet  OUT/nodes/00000.parquet  OUT/errors/00000.parquet  OUT/checksums/00000.sha256

These files are the only state of a run. A part is finished if its checksums exist, which are written last, and match
its tables. A later run, or another shard, computes the missing and damaged parts, provided that its manifest is the
same.
"""

import importlib.metadata
import io
import json
import os
import platform
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from genrst.bulk.addresses import INPUTS, MANIFEST
from genrst.bulk.inputs import Choice, Source
from genrst.bulk.work import OPTIONAL_TABLES, TABLES, Rows, Settings
from genrst.errors import CorpusFormatError, OutputError, UsageError
from genrst.io import decode, read_bytes, write_atomically, write_atomically_with
from genrst.outputs.tables import write_rows
from genrst.parser.folders import find_model, find_segmenter, read_models, read_parser_config
from genrst.text.annotate import pipeline_version
from genrst.version import VERSION

PartFormat: TypeAlias = Literal["parquet", "jsonl"]
CHECKSUMS = "checksums"
LIBRARIES = ("numpy", "onnxruntime", "spacy", "tokenizers", "torch", "transformers")
"""The libraries that can affect results; their versions go into the manifest."""


@dataclass(frozen=True, slots=True)
class Part:
    """The files of a part, by table name, and its counts."""

    number: int
    files: Mapping[str, bytes]
    n_documents: int
    n_edus: int
    n_words: int
    errors: tuple[tuple[str, str], ...]
    """The kind of each error, and the rule that was broken."""


def make_part(number: int, rows: Rows, format: PartFormat) -> Part:
    """Make a part from rows."""
    files = {}
    for name, types in TABLES.items():
        if name in OPTIONAL_TABLES and not getattr(rows, name):
            continue
        file = io.BytesIO()
        write_rows(getattr(rows, name), file, "json" if format == "jsonl" else "parquet", types)
        files[name] = file.getvalue()
    return Part(
        number,
        files,
        len(rows.documents),
        sum(row["n_edus"] for row in rows.documents),
        sum(row["n_words"] for row in rows.documents),
        tuple((row["kind"], _rule(row)) for row in rows.errors),
    )


def _rule(row: Mapping[str, str]) -> str:
    """Return the reason of an error without the document and the value, so that errors can be counted by reason."""
    reason = row["reason"].removeprefix(f"{row['source']}: ").removeprefix(f"{row['id']}: ")
    return reason.partition(", got ")[0]


class Folder:
    """The output folder of a run."""

    def __init__(self, path: Path, format: PartFormat) -> None:
        self.path = path
        self.format = format

    def is_finished(self, number: int) -> bool:
        """Whether a part has been written."""
        return self._file(CHECKSUMS, number).exists()

    def find_damage(self, number: int) -> str | None:
        """Return what is wrong with a part that has been written, or None."""
        path = self._file(CHECKSUMS, number)
        wanted = read_bytes(path).decode("utf-8", "replace").splitlines()
        for table in TABLES:
            file = self._file(table, number)
            if not file.is_file():
                if table in OPTIONAL_TABLES and not any(line.endswith(f"  {table}/{file.name}") for line in wanted):
                    continue
                return f"{file}: missing"
            if _checksum_line(file, read_bytes(file)) not in wanted:
                return f"{file}: does not match {path}"
        return None

    def write(self, part: Part) -> None:
        """Write a part; it counts as finished when its last file is written."""
        for name, content in part.files.items():
            write_atomically_with(self._file(name, part.number), partial(_write, content))
        for name in TABLES.keys() - part.files.keys():
            self._file(name, part.number).unlink(missing_ok=True)
        lines = [_checksum_line(self._file(name, part.number), content) for name, content in part.files.items()]
        content = "".join(f"{line}\n" for line in lines).encode()
        write_atomically_with(self._file(CHECKSUMS, part.number), partial(_write, content))

    def tidy(self, numbers: set[int]) -> None:
        """Remove the temporary files of these parts that killed runs have left."""
        for name in (*TABLES, CHECKSUMS):
            for path in (self.path / name).glob(".*"):
                found = re.match(r"\.(\d+)\.", path.name)
                if found and int(found[1]) in numbers:
                    path.unlink(missing_ok=True)

    def _file(self, table: str, number: int) -> Path:
        return self.path / table / f"{number:05}.{'sha256' if table == CHECKSUMS else self.format}"

    def claim(self, manifest: Mapping[str, Any], sources: Sequence[Source]) -> None:
        """Write the manifest of a new run, or check that it matches the earlier runs."""
        path = self.path / MANIFEST
        if path.exists():
            before = read_manifest(path)
            self._check_inputs(sources, before)
            _check_same(before, json.loads(json.dumps(manifest)), path)
            return
        if (self.path / CHECKSUMS).exists():
            raise UsageError(f"{path}: the manifest of the results in {self.path} is missing; use another folder")
        if self.path.exists() and any(self.path.iterdir()) and not (self.path / INPUTS).exists():
            raise UsageError(
                f"{self.path}: the folder has other files; use a new folder or the folder of an earlier run"
            )
        write_atomically(self.path / INPUTS, "".join(_input_lines(sources)))
        write_atomically(path, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")

    def _check_inputs(self, sources: Sequence[Source], manifest: Mapping[str, Any]) -> None:
        path = self.path / INPUTS
        content = read_bytes(path)
        if sha256(content).hexdigest() != dict(_leaves(manifest)).get("inputs.sha256"):
            raise CorpusFormatError(f"damaged: it does not match {self.path / MANIFEST}; use another folder", path)
        before = {address: facts for address, *facts in map(json.loads, content.decode().splitlines())}
        now = {source.address: _facts(source) for source in sources}
        for problem, found in (
            ("added", now.keys() - before.keys()),
            ("missing", before.keys() - now.keys()),
            ("changed", {name for name in now.keys() & before.keys() if now[name] != before[name]}),
        ):
            if found:
                more = f" and {len(found) - 1} more" if len(found) > 1 else ""
                rule = f"{min(found)}{more}: {problem} since the first run into {self.path}"
                raise UsageError(f"{rule}; use another folder")
        if list(now) != list(before):
            raise UsageError(
                f"{path}: the inputs are not in the order of the first run; use that order or another folder"
            )


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)
    # Flushed to disk before the file is renamed into place, so that a part is complete even after a power failure.
    file.flush()
    os.fsync(file.fileno())


def _facts(source: Source) -> list[object]:
    return [len(source.starts), source.sha256]


def _input_lines(sources: Sequence[Source]) -> Iterator[str]:
    for source in sources:
        yield json.dumps([source.address, *_facts(source)]) + "\n"


def _checksum_line(path: Path, content: bytes) -> str:
    """Return a line in the format of `sha256sum --check`, relative to the folder of the run."""
    return f"{sha256(content).hexdigest()}  {path.parent.name}/{path.name}"


def make_manifest(settings: Settings, choice: Choice, format: PartFormat, sources: Sequence[Source]) -> dict[str, Any]:
    """Make the manifest: everything that results depend on, and the inputs."""
    digest = sha256("".join(_input_lines(sources)).encode())
    folder = find_model(settings.model)
    own = {name: value for name, value in asdict(settings).items() if name != "model"}
    own |= {"pipeline_version": pipeline_version(settings.load.pipeline or read_parser_config(folder).pipeline)}
    n_documents = sum(len(source.starts) for source in sources)
    return {
        "model": {"name": read_parser_config(folder).name, "sha256": _model_hash(folder)},
        "settings": own | asdict(choice) | {"format": format},
        "inputs": {"files": len(sources), "documents": n_documents, "sha256": digest.hexdigest()},
        "versions": {"genrst": VERSION, "python": platform.python_version()} | _versions(),
    }


def _versions() -> dict[str, str | None]:
    def version(name: str) -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    return {name: version(name) for name in LIBRARIES}


def _model_hash(folder: Path) -> str:
    """Hash the names and contents of all files of a model, including the members of an ensemble and the segmenter."""
    digest = sha256()
    segmenter = find_segmenter(folder)
    places = [folder, *(place for place, _ in read_models(folder)), *([segmenter] if segmenter else [])]
    for place in dict.fromkeys(places):
        for path in sorted(path for path in place.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(place)}\0{path.stat().st_size}\0".encode())
            digest.update(read_bytes(path))
    return digest.hexdigest()


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a run."""
    try:
        found = json.loads(decode(read_bytes(path), path))
    except (ValueError, RecursionError) as error:
        raise CorpusFormatError(f"the manifest is not valid JSON: {error}", path) from error
    if not isinstance(found, dict):
        raise CorpusFormatError("a manifest must be a JSON object", path)
    return found


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], path: Path) -> None:
    old, new = dict(_leaves(before)), dict(_leaves(now))
    if wrong := next((name for name in [*new, *old] if name not in old or name not in new), None):
        problem = "is missing" if wrong in new else "is unknown to this version"
        raise CorpusFormatError(f"{wrong[:50]} {problem}; use another folder", path)
    for name in new:
        if old[name] != new[name]:
            rule = f"{path}: {name} must be the same as in the first run ({reprlib.repr(old[name])})"
            raise UsageError(f"{rule}, got {reprlib.repr(new[name])}; use another folder")


def _leaves(data: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield all nested values by dotted name, such as `settings.model`."""
    pending: list[tuple[str, Any]] = [("", data)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(f"{name}.{key}" if name else key, one) for key, one in [*value.items()][::-1]]
        else:
            yield name, value


def check_apart(out: Path, inputs: Sequence[str]) -> None:
    """Raise an error if a run would read what it writes."""
    for address in inputs:
        if "://" not in address and out.resolve().is_relative_to(Path(address).resolve()):
            raise UsageError(f"{out}: the output folder must not be inside the inputs ({address})")
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: must be a folder, but is a file")
