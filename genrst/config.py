"""Build configurations from plain data, checking every key and value; read and write TOML files.

A configuration is a frozen dataclass, which is the only place for its defaults. An unknown key is an error that names
the valid ones. The configurations themselves are defined next to the code that they configure.
"""

import dataclasses
import json
import re
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from genrst.errors import ConfigError, InputError, guess
from genrst.io import read_bytes

CONFIGS = Path(__file__).parent / "configs"
"""The configurations that come with the package."""

Config = TypeVar("Config")
_SURROGATE = re.compile("[\ud800-\udfff]")


def from_mapping(cls: type[Config], data: object, where: str = "") -> Config:
    """Build a configuration from nested plain data; `where` is the name of the table."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where or 'a configuration'}: the value must be a table, got {_shown(data)}")
    hints = typing.get_type_hints(cls)
    table = f"{where}." if where else ""
    unknown = [key for key in data if key not in hints]
    if unknown:
        raise ConfigError(
            f"{table}{unknown[0]}: unknown key; must be one of {', '.join(hints)}{guess(unknown[0], hints)}"
        )
    return cls(**{key: _value(hints[key], value, f"{table}{key}") for key, value in data.items()})


def _value(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    _check_plain(value, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_mapping(hint, value, where)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if value not in arguments:
            rule = f"{where}: the value must be one of {', '.join(map(repr, arguments))}"
            found = guess(value, arguments) if isinstance(value, str) else ""
            raise ConfigError(f"{rule}, got {_shown(value)}{found}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where}: the value must be a list, got {_shown(value)}")
        return tuple(_value(arguments[0], item, f"{where}[{position}]") for position, item in enumerate(value))
    if origin in (types.UnionType, typing.Union):
        if all(map(dataclasses.is_dataclass, arguments)):
            return from_mapping(_of_kind(arguments, value, where), value, where)
        return None if value is None else _value(arguments[0], value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{where}: the value must be of type {hint.__name__}, got {_shown(value)}")
    return value


def _of_kind(types: Sequence[type], data: object, where: str) -> type:
    """Choose the configuration class by the `kind` in the data; the first class if the data has no `kind`."""
    kind = data.get("kind") if isinstance(data, Mapping) else None
    kinds = [typing.get_args(typing.get_type_hints(one)["kind"]) for one in types]
    if kind is not None and not any(kind in own for own in kinds):
        names = ", ".join(repr(name) for own in kinds for name in own)
        found = guess(kind, (name for own in kinds for name in own))
        raise ConfigError(f"{where}.kind: the value must be one of {names}, got {_shown(kind)}{found}")
    return next((one for one, own in zip(types, kinds, strict=True) if kind in own), types[0])


def _check_plain(value: object, where: str) -> None:
    """Reject values that a file can hold but that would fail later: huge integers and invalid Unicode."""
    if isinstance(value, int) and value.bit_length() > 64:
        raise ConfigError(f"{where}: an integer must have at most 64 bits, got {value.bit_length()} bits")
    if isinstance(value, str) and _SURROGATE.search(value):
        raise ConfigError(f"{where}: the value must be valid UTF-8 text, got {value!r}")


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:
        return "a number with thousands of digits"  # hexadecimal in TOML; Python refuses to print it in decimal


def find_config(name: str) -> Path:
    """Return the path of a configuration, given as a path or as the name of a bundled configuration."""
    path = Path(name)
    shipped = CONFIGS / f"{path.name.removesuffix('.toml')}.toml"
    if path.is_file() or str(path.parent) != ".":
        return path
    if not shipped.is_file():
        known = sorted(one.stem for one in CONFIGS.glob("*.toml"))
        rule = f"{name}: no such configuration file; the bundled configurations are {', '.join(known)}"
        raise ConfigError(f"{rule}{guess(path.name.removesuffix('.toml'), known)}")
    return shipped


def read_tables(path: Path, changes: Sequence[str] = ()) -> dict[str, Any]:
    """Read a TOML file and apply changes such as `training.clip=1.0`; their values are TOML as well."""
    import tomllib

    try:
        data = tomllib.loads(read_bytes(path).decode("utf-8"))
    except InputError as error:
        raise ConfigError(str(error)) from error
    except (ValueError, RecursionError) as error:  # ValueError also covers numbers with thousands of digits
        raise ConfigError(f"{path}: invalid TOML: {error}") from error
    for change in changes:
        _apply(data, change)
    return data


def _apply(data: dict[str, Any], change: str) -> None:
    import tomllib

    name, equals, value = change.partition("=")
    *tables, key = name.strip().split(".")
    if not equals or not key:
        raise ConfigError(f"a change must have the form table.key=value, got {change!r}")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise ConfigError(f"{name.strip()}: {table} must be a table, got {_shown(data)}")
    try:
        data[key] = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        # A bare word is taken as a string, so that users need not quote it for both the shell and TOML.
        data[key] = value.strip()


def resolve(config_type: type[Config], tables: Mapping[str, Any], path: Path) -> Config:
    """Build a configuration from the tables of a file. Errors name the file."""
    try:
        return from_mapping(config_type, tables)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def to_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a configuration as TOML. Keys without a value are left out."""
    lines = []
    for table, values in tables.items():
        lines.append(f"[{table}]")
        lines += [f"{key} = {_toml_value(value)}" for key, value in values.items() if value is not None]
        lines.append("")
    return "\n".join(lines)


def _toml_value(value: Any) -> str:  # noqa: ANN401
    match value:
        case bool():
            return str(value).lower()
        case str():
            # TOML has the escapes of JSON, but also requires DEL to be escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(map(_toml_value, value))}]"
        case _:
            return repr(value)


MOST, MOST_LAYERS = 2**20, 2**8
"""The largest size and number of layers, so that a hostile file cannot exhaust the memory before it is checked."""


def check_sizes(settings: Mapping[str, object], where: str) -> None:
    """Raise an error unless integers are from 1 to `MOST`, and floats in [0, 1); `where` names the table."""
    for name, value in settings.items():
        most = MOST_LAYERS if name.endswith("layers") else MOST
        if isinstance(value, int) and not isinstance(value, bool) and not 1 <= value <= most:
            rule = "1 or more" if value < 1 else f"{most} or less"
            raise ConfigError(f"{where}.{name}: the value must be {rule}, got {value}")
        if isinstance(value, float) and not 0 <= value < 1:
            raise ConfigError(f"{where}.{name}: the value must be at least 0 and less than 1, got {value}")


def check_ranges(config: object, where: str, checks: Mapping[str, bool]) -> None:
    """Raise an error for the first setting whose check failed."""
    for name, is_valid in checks.items():
        if not is_valid:
            raise ConfigError(f"{where}.{name}: the value {getattr(config, name)!r} is out of range")


def are_seeds(numbers: Sequence[int]) -> bool:
    """Whether there is at least one number, all are distinct, and PyTorch accepts them as seeds."""
    return 0 < len(numbers) == len(set(numbers)) and all(abs(number) < 2**63 for number in numbers)
