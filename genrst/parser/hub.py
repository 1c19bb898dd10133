"""Models on the Hugging Face Hub: `hf:USER/NAME@COMMIT` becomes a folder on this machine.

A repository may hold nothing but the files of a model (`genrst.storage`): one with a pickle, with code or with anything
else is refused before it is downloaded. Every file is compared with the hash that the Hub lists for it; what is read
from it later is validated as in any other folder.

The library huggingface_hub keeps what it has downloaded, so that a model can be loaded again without a network. It also
knows the address of the Hub and the token for private repositories, by its own settings. Models are published by
`genrst.parser.push`.
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
"""The files of a model, also those of its encoder and of the models in it."""
_PATTERNS = ["*.safetensors", "*.json", "*README.md"]
"""What the Hub's library is told to download: of the files of a model all, and never `.gitattributes`."""
HUB_FILES = {".gitattributes"}
"""What the Hub itself puts into a repository."""


def is_model_file(name: str) -> bool:
    """Whether the folder of a model has a file of this name.

    >>> [is_model_file(name) for name in ("weights-2.safetensors", "encoder/config.json", "model.py", "../config.json")]
    [True, True, False, False]
    """
    return bool(_WEIGHTS.fullmatch(name) or _SETTINGS.fullmatch(name))


@cache
def fetch(name: str) -> Path:
    """The folder of the model `hf:USER/NAME@COMMIT`, which is downloaded unless it is there.

    Without a commit it is the latest one, with a warning that says which. A name stands for the same commit as long as
    the program runs.
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
            ParserWarning(f"{name}: loaded the latest commit; to load the same again, write {pinned}"), stacklevel=2
        )
    return folder


def pinned(name: str | None) -> str | None:
    """The name of a model with the commit that it stands for, if it is on the Hub."""
    if name is None or not name.startswith(PREFIX):
        return name
    return f"{PREFIX}{_parse(name)[0]}@{fetch(name).name}"


def _parse(name: str) -> tuple[str, str | None]:
    repository, at, revision = name.removeprefix(PREFIX).partition("@")
    if not REPOSITORY.fullmatch(repository) or (at and not _REVISION.fullmatch(revision)):
        raise UsageError(f"a model on the Hub must be hf:USER/NAME@COMMIT, got {name!r}")
    return repository, revision or None


def make_api() -> Any:  # noqa: ANN401
    """The interface of the Hub."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise MissingDependencyError(HOW_TO_INSTALL) from error
    return HfApi(library_name="genrst", library_version=VERSION)


@contextmanager
def said_clearly(name: str) -> Iterator[None]:
    """Turn the errors of the Hub's library into ours; a ConnectionError if the Hub cannot be reached."""
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
        raise ModelNotFoundError(f"{name}: its authors must grant you access, on its page of the Hub") from error
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
    except Exception as error:  # its HTTP client, and what that raises, is another one in every version
        raise ConnectionError(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]


def _cached(api: Any, name: str, repository: str, revision: str | None, cause: ConnectionError) -> Path:  # noqa: ANN401
    """The folder of a model that was downloaded before."""
    try:
        with said_clearly(name):
            found = api.snapshot_download(
                repository, revision=revision, allow_patterns=_PATTERNS, local_files_only=True
            )
    except ConnectionError as error:
        rule = f"{name}: it is not in the cache, and the Hub cannot be reached"
        raise ModelNotFoundError(f"{rule}: {cause}") from error
    return Path(found)


def _download(api: Any, name: str, repository: str, revision: str | None, listed: Any) -> Path:  # noqa: ANN401
    """The folder of what the Hub lists."""
    _check_listing(name, listed.siblings or ())
    try:
        with said_clearly(name):
            found = api.snapshot_download(repository, revision=revision, allow_patterns=_PATTERNS)
    except ConnectionError as error:
        raise ModelNotFoundError(f"{name}: the download failed: {error}") from error
    folder = Path(found)
    if folder.name != listed.sha:
        raise ModelNotFoundError(f"{name}: there was a new commit during the download; load it again")
    for file in listed.siblings:
        if file.rfilename not in HUB_FILES:
            _check_hash(name, folder / file.rfilename, file)
    return folder


def _check_listing(name: str, files: Iterable[Any]) -> None:
    """Raise an error unless these are the files of a model, of sensible sizes and with hashes."""
    sizes = {file.rfilename: file.size for file in files if file.rfilename not in HUB_FILES}
    if strange := strange_files(sizes):
        rule = f"{name}: a repository must have nothing but the files of a model (safetensors, JSON, README.md)"
        raise ConfigError(f"{rule}, got {strange}")
    needed = [storage.ENSEMBLE] if storage.ENSEMBLE in sizes else [storage.CONFIG, storage.SYMBOLS, storage.WEIGHTS]
    for file in needed:
        if file not in sizes:
            raise ModelNotFoundError(f"{name}: a model must have {', '.join(needed)}, got without {file}")
    for file, size in sizes.items():
        if not _WEIGHTS.fullmatch(file) and (size or 0) > storage.MOST_BYTES:
            raise ConfigError(f"{name}: {file} must have {storage.MOST_BYTES} bytes or less, got {size}")


def strange_files(names: Iterable[str]) -> str:
    """Those that no model has, the first ones of many."""
    strange = sorted(name for name in names if not is_model_file(name))
    return ", ".join(ascii(name)[1:-1][:100] for name in strange[:3]) + (", …" if len(strange) > 3 else "")


def _check_hash(name: str, path: Path, file: Any) -> None:  # noqa: ANN401
    """Compare a file with its hash: SHA-256 of large files, that of Git of small ones. A wrong file is removed."""
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
        # Or the cache would give it back.
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
    """What a model is called that does not say it: by its repository if it is from the Hub, else by its folder."""
    folder = folder.absolute()
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.rpartition("--")[2]
    return folder.resolve().name
