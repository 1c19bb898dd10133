"""The folder of a parser: where it lies, what its settings are, and what can be said about it. No torch here.

    config.json, symbols.json, weights.safetensors   the model (`genrst.model.store`)
    encoder/                                         how its pretrained encoder is built and spells; most have none
    parser.json                                      how it parses unless told otherwise; may be missing
    segmenter/                                       finds the EDUs; without it, rules do
    README.md                                        the model card

Models by name are folders in `genrst/models`.
"""

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from genrst.corpora.encoding import decode, read_bytes
from genrst.errors import ConfigError, CorpusNotFoundError, GenrstError
from genrst.model.config import Config, ModelConfig, from_mapping

Search: TypeAlias = Literal["bag", "word", "action", "greedy"]

MODELS = Path(__file__).parent / "models"
"""Where models lie that come with the package."""

DEFAULT_MODEL = "en"
PARSER, SEGMENTER, CARD = "parser.json", "segmenter", "README.md"
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

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigError(f"beam: the value must be 1 or more, was: {self.beam}")
        if not (math.isfinite(self.word_weight) and self.word_weight >= 0):
            raise ConfigError(f"word_weight: the value must be a number from 0 on, was: {self.word_weight}")


def installed_models() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.name for path in MODELS.iterdir() if is_model(path)) if MODELS.is_dir() else []


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model."""
    return (folder / _WEIGHTS).is_file()


def find_model(name: str | Path | None = None) -> Path:
    """The folder of a model: one that is installed under this name (`en` if none is given), or the folder itself."""
    name = DEFAULT_MODEL if name is None else name
    if name in installed_models():
        return MODELS / name
    if not Path(name).is_dir():
        known = ", ".join(installed_models()) or "none is"
        raise CorpusNotFoundError(f"a model must be installed ({known}) or be a folder, was: {str(name)!r}")
    return Path(name)


def read_parser_config(folder: Path) -> ParserConfig:
    """The settings of a parser, or the defaults where its folder has none."""
    path = folder / PARSER
    config = _read_config(ParserConfig, path) if path.exists() else ParserConfig()
    return replace(config, name=config.name or folder.resolve().name)


def _read_config(config_type: type[Config], path: Path) -> Config:
    data = _read_json(path)
    try:
        return from_mapping(config_type, data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def describe_model(folder: Path) -> dict[str, Any]:
    """What is known about a model without loading it, ready for JSON."""
    parser = read_parser_config(folder)
    card = folder / CARD
    symbols = _read_json(folder / _SYMBOLS)
    try:
        sizes = {f"n_{name}": len(symbols[name]) for name in ("words", "deprels", "labels")}
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{folder / _SYMBOLS}: symbols must be words, deprels and labels, was: {error!r}") from error
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        "model": parser.name,
        "folder": str(folder),
        "n_parameters": _count_parameters(folder / _WEIGHTS),
        "segmenter_parameters": _count_parameters(folder / SEGMENTER / _WEIGHTS),
        **sizes,
        "bytes": sum(path.stat().st_size for path in files),
        "parser": asdict(parser),
        "config": asdict(_read_config(ModelConfig, folder / _CONFIG)),
        "card": decode(read_bytes(card), card) if card.is_file() else None,
    }


def _count_parameters(path: Path) -> int | None:
    """The numbers in a safetensors file, by its header: its length in eight bytes, then JSON with all shapes."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, 1 << 24)))
        return sum(int(math.prod(tensor["shape"])) for name, tensor in header.items() if name != "__metadata__")
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
