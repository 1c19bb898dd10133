"""Imports point one way: each layer may use only those below it, and the light ones never load torch."""

import ast
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "genrst"

ROOT: dict[str, set[str]] = {
    "version": set(),
    "characters": set(),
    "errors": set(),
    "io": {"characters", "errors"},
    "config": {"errors"},
    "packing": {"errors"},
    "storage": {"errors", "config", "io", "packing"},
    "document": {"errors", "trees"},
}
"""The files at the root, which every room may use, and what they use themselves."""

_TREES = {"trees"}
_DATA = _TREES | {"formats", "corpora"}
_MODEL = _DATA | {"transitions", "model"}
_PARSER = _MODEL | {"text", "segmenter", "search", "chart", "evaluation", "parser"}
ALLOWED: dict[str, set[str]] = {
    "trees": set(),
    "formats": _TREES,
    "corpora": _TREES | {"formats"},
    "text": _DATA,
    "transitions": _TREES,
    "evaluation": _TREES,
    "rendering": _TREES | {"evaluation"},
    "outputs": _TREES | {"evaluation"},
    "model": _DATA | {"transitions"},
    "search": _TREES | {"transitions"},
    "chart": _TREES | {"transitions", "model"},
    "training": _MODEL | {"text", "search", "chart", "evaluation"},
    "segmenter": _DATA | {"text", "model", "evaluation", "training"},
    "parser": _PARSER,
    "bulk": _PARSER | {"outputs"},
    "serve": _PARSER | {"rendering", "outputs"},
    "cli": _PARSER | {"training", "rendering", "outputs", "bulk", "serve"},
    "integrations": _PARSER,
}
"""Which rooms each may use, besides itself and the root."""

TORCH_FREE = {"trees", "formats", "corpora", "text", "transitions", "evaluation", "rendering", "outputs"}


def imports(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def layer_files() -> list[tuple[str, Path]]:
    return [
        (path.relative_to(PACKAGE).parts[0], path) for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE
    ]


def test_every_folder_is_a_known_layer():
    assert {layer for layer, _ in layer_files()} <= ALLOWED.keys()


@pytest.mark.parametrize(("layer", "path"), layer_files(), ids=lambda value: getattr(value, "name", value))
def test_imports_point_down(layer: str, path: Path):
    used = {name.split(".")[1] for name in imports(path) if name.startswith("genrst.")}
    assert used <= ALLOWED[layer] | {layer} | ROOT.keys(), f"{path} imports {sorted(used)}"
    if layer in TORCH_FREE:
        heavy = {"torch", "transformers"} if layer == "text" else {"torch", "transformers", "spacy"}
        assert not {name.split(".")[0] for name in imports(path)} & heavy


@pytest.mark.parametrize("name", ROOT)
def test_the_root_is_the_ground_floor(name: str):
    used = {used.split(".")[1] for used in imports(PACKAGE / f"{name}.py") if used.startswith("genrst.")}
    assert used <= ROOT[name]


def test_the_root_is_listed():
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", *ROOT}


def test_the_wheel_installs_one_package():
    """Not also a top-level `experiments` or `tests`, which could be anybody's, nor anything that needs them."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["genrst"]
    used = {name.split(".")[0] for path in PACKAGE.rglob("*.py") for name in imports(path)}
    assert not used & {"experiments", "tests", "benchmarks"}


def test_no_import_cycles():
    """Within and across layers, modules form no cycle."""
    modules = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    graph = {
        name: {target for used in imports(path) for target in (used, used.rpartition(".")[0]) if target in modules}
        - {name}
        for name, path in modules.items()
        if not name.endswith("__init__")
    }
    while leaves := [name for name, targets in graph.items() if not targets & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph, f"cycle among {sorted(graph)}"
