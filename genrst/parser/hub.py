"""Models on the Hugging Face Hub: `hf:USER/NAME@COMMIT` becomes a folder on this machine.

A repository may contain only the files of a model (`genrst.storage`). If it has a pickle, code or any other file, it is
rejected before anything is downloaded. Every file is compared with the hash that the Hub lists for it. Its content is
validated later, like that of any model folder.

The huggingface_hub library caches downloads, so a model can be loaded again without a network. Its settings also give
the address of the Hub and the token for private repositories. `genrst.parser.push` publishes models.
"""

import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import genrst.storage as storage
from genrst.errors import (
    ConfigError,
    GenrstError,
    MissingDependencyError,
    ModelNotFoundError,
    ParserWarning,
    UsageError,
)
from genrst.version import VERSION

PREFIX = "hf:"
HOW_TO_INSTALL = "models on the Hugging Face Hub need huggingface_hub: pip install 'genrst[hub]'"

_PART = "[A-Za-z0-9][A-Za-z0-9._-]*"
REPOSITORY = re.compile(f"{_PART}/{_PART}")
"""USER/NAME."""
_REVISION = re.compile(r"[A-Za-z0-9][\w./-]*", re.ASCII)
_COMMIT = re.compile("[0-9a-f]{40}")

_WEIGHTS = re.compile(rf"(?:{_PART}/){{0,2}}(?:weights(?:-[0-9]+)?|signals)\.safetensors")
_SETTINGS = re.compile(
    rf"(?:{_PART}/){{0,2}}(?:config|symbols|parser|ensemble|signals|tokenizer)\.json|(?:{_PART}/)?README\.md"
)
"""The files of a model, including those of its encoder and of the models inside it."""
_PATTERNS = ["*.safetensors", "*.json", "*README.md"]
"""What to download: all files of a model, but not `.gitattributes`."""
HUB_FILES = {".gitattributes"}
"""The file that the Hub itself adds to a repository."""


def is_model_file(name: str) -> bool:
    """Return whether the folder of a model may contain a file with this name.

    >>> [is_model_file(name) for name in ("weights-2.safetensors", "encoder/config.json", "model.py", "../config.json")]
    [True, True, False, False]
    """
    return bool(_WEIGHTS.fullmatch(name) or _SETTINGS.fullmatch(name))


@cache
def fetch(name: str) -> Path:
    """Return the folder of the model `hf:USER/NAME@COMMIT`, and download it if it is not in the cache.

    Without a commit, the latest one is loaded, and a warning names it. A name stands for the same commit as long as the
    program runs.
    """
    repository, revision = _parse(name)
    api = make_api()
    try:
        with said_clearly(name):
            listed = api.model_info(repository, revision=revision, files_metadata=True)
    except ConnectionError as error:
        folder = _cached(api, name, repository, revision, error)
    else:
        folder = _download(api, name, repository, revision, listed)
    if not _COMMIT.fullmatch(revision or ""):
        pinned = f"{PREFIX}{repository}@{folder.name}"
        warnings.warn(
            ParserWarning(f"{name}: loaded the latest commit; to load the same model again, use {pinned}"), stacklevel=2
        )
    return folder


def pinned(name: str | None) -> str | None:
    """Return the name of a model, with its commit if it is on the Hub."""
    if name is None or not name.startswith(PREFIX):
        return name
    return f"{PREFIX}{_parse(name)[0]}@{fetch(name).name}"


def _parse(name: str) -> tuple[str, str | None]:
    repository, at, revision = name.removeprefix(PREFIX).partition("@")
    if not REPOSITORY.fullmatch(repository) or (at and not _REVISION.fullmatch(revision)):
        raise UsageError(f"the name of a model on the Hub must be hf:USER/NAME@COMMIT, got {name!r}")
    return repository, revision or None


def make_api() -> Any:  # noqa: ANN401
    """Return the client of the Hub."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise MissingDependencyError(HOW_TO_INSTALL) from error
    return HfApi(library_name="genrst", library_version=VERSION)


@contextmanager
def said_clearly(name: str) -> Iterator[None]:
    """Convert errors of the Hub's library to ours; raise ConnectionError if the Hub cannot be reached."""
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GenrstError:
        raise
    except GatedRepoError as error:
        raise ModelNotFoundError(f"{name}: access is restricted; ask for it on the model's page on the Hub") from error
    except RepositoryNotFoundError as error:
        hint = "if it is private, log in: hf auth login, or set HF_TOKEN"
        raise ModelNotFoundError(f"{name}: no such repository on the Hub; {hint}") from error
    except RevisionNotFoundError as error:
        raise ModelNotFoundError(f"{name}: the repository has no such commit") from error
    except HFValidationError as error:
        raise UsageError(f"{name}: {_first_line(error)}") from error
    except HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            raise ModelNotFoundError(
                f"{name}: the Hub denies access; log in: hf auth login, or set HF_TOKEN"
            ) from error
        raise ConnectionError(_first_line(error)) from error
    except Exception as error:  # the HTTP client and its exceptions differ between versions
        raise ConnectionError(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]


def _cached(api: Any, name: str, repository: str, revision: str | None, cause: ConnectionError) -> Path:  # noqa: ANN401
    """Return the folder of a model that has already been downloaded."""
    try:
        with said_clearly(name):
            found = api.snapshot_download(
                repository, revision=revision, allow_patterns=_PATTERNS, local_files_only=True
            )
    except ConnectionError as error:
        rule = f"{name}: the model is not in the cache, and the Hub cannot be reached"
        raise ModelNotFoundError(f"{rule}: {cause}") from error
    return Path(found)


def _download(api: Any, name: str, repository: str, revision: str | None, listed: Any) -> Path:  # noqa: ANN401
    """Download the files that the Hub lists, and return their folder."""
    _check_listing(name, listed.siblings or ())
    try:
        with said_clearly(name):
            found = api.snapshot_download(repository, revision=revision, allow_patterns=_PATTERNS)
    except ConnectionError as error:
        raise ModelNotFoundError(f"{name}: the download failed: {error}") from error
    folder = Path(found)
    if folder.name != listed.sha:
        raise ModelNotFoundError(f"{name}: the repository changed during the download; load it again")
    for file in listed.siblings:
        if file.rfilename not in HUB_FILES:
            _check_hash(name, folder / file.rfilename, file)
    return folder


def _check_listing(name: str, files: Iterable[Any]) -> None:
    """Raise an error unless these are the files of a model, with reasonable sizes and with hashes."""
    sizes = {file.rfilename: file.size for file in files if file.rfilename not in HUB_FILES}
    if strange := strange_files(sizes):
        rule = f"{name}: the repository must contain only the files of a model (safetensors, JSON, README.md)"
        raise ConfigError(f"{rule}, got {strange}")
    needed = [storage.ENSEMBLE] if storage.ENSEMBLE in sizes else [storage.CONFIG, storage.SYMBOLS, storage.WEIGHTS]
    for file in needed:
        if file not in sizes:
            raise ModelNotFoundError(f"{name}: a model must have {', '.join(needed)}; {file} is missing")
    for file, size in sizes.items():
        if not _WEIGHTS.fullmatch(file) and (size or 0) > storage.MOST_BYTES:
            raise ConfigError(f"{name}: {file} must be at most {storage.MOST_BYTES} bytes, got {size}")


def strange_files(names: Iterable[str]) -> str:
    """Return the names of files that no model has; only the first few."""
    strange = sorted(name for name in names if not is_model_file(name))
    return ", ".join(ascii(name)[1:-1][:100] for name in strange[:3]) + (", …" if len(strange) > 3 else "")


def _check_hash(name: str, path: Path, file: Any) -> None:  # noqa: ANN401
    """Compare a file with its hash: SHA-256 for large files, Git's for small ones. Remove a file that differs."""
    try:
        size = path.stat().st_size
        if file.lfs is not None:
            kind, wanted, found = "SHA-256", file.lfs.sha256, _digest(path, hashlib.sha256())
        else:
            start = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            kind, wanted, found = "Git hash", file.blob_id, _digest(path, start)
    except OSError as error:
        raise ModelNotFoundError(f"{name}: {file.rfilename} was not downloaded: {error.strerror}") from error
    if found != wanted:
        # Otherwise the cache would return it again.
        for one in {path.resolve(), path}:
            one.unlink(missing_ok=True)
        rule = f"{name}: {file.rfilename} is damaged: its {kind} must be {wanted}, got {found}"
        raise ConfigError(f"{rule}; it was removed, so load the model again")


def _digest(path: Path, digest: Any) -> str:  # noqa: ANN401
    with path.open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return str(digest.hexdigest())


def name_of(folder: Path) -> str:
    """Return the default name of a model: its repository if it is from the Hub, otherwise its folder."""
    folder = folder.absolute()
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.rpartition("--")[2]
    return folder.resolve().name
