"""The folder of a parser: where it lies, what its settings are, and what can be said about it. No torch here.

    config.json, symbols.json, weights.safetensors   the model (`genrst.model.storage`)
    encoder/                                         how its pretrained encoder is built and spells; most have none
    parser.json                                      how it parses unless told otherwise; may be missing
    segmenter/                                       finds the EDUs; without one, rules do
    README.md                                        the model card

In place of a model of its own, a folder may name several that choose together (`ensemble.json`): an *ensemble*.
Models by name are folders in `genrst/models`.

A parser's folder written again somewhere else, with all that it needs: members of an ensemble, too.
"""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from genrst.config import Config, from_mapping
from genrst.errors import ConfigError, CorpusNotFoundError, GenrstError, UsageError
from genrst.io import decode, read_bytes, write_atomically
from genrst.model.model_config import ModelConfig

Search: TypeAlias = Literal["bag", "word", "action", "greedy"]
EncoderPrecision: TypeAlias = Literal["auto", "float32", "bfloat16"]

MODELS = Path(__file__).parents[1] / "models"
"""Where models lie that come with the package."""

DEFAULT_MODEL = "en"
PARSER, ENSEMBLE, ENCODER, SEGMENTER, CARD = "parser.json", "ensemble.json", "encoder", "segmenter", "README.md"
_CONFIG, _SYMBOLS, _WEIGHTS = "config.json", "symbols.json", "weights.safetensors"


@dataclass(frozen=True, slots=True)
class ParserConfig:
    """How a parser works; the file `parser.json`."""

    name: str | None = None
    """What parsed documents say about their origin; the name of the folder if not given."""
    search: Search = "bag"
    beam: int = 10
    word_weight: float = 0.5
    """The weight of words in comparisons; 1 is the joint probability."""
    lowercase: bool = False
    """As in training."""
    pipeline: str | None = None
    """A spaCy pipeline by name; the best one installed if not given."""
    segmenter: str | None = None
    """A model, by its name or its folder as seen from this one, whose segmenter is used if there is none here."""
    encoder_precision: EncoderPrecision = "auto"
    """Of a pretrained encoder; if `auto`, bfloat16 on a CPU that computes with it, and float32 elsewhere."""
    encoder_overlap: float | None = None
    """The share of a window that the one before has, too; as in training if not given. Less is faster."""

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigError(f"beam: the value must be 1 or more, was: {self.beam}")
        if not (math.isfinite(self.word_weight) and self.word_weight >= 0):
            raise ConfigError(f"word_weight: the value must be a number from 0 on, was: {self.word_weight}")
        if not 0 <= (self.encoder_overlap or 0) < 1:
            raise ConfigError(
                f"encoder_overlap: the value must be 0 or more and less than 1, was: {self.encoder_overlap}"
            )


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """A member of an ensemble."""

    model: str = ""
    """Its folder, as seen from that of the ensemble, or the name it is installed under."""
    weight: float = 1.0
    """Of its log-probabilities in the sum that trees are compared by."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ConfigError(f"the weight of a member must be a number over 0, was: {self.weight} ({self.model!r})")


@dataclass(frozen=True, slots=True)
class EnsembleConfig:
    """The models that choose together; the file `ensemble.json`."""

    members: tuple[MemberConfig, ...] = ()

    def __post_init__(self) -> None:
        if not self.members:
            raise ConfigError("members: an ensemble must have a member or more, was: none")


def installed_models() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.name for path in MODELS.iterdir() if is_model(path)) if MODELS.is_dir() else []


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model."""
    return (folder / _WEIGHTS).is_file() or is_ensemble(folder)


def is_ensemble(folder: Path) -> bool:
    """Whether a folder names several models that choose together, instead of holding one."""
    return (folder / ENSEMBLE).is_file()


def find_model(name: str | Path | None = None) -> Path:
    """The folder of a model: one that is installed under this name (`en` if none is given), or the folder itself."""
    name = DEFAULT_MODEL if name is None else name
    if name in installed_models():
        return MODELS / name
    if not _is_folder(Path(name)):
        known = ", ".join(installed_models()) or "none is"
        raise CorpusNotFoundError(f"a model must be installed ({known}) or be a folder, was: {str(name)!r}")
    return Path(name)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # a name may be too long for one


def read_parser_config(folder: Path) -> ParserConfig:
    """The settings of a parser, or the defaults where its folder has none."""
    path = folder / PARSER
    config = _read_config(ParserConfig, path) if path.exists() else ParserConfig()
    return replace(config, name=config.name or folder.resolve().name)


def _read_config(config_type: type[Config], path: Path) -> Config:
    data = _read_json(path)
    try:
        return from_mapping(config_type, data)
    except (ConfigError, OverflowError) as error:
        raise ConfigError(f"{path}: {error}") from error


def read_members(folder: Path) -> list[tuple[Path, float]]:
    """The folders of the models that a parser asks, with their weights: its own, or those of an ensemble."""
    if not is_ensemble(folder):
        return [(folder, 1.0)]
    path = folder / ENSEMBLE
    if (folder / _WEIGHTS).exists():
        raise ConfigError(f"{path}: an ensemble must have no weights of its own, was: {_WEIGHTS}")
    return [(_find_member(member.model, path), member.weight) for member in _read_config(EnsembleConfig, path).members]


def _find_member(name: str, path: Path) -> Path:
    """Members of members would be no help, and could go round in circles."""
    folder = _find_beside(name, path, "a member")
    if is_ensemble(folder):
        raise ConfigError(f"{path}: a member must have weights of its own, was: {name!r}, which is an ensemble")
    return folder


def _find_beside(name: str, path: Path, what: str) -> Path:
    """A model that a file names: a folder as seen from that of the file, or one that is installed."""
    folder = path.parent / name
    if not _is_folder(folder) and name in installed_models():
        folder = MODELS / name
    if not _is_folder(folder):
        raise CorpusNotFoundError(f"{path}: {what} must be a folder or a model that is installed, was: {name!r}")
    return folder


def find_segmenter(folder: Path) -> Path | None:
    """The folder of a parser's segmenter: its own, that of a model it names, or that of its first member with one."""
    if (folder / SEGMENTER).is_dir():
        return folder / SEGMENTER
    named = read_parser_config(folder).segmenter
    if named is not None:
        place = _find_beside(named, folder / PARSER, "segmenter") / SEGMENTER
        return place if place.is_dir() else None
    members = (member for member, _ in read_members(folder) if member != folder)
    return next((place for place in map(find_segmenter, members) if place is not None), None)


def describe_model(folder: Path) -> dict[str, Any]:
    """What is known about a model without loading it, ready for JSON; if it is an ensemble, of its members, too."""
    if not is_ensemble(folder):
        return _describe(folder, [folder]) | _describe_network(folder)
    members = read_members(folder)
    facts = [
        {"model": read_parser_config(place).name, "folder": str(place), "weight": weight, **_describe_network(place)}
        for place, weight in members
    ]
    n_parameters = sum(fact["n_parameters"] or 0 for fact in facts)
    folders = [folder, *(place for place, _ in members)]
    return _describe(folder, folders) | {"n_parameters": n_parameters, "members": facts}


def _describe(folder: Path, folders: Sequence[Path]) -> dict[str, Any]:
    """Of the parser; its files are in all of these folders."""
    parser = read_parser_config(folder)
    card = folder / CARD
    segmenter = find_segmenter(folder)
    files = {path.resolve() for place in folders for path in place.rglob("*") if path.is_file()}
    return {
        "model": parser.name,
        "folder": str(folder),
        "segmenter_parameters": _count_parameters(segmenter / _WEIGHTS) if segmenter else None,
        "bytes": sum(path.stat().st_size for path in files),
        "parser": asdict(parser),
        "card": decode(read_bytes(card), card) if card.is_file() else None,
    }


def _describe_network(folder: Path) -> dict[str, Any]:
    symbols = _read_json(folder / _SYMBOLS)
    try:
        sizes = {f"n_{name}": len(symbols[name]) for name in ("words", "deprels", "labels")}
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{folder / _SYMBOLS}: symbols must be words, deprels and labels, was: {error!r}") from error
    config = asdict(_read_config(ModelConfig, folder / _CONFIG))
    return {"n_parameters": _count_parameters(folder / _WEIGHTS), **sizes, "config": config}


def _count_parameters(path: Path) -> int | None:
    """The numbers in a safetensors file, by its header: its length in eight bytes, then JSON with all shapes."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, 1 << 24)))
        is_scale = {name: name.removesuffix(".scale") in header and name.endswith(".scale") for name in header}
        shapes = [header[name]["shape"] for name in header if name != "__metadata__" and not is_scale[name]]
        return sum(int(math.prod(shape)) for shape in shapes)
    except OSError as error:
        raise CorpusNotFoundError(f"{path}: {error.strerror or error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: a file of the model is damaged: {error!r}") from error


def _read_json(path: Path) -> Any:  # noqa: ANN401
    try:
        return json.loads(decode(read_bytes(path), path))
    except GenrstError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: a file of the model is damaged: {error}") from error


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
