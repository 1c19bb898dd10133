"""A parser's folder written again somewhere else, with all that it needs: members of an ensemble, too."""

import json
import os
import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from genrst.corpora.files import write_atomically
from genrst.errors import CorpusNotFoundError, UsageError
from genrst.model_folder import (
    ENCODER,
    ENSEMBLE,
    PARSER,
    SEGMENTER,
    EnsembleConfig,
    MemberConfig,
    ParserConfig,
    find_segmenter,
    is_ensemble,
    read_members,
)


def copy_model(folder: Path, config: ParserConfig, target: Path) -> None:
    """Write a parser with these settings into a folder that is not there yet: all of it, or nothing."""
    try:
        if target.exists():
            raise UsageError(f"a parser must be saved in a new folder, was: {str(target)!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name[:50]}.") as temporary:
            copy = Path(temporary) / "model"
            _copy_files(folder, copy)
            if is_ensemble(folder):
                _copy_members(folder, copy)
            write_atomically(copy / PARSER, json.dumps(asdict(replace(config, segmenter=None)), indent=1) + "\n")
            place, own = find_segmenter(folder), [folder, *(member for member, _ in read_members(folder))]
            if place is not None and place.parent not in own:
                shutil.copytree(place, copy / SEGMENTER)
            copy.rename(target)
    except OSError as error:
        if isinstance(error, CorpusNotFoundError):
            raise
        # shutil collects what went wrong in a list of several lines.
        reason = error.strerror or "a file cannot be copied"
        raise CorpusNotFoundError(f"{target}: cannot be written: {reason}") from error


def _copy_members(folder: Path, copy: Path) -> None:
    """Each member becomes a sub-folder; a number before its name keeps it apart from all others."""
    members = []
    for number, (place, weight) in enumerate(read_members(folder), start=1):
        name = f"{number}-{place.resolve().name}"
        _copy_files(place, copy / name)
        members.append(MemberConfig(name, weight))
    write_atomically(copy / ENSEMBLE, json.dumps(asdict(EnsembleConfig(tuple(members))), indent=1) + "\n")


def _copy_files(folder: Path, copy: Path) -> None:
    """What belongs to a model; other folders inside its own may be other models."""
    shutil.copytree(folder, copy, ignore=_other_folders)


def _other_folders(folder: str | os.PathLike[str], names: list[str]) -> set[str]:
    return {name for name in names if name not in (ENCODER, SEGMENTER) and (Path(folder) / name).is_dir()}
