"""A parser as a package of files: where its folder lies, what its settings are, what it holds, how it is copied.

A folder holds one model, or names several that choose together (`ensemble.json`): an *ensemble*. Models that are
installed by name are folders in `genrst/models`. The files themselves are `genrst.storage`'s. No torch here: networks
are loaded by `genrst.parser.search`.
"""

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from genrst import storage
from genrst.errors import ConfigError, GenrstError, ModelNotFoundError, OutputError, UsageError
from genrst.io import decode
from genrst.model.model_config import AnyModelConfig, ChartConfig, ModelConfig

MODELS = Path(__file__).parents[1] / "models"
"""Where the models lie that come with the package."""
DEFAULT_MODEL = "en"
MOST_MEMBERS = 100
"""Of an ensemble; each takes memory."""

Search: TypeAlias = Literal["bag", "word", "action", "greedy", "risk", "best"]
Relations: TypeAlias = Literal["fine", "coarse"]
Whole: TypeAlias = Literal["nothing", "sentences", "paragraphs"]
EncoderPrecision: TypeAlias = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class ParserConfig:
    """How a parser works; the file `parser.json`."""

    name: str | None = None
    """What parsed documents say about their origin; the name of the folder if not given."""
    search: Search | None = None
    """How trees are found. Step by step: bag, word, action or greedy (default: bag). In a chart: risk, the tree whose
    units are expected to be right most often, or best, the most probable tree (default: risk)."""
    beam: int = 10
    word_weight: float = 0.5
    """The weight of words in comparisons; 1 is the joint probability."""
    lowercase: bool = False
    """Whether words are lower-cased, as in training."""
    pipeline: str | None = None
    """A spaCy pipeline by name; the best one installed if not given."""
    segmenter: str | None = None
    """A model, by name or by its folder relative to this one, whose segmenter is used if there is none here."""
    encoder_precision: EncoderPrecision = "auto"
    """Of a pretrained encoder; if `auto`, bfloat16 on a CPU that computes with it, and float32 elsewhere."""
    encoder_overlap: float | None = None
    """The share of a window that the one before has, too; as in training if not given. Less is faster."""

    whole: Whole = "sentences"
    """What a chart does not cut: every sentence is a unit, or every sentence and every paragraph, or nothing is."""
    relations: Relations = "fine"
    """Whether a chart names relations as finely as its corpus does, if it has learned that."""
    temperature: float = 1.0
    """Of a chart's probabilities, chosen so that they are right on average; above 1 they are less sure."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ConfigError(f"temperature: the value must be a number above 0, was: {self.temperature}")
        if self.beam < 1:
            raise ConfigError(f"beam: the value must be 1 or more, was: {self.beam}")
        if not (math.isfinite(self.word_weight) and self.word_weight >= 0):
            raise ConfigError(f"word_weight: the value must be finite and 0 or more, was: {self.word_weight}")
        if not 0 <= (self.encoder_overlap or 0) < 1:
            raise ConfigError(
                f"encoder_overlap: the value must be 0 or more and less than 1, was: {self.encoder_overlap}"
            )


@dataclass(frozen=True, slots=True)
class WeightedName:
    """A model of an ensemble."""

    model: str = ""
    """Its folder, relative to that of the ensemble, or the name it is installed under."""
    weight: float = 1.0
    """Of its log-probabilities in the sum that trees are compared by."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ConfigError(f"a member's weight must be a number above 0, was: {self.weight} ({self.model!r})")


@dataclass(frozen=True, slots=True)
class EnsembleConfig:
    """The models that choose together; the file `ensemble.json`."""

    members: tuple[WeightedName, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.members) <= MOST_MEMBERS:
            raise ConfigError(f"members: an ensemble must have 1 to {MOST_MEMBERS} members, was: {len(self.members)}")


def installed_models() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.name for path in MODELS.iterdir() if is_model(path)) if MODELS.is_dir() else []


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model."""
    return (folder / storage.WEIGHTS).is_file() or is_ensemble(folder)


def is_ensemble(folder: Path) -> bool:
    """Whether a folder names several models that choose together, instead of holding one."""
    return (folder / storage.ENSEMBLE).is_file()


def find_model(name: str | Path | None = None) -> Path:
    """The folder of a model: one that is installed under this name (`en` if none is given), or the folder itself."""
    name = DEFAULT_MODEL if name is None else name
    if name in installed_models():
        return MODELS / name
    if not _is_folder(Path(name)):
        known = ", ".join(installed_models()) or "none is"
        raise ModelNotFoundError(f"a model must be installed ({known}) or be a folder, was: {str(name)!r}")
    return Path(name)


def _find_beside(name: str, path: Path, what: str) -> Path:
    """The folder of a model that a file names: relative to that of the file, or one that is installed."""
    folder = path.parent / name
    if not _is_folder(folder) and name in installed_models():
        folder = MODELS / name
    if not _is_folder(folder):
        raise ModelNotFoundError(f"{path}: {what} must be a folder or an installed model, was: {name!r}")
    return folder


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # a name may be too long for one


def read_parser_config(folder: Path) -> ParserConfig:
    """The settings of a parser, or the defaults where its folder has none."""
    path = folder / storage.PARSER
    config = storage.read_config(ParserConfig, path) if os.path.lexists(path) else ParserConfig()
    return replace(config, name=config.name or folder.resolve().name)


def default_search(folder: Path) -> Search:
    """How a parser finds trees that does not say how."""
    return "risk" if is_chart(folder) else "bag"


def is_chart(folder: Path) -> bool:
    """Whether a parser's models are charts; either all of them are or none."""
    places = [place for place, _ in read_models(folder)]
    kinds = {_kind(place) == "chart" for place in places}
    if len(kinds) > 1:
        raise ConfigError(f"{folder}: models that choose together must all be charts, or none, was: a mixture")
    return True in kinds


def _kind(folder: Path) -> object:
    """What a folder says that its model is; what else is wrong with it shows when it is read."""
    path = folder / storage.CONFIG
    data = storage.read_json(path) if path.is_file() else None
    return data.get("kind") if isinstance(data, dict) else None


def read_models(folder: Path) -> list[tuple[Path, float]]:
    """The folders and weights of the models that a parser asks: its own, or those of an ensemble."""
    if not is_ensemble(folder):
        return [(folder, 1.0)]
    path = folder / storage.ENSEMBLE
    if (folder / storage.WEIGHTS).exists():
        raise ConfigError(f"{path}: an ensemble must have no weights of its own, was: {storage.WEIGHTS}")
    models = []
    for member in storage.read_config(EnsembleConfig, path).members:
        place = _find_beside(member.model, path, "a member")
        if is_ensemble(place):  # ensembles of ensembles would be no help, and could go round in circles
            raise ConfigError(
                f"{path}: a member must have weights of its own, was: {member.model!r}, which is an ensemble"
            )
        models.append((place, member.weight))
    return models


def find_segmenter(folder: Path) -> Path | None:
    """The folder of a parser's segmenter: its own, that of a model it names, or the first in its ensemble."""
    if (folder / storage.SEGMENTER).is_dir():
        return folder / storage.SEGMENTER
    named = read_parser_config(folder).segmenter
    if named is not None:
        place = _find_beside(named, folder / storage.PARSER, "segmenter") / storage.SEGMENTER
        return place if place.is_dir() else None
    others = (place for place, _ in read_models(folder) if place != folder)
    return next((place for place in map(find_segmenter, others) if place is not None), None)


def describe_model(folder: Path) -> dict[str, Any]:
    """What is known about a parser without loading it, ready for JSON; of an ensemble, about each model, too."""
    parser, models, segmenter = read_parser_config(folder), read_models(folder), find_segmenter(folder)
    parser = replace(parser, search=parser.search or default_search(folder))
    folders = {folder, *(place for place, _ in models)}
    files = {path.resolve() for place in folders for path in place.rglob("*") if path.is_file()}
    card = folder / storage.CARD
    facts = {
        "model": parser.name,
        "folder": str(folder),
        "segmenter_parameters": storage.count_parameters(segmenter) if segmenter else None,
        "bytes": sum(path.stat().st_size for path in files),
        "parser": asdict(parser),
        "card": decode(storage.read_file(card), card) if card.is_file() else None,
    }
    if not is_ensemble(folder):
        return facts | _describe_network(folder)
    members = [
        {"model": read_parser_config(place).name, "folder": str(place), "weight": weight, **_describe_network(place)}
        for place, weight in models
    ]
    return facts | {"n_parameters": sum(member["n_parameters"] or 0 for member in members), "members": members}


def _describe_network(folder: Path) -> dict[str, Any]:
    path = folder / storage.SYMBOLS
    symbols = storage.read_json(path)
    try:
        sizes = {f"n_{name}": len(symbols[name]) for name in ("words", "deprels", "labels")}
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path}: symbols must be words, deprels and labels, was: {error!r}") from error
    path = folder / storage.CONFIG
    config: AnyModelConfig = (
        storage.read_config(ChartConfig, path) if _kind(folder) == "chart" else storage.read_config(ModelConfig, path)
    )
    return {"n_parameters": storage.count_parameters(folder), **sizes, "config": asdict(config)}


def copy_parser(folder: Path, config: ParserConfig, target: Path) -> None:
    """Write a parser with these settings, and all that it needs, into a new folder: the whole of it, or nothing."""
    try:
        if target.exists():
            raise UsageError(f"a parser must be saved in a new folder, was: {str(target)!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name[:50]}.") as temporary:
            copy = Path(temporary) / "model"
            _copy_model(folder, copy)
            models = read_models(folder)
            if is_ensemble(folder):
                _copy_ensemble(models, copy)
            storage.write_config(replace(config, segmenter=None), copy / storage.PARSER)
            segmenter = find_segmenter(folder)
            if segmenter is not None and segmenter.parent not in [folder, *(place for place, _ in models)]:
                shutil.copytree(segmenter, copy / storage.SEGMENTER, copy_function=_copy_file)
            copy.rename(target)
    except OSError as error:
        if isinstance(error, GenrstError):
            raise
        # shutil collects what went wrong in a list of several lines.
        reason = error.strerror or "a file cannot be copied"
        raise OutputError(f"{target}: cannot be written: {reason}") from error


def _copy_ensemble(models: Sequence[tuple[Path, float]], copy: Path) -> None:
    """Each model becomes a sub-folder; a number before its name keeps it apart from all others."""
    members = []
    for number, (place, weight) in enumerate(models, start=1):
        name = f"{number}-{place.resolve().name}"
        _copy_model(place, copy / name)
        members.append(WeightedName(name, weight))
    storage.write_config(EnsembleConfig(tuple(members)), copy / storage.ENSEMBLE)


def _copy_model(folder: Path, copy: Path) -> None:
    def others(parent: str | os.PathLike[str], names: list[str]) -> set[str]:
        """Folders inside that of the model that are none of its own, but may be other models."""
        return {
            name
            for name in names
            if name not in (storage.ENCODER, storage.SEGMENTER) and (Path(parent) / name).is_dir()
        }

    shutil.copytree(folder, copy, ignore=others, copy_function=_copy_file)


def _copy_file(source: str, target: str) -> str:
    if not Path(source).is_file():
        raise ModelNotFoundError(f"{source}: a file of the model must be a regular file, was: something else")
    return shutil.copy2(source, target)
