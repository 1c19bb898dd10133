"""Publish the folder of a model on the Hugging Face Hub, in one commit, with a card that the Hub can read."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import genrst.storage as storage
from genrst.errors import ConfigError, ModelNotFoundError, OutputError, UsageError
from genrst.io import decode
from genrst.parser.folders import MODELS, describe_model, find_segmenter, read_models, read_parser_config
from genrst.parser.hub import HUB_FILES, PREFIX, REPOSITORY, make_api, said_clearly, strange_files

TAGS = ("discourse-parsing", "rhetorical-structure-theory")
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.-]*")
_HEAD = re.compile(r"\A---\n(.*?)^---(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"^([\w-]+):", re.MULTILINE)


def push(
    folder: Path, repository: str, *, private: bool = False, license: str | None = None, language: str = "en"
) -> str:
    """Replace the contents of the repository with the model in a folder; return the name that loads this commit.

    The repository is created if it does not exist. The card must name a licence unless `license` is given.
    """
    if not REPOSITORY.fullmatch(repository):
        raise UsageError(f"the name of a repository must be USER/NAME, got {repository!r}")
    files = check_folder(folder)
    card = make_card(folder, repository, license, language)
    api = make_api()
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, get_token

    if get_token() is None:
        raise OutputError(f"{repository}: publishing needs a Hub token: run hf auth login, or set HF_TOKEN")
    try:
        with said_clearly(repository):
            present, parent = _present(api, repository)
            if strange := strange_files(present):
                rule = f"{repository}: the repository must be new or contain only the files of a model"
                raise OutputError(f"{rule}, got {strange}")
            if parent is None:
                api.create_repo(repository, private=private, exist_ok=True)
            operations: list[Any] = [CommitOperationAdd(storage.CARD, card.encode())]
            operations += [CommitOperationAdd(name, str(folder / name)) for name in files if name != storage.CARD]
            operations += [CommitOperationDelete(name) for name in sorted({*present} - {*files, storage.CARD})]
            commit = api.create_commit(
                repository, operations, commit_message="Upload a genrst model", parent_commit=parent
            )
    except (ConnectionError, ModelNotFoundError) as error:
        raise OutputError(f"{repository}: cannot be written: {str(error).removeprefix(f'{repository}: ')}") from error
    return f"{PREFIX}{repository}@{commit.oid}"


def _present(api: Any, repository: str) -> tuple[Collection[str], str | None]:  # noqa: ANN401
    """Return the files of a repository and its latest commit, or None if there is no such repository."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        listed = api.model_info(repository)
    except RepositoryNotFoundError:
        return (), None
    return {file.rfilename for file in listed.siblings or ()} - HUB_FILES, listed.sha


def check_folder(folder: Path) -> list[str]:
    """Return the files of a self-contained model. Each is read once, so that no damaged file is published."""
    describe_model(folder)
    segmenter = find_segmenter(folder)
    places = [place for place, _ in read_models(folder)]
    places += [segmenter] if segmenter is not None and segmenter.parent != MODELS else []
    for place in places:
        if not place.resolve().is_relative_to(folder.resolve()):
            raise UsageError(
                f"{folder}: the model needs {place}, which is outside the folder; make a complete copy with "
                "genrst.load(FOLDER).save(NEW)"
            )
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    if strange := strange_files(files):
        raise UsageError(f"{folder}: the folder must contain only the files of a model, got {strange}")
    for name in files:
        if name.endswith(".safetensors"):
            storage.read_header(folder / name)
            storage.check_sum(folder / name)
        elif name.endswith(".json"):
            storage.read_json(folder / name)
    return files


def make_card(folder: Path, repository: str, license: str | None = None, language: str = "en") -> str:
    """Return the card of a model, with the settings that the Hub reads; write one if the model has none."""
    for option, value in (("license", license), ("language", language)):
        if value is not None and not _IDENTIFIER.fullmatch(value):
            raise UsageError(f"--{option} must be a Hub identifier, such as cc-by-4.0 or en, got {value!r}")
    path = folder / storage.CARD
    text = decode(storage.read_file(path), path) if path.is_file() else _new_card(folder, repository)
    head = _HEAD.match(text)
    settings = head[1] if head else ""
    known = set(_KEY.findall(settings))
    if license is not None and "license" in known:
        raise UsageError(f"{path}: the card already names a licence; remove --license {license}")
    if license is None and "license" not in known:
        raise ConfigError(f"{path}: the card names no licence; add one with --license, such as cc-by-4.0")
    missing = {
        "license": f"license: {license}",
        "language": f"language: {language}",
        "library_name": "library_name: genrst",
        "tags": "\n".join(["tags:", *(f"- {tag}" for tag in TAGS)]),
    }
    added = "".join(f"{line}\n" for key, line in missing.items() if key not in known)
    return f"---\n{settings}{added}---\n{text[head.end() :] if head else text}"


def _new_card(folder: Path, repository: str) -> str:
    facts = describe_model(folder)
    return f"""
# {read_parser_config(folder).name}

An RST parser trained with genrst: {facts["n_parameters"]:,} parameters.

```python
import genrst

parser = genrst.load("hf:{repository}@COMMIT")  # a commit of this repository
print(parser("It rained, so we stayed in."))
```
"""
