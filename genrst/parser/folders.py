"""Model folders: finding, reading, describing and copying them.

A folder holds one model, or an *ensemble*: a file `ensemble.json` that names several models. Installed models are
folders in `genrst/models`, or packages with an entry point. The files of one model are described in `genrst.storage`.
`genrst.parser.loading` loads networks; this module does not need PyTorch.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import genrst.parser.hub as hub
import genrst.storage as storage
from genrst.errors import ConfigError, GenrstError, ModelNotFoundError, OutputError, UsageError
from genrst.io import decode
from genrst.parser import DEFAULT_MODEL, SEARCHES, ModelKind
from genrst.parser.options import ParserConfig

MODELS = Path(__file__).parents[1] / "models"
"""The folder of the models that come with the package."""
ENTRY_POINTS = "genrst.models"
"""The group of entry points by which other packages provide models: a name, and the package that is the folder."""
MOST_MEMBERS = 100
"""The maximum number of members of an ensemble, because each takes memory."""


@dataclass(frozen=True, slots=True)
class WeightedName:
    """A model of an ensemble."""

    model: str = ""
    """Its folder, relative to the folder of the ensemble, or its installed name."""
    weight: float = 1.0
    """The weight of its log-probabilities in the sum that ranks trees."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ConfigError(f"the weight of the member {self.model!r} must be greater than 0, got {self.weight}")


@dataclass(frozen=True, slots=True)
class EnsembleConfig:
    """The members of an ensemble: the file `ensemble.json`."""

    members: tuple[WeightedName, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.members) <= MOST_MEMBERS:
            raise ConfigError(f"members: an ensemble must have 1 to {MOST_MEMBERS} members, got {len(self.members)}")


def installed_models() -> dict[str, Path]:
    """Return the folders of all installed models by name; models of this package take precedence."""
    return dict(sorted((_published_models() | _own_models()).items()))


def _own_models() -> dict[str, Path]:
    """Return the models that come with the package."""
    return {path.name: path for path in MODELS.iterdir() if is_model(path)} if MODELS.is_dir() else {}


def _published_models() -> dict[str, Path]:
    """Return the models of other packages. Their code is not run; only their folder is located."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    found = {}
    for point in entry_points(group=ENTRY_POINTS):
        spec = find_spec(point.value) if point.value.isidentifier() else None
        places = spec.submodule_search_locations if spec is not None else None
        folder = Path(next(iter(places), "")) if places else None
        if folder is not None and is_model(folder):
            found[point.name] = folder
    return found


def _find_installed(name: str) -> Path | None:
    """Return the folder of an installed model; other packages are searched only if this one does not have it."""
    return _own_models().get(name) or _published_models().get(name)


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model."""
    return (folder / storage.WEIGHTS).is_file() or is_ensemble(folder)


def is_ensemble(folder: Path) -> bool:
    """Whether a folder holds an ensemble."""
    return (folder / storage.ENSEMBLE).is_file()


def find_model(name: str | Path | None = None) -> Path:
    """Return the folder of a model, given its installed name (default: `en`), its name on the Hub, or the folder."""
    name = DEFAULT_MODEL if name is None else name
    if str(name).startswith(hub.PREFIX):
        return hub.fetch(str(name))
    if (installed := _find_installed(str(name))) is not None:
        return installed
    if not _is_folder(Path(name)):
        known = ", ".join(installed_models()) or "none"
        raise ModelNotFoundError(f"no model or folder named {str(name)!r} (installed models: {known})")
    return Path(name)


def _find_beside(name: str, path: Path, what: str) -> Path:
    """Return the folder of a model that a file names, by a path relative to the file or by installed name."""
    folder = path.parent / name
    if not _is_folder(folder):
        folder = _find_installed(name) or folder
    if not _is_folder(folder):
        raise ModelNotFoundError(f"{path}: {what} must be a folder or an installed model, got {name!r}")
    return folder


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # the name may be too long for a path


def read_parser_config(folder: Path) -> ParserConfig:
    """Return the settings of a parser, with the defaults of its kind of model."""
    path = folder / storage.PARSER
    config = storage.read_config(ParserConfig, path) if os.path.lexists(path) else ParserConfig()
    kind = read_kind(folder)
    return replace(
        config,
        name=config.name or hub.name_of(folder),
        search=config.search or SEARCHES[kind][0],
        keep_whole=config.keep_whole or ("sentences" if kind == "chart" else "nothing"),
    )


def read_kind(folder: Path) -> ModelKind:
    """Return the kind of a parser's models, which must be the same for all members."""
    kinds = {_read_kind(place) for place, _ in read_models(folder)}
    if len(kinds) > 1:
        raise ConfigError(f"{folder}: the members of an ensemble must be of one kind, got both chart and rnng models")
    return kinds.pop()


def _read_kind(folder: Path) -> ModelKind:
    """Return the kind that a folder declares; other errors in the folder are found when it is loaded."""
    path = folder / storage.CONFIG
    data = storage.read_json(path) if path.is_file() else None
    return "chart" if isinstance(data, dict) and data.get("kind") == "chart" else "rnng"


def read_models(folder: Path) -> list[tuple[Path, float]]:
    """Return the folders and weights of a parser's models: its own, or the members of an ensemble."""
    if not is_ensemble(folder):
        return [(folder, 1.0)]
    path = folder / storage.ENSEMBLE
    if (folder / storage.WEIGHTS).exists():
        raise ConfigError(f"{path}: an ensemble must not have weights itself, got {storage.WEIGHTS}")
    models = []
    for member in storage.read_config(EnsembleConfig, path).members:
        place = _find_beside(member.model, path, "a member")
        if is_ensemble(place):  # nested ensembles would add nothing and could be circular
            raise ConfigError(f"{path}: a member must not be an ensemble itself, got {member.model!r}")
        models.append((place, member.weight))
    return models


def find_segmenter(folder: Path) -> Path | None:
    """Return the folder of the chart that segments for a model that cannot; None if the model can."""
    if read_kind(folder) == "chart":
        return None
    place = _find_beside(read_parser_config(folder).segmenter, folder / storage.PARSER, "segmenter")
    if read_kind(place) != "chart":
        raise ConfigError(f"{folder / storage.PARSER}: segmenter must be a chart parser, got {str(place)!r}")
    return place


def describe_model(folder: Path) -> dict[str, Any]:
    """Describe a parser without loading it, as JSON data; an ensemble includes its members."""
    parser, models, segmenter = read_parser_config(folder), read_models(folder), find_segmenter(folder)
    folders = {folder, *(place for place, _ in models)}
    files = {path.resolve() for place in folders for path in place.rglob("*") if path.is_file()}
    card = folder / storage.CARD
    facts = {
        "model": parser.name,
        "folder": str(folder),
        "segmenter": read_parser_config(segmenter).name if segmenter else None,
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
    path, kind = folder / storage.SYMBOLS, _read_kind(folder)
    symbols = storage.read_json(path)
    names = ("labels",) if kind == "chart" else ("words", "deprels", "labels")
    try:
        sizes = {f"n_{name}": len(symbols[name]) for name in names}
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path}: symbols must be lists, got {error!r}") from error
    config = storage.read_config(_config_type(kind), folder / storage.CONFIG)
    return {"n_parameters": storage.count_parameters(folder), **sizes, "config": asdict(config)}


def _config_type(kind: ModelKind) -> type[Any]:
    if kind == "chart":
        from genrst.chart.config import ChartConfig

        return ChartConfig
    from genrst.rnng.config import RnngConfig

    return RnngConfig


def copy_parser(folder: Path, config: ParserConfig, target: Path) -> None:
    """Write a parser with these settings, and everything it needs, to a new folder, atomically."""
    import tempfile

    try:
        if target.exists():
            raise UsageError(f"a parser must be saved to a new folder, but {str(target)!r} exists")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name[:50]}.") as temporary:
            copy = Path(temporary) / "model"
            _copy_model(folder, copy)
            models = read_models(folder)
            if is_ensemble(folder):
                _copy_ensemble(models, copy)
            segmenter = find_segmenter(folder)
            if segmenter is not None and segmenter.parent != MODELS:
                _copy_model(segmenter, copy / storage.SEGMENTER)
                config = replace(config, segmenter=storage.SEGMENTER)
            storage.write_config(config, copy / storage.PARSER)
            copy.rename(target)
    except OSError as error:
        if isinstance(error, GenrstError):
            raise
        # shutil collects several errors in a list of lines.
        reason = error.strerror or "a file cannot be copied"
        raise OutputError(f"{target}: cannot be written: {reason}") from error


def _copy_ensemble(models: Sequence[tuple[Path, float]], copy: Path) -> None:
    """Copy each member to a subfolder, with a number before its name to keep names unique."""
    members = []
    for number, (place, weight) in enumerate(models, start=1):
        name = f"{number}-{place.resolve().name}"
        _copy_model(place, copy / name)
        members.append(WeightedName(name, weight))
    storage.write_config(EnsembleConfig(tuple(members)), copy / storage.ENSEMBLE)


def _copy_model(folder: Path, copy: Path) -> None:
    import shutil

    def others(parent: str | os.PathLike[str], names: list[str]) -> set[str]:
        """Return the subfolders that do not belong to the model, which may be other models."""
        return {name for name in names if name != storage.ENCODER and (Path(parent) / name).is_dir()}

    shutil.copytree(folder, copy, ignore=others, copy_function=_copy_file)


def _copy_file(source: str, target: str) -> str:
    import shutil

    if not Path(source).is_file():
        raise ModelNotFoundError(f"{source}: a file of the model is not a regular file")
    return shutil.copy2(source, target)
