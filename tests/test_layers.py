"""Imports point one way: each room uses exactly those of a table, and the light ones never load PyTorch."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "genrst"

ROOT: dict[str, set[str]] = {
    "version": set(),
    "characters": set(),
    "errors": set(),
    "task": set(),
    "allowance": {"errors"},
    "packing": {"errors"},
    "io": {"characters", "errors"},
    "config": {"errors", "io"},
    "storage": {"errors", "config", "io", "packing"},
    "document": {"errors", "trees"},
}
"""The files at the root, which every room may use, and what they use themselves."""

ROOMS: dict[str, set[str]] = {
    "trees": set(),
    "formats": {"trees"},
    "corpora": {"trees", "formats"},
    "text": set(),
    "evaluation": {"trees"},
    "rendering": {"trees", "evaluation"},
    "outputs": {"trees"},
    "encoder": set(),
    "chart": {"trees", "text", "evaluation", "encoder"},
    "rnng": {"trees", "text", "evaluation", "encoder"},
    "training": {"trees", "corpora", "text", "encoder", "chart", "rnng"},
    "parser": {"trees", "text", "encoder", "chart", "rnng"},
    "bulk": {"formats", "text", "outputs", "parser"},
    "serve": {"trees", "formats", "text", "evaluation", "rendering", "outputs", "chart", "parser"},
    "integrations": {"trees", "formats", "text", "outputs", "parser"},
    "cli": {
        *("trees", "formats", "corpora", "evaluation", "rendering", "outputs", "encoder", "rnng", "training"),
        *("parser", "bulk", "serve"),
    },
}
"""What each room uses, besides itself and the root: exactly these, all of them above it in this table."""

KNOW_MODELS = {
    "training": {"kinds", "tasks", "data", "run_config"},
    "parser": {"loading", "folders", "finder", "options", "parser"},
    "serve": {"parsing"},
    "cli": {"score"},
}
"""The files that tell kinds of models apart, or name the distribution that only charts have."""

TORCH_FREE = {"trees", "formats", "corpora", "text", "evaluation", "rendering", "outputs"}
NEED_TORCH = {
    "chart": {
        "learning.crf",
        "learning.network",
        "learning.secondary",
        "learning.signals",
        "learning.start",
        "learning.task",
    },
    "encoder": {"batch", "device", "model", "pretrained"},
}
"""The files of parsing rooms that PyTorch is loaded with: those that train, and those that compute on a GPU."""
ONLY_IN = {
    "onnxruntime": {"encoder"},
    "transformers": {"encoder"},
    "tokenizers": {"encoder"},
    "huggingface_hub": {"encoder", "parser"},
    "spacy": {"text", "bulk", "integrations"},
    "chonkie": {"integrations"},
    "langchain_core": {"integrations"},
    "langchain_text_splitters": {"integrations"},
    "llama_index": {"integrations"},
    "networkx": {"integrations"},
    "pandas": {"integrations"},
    "polars": {"integrations"},
}
"""Where heavy packages are imported."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def files(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


def used_by(paths: Iterable[Path]) -> set[str]:
    """What they import: rooms, and files at the root."""
    return {name.split(".")[1] for path in paths for name in imports(path) if name.startswith("genrst.")}


def test_every_folder_is_a_known_room():
    assert {path.parent.relative_to(PACKAGE).parts[0] for path in PACKAGE.glob("*/**/*.py")} == ROOMS.keys()


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_up_in_the_table(room: str):
    assert used_by(files(room)) - {room} - ROOT.keys() == ROOMS[room]
    assert ROOMS[room] <= set(list(ROOMS)[: list(ROOMS).index(room)])


def test_few_files_know_the_models():
    for room in ROOMS.keys() - {"chart", "rnng"}:
        knowing = {path.stem for path in files(room) if used_by([path]) & {"chart", "rnng"}}
        assert knowing == KNOW_MODELS.get(room, set()), room


@pytest.mark.parametrize("room", ROOMS)
def test_heavy_packages_stay_in_their_rooms(room: str):
    found = {name.split(".")[0] for path in files(room) for name in imports(path)}
    assert not {name for name, rooms in ONLY_IN.items() if room not in rooms} & found
    assert room not in TORCH_FREE or "torch" not in found


def imports_at_once(path: Path) -> set[str]:
    """The modules that a file imports when it is imported itself."""
    names = set()
    for node in parsed(path).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_pytorch_is_loaded_with_few_files():
    """With those that are listed, with what they are imported by, and with the rooms of training and of `rnng`."""
    loaded_with = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): imports_at_once(
            path
        )
        for path in PACKAGE.rglob("*.py")
    }
    found, new = set[str](), {"torch"}
    while new:
        found |= new
        new = {name for name, used in loaded_with.items() if used & found} - found
    expected = {f"genrst.{room}.{name}" for room, names in NEED_TORCH.items() for name in names}
    assert {name for name in found - {"torch"} if name.split(".")[1] not in ("rnng", "training")} == expected


PARSE = "assert genrst.load('en', device='cpu')('It rained, so we stayed in. Nobody was hurt.').tree is not None\n"


def run_program(program: str) -> str:
    """What a Python of its own prints."""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert not result.returncode, result.stderr
    return result.stdout.strip()


def test_parsing_with_en_imports_nothing_heavy():
    """Not the other model, nor what trains, nor PyTorch, transformers or spaCy."""
    heavy = ("genrst.rnng", "genrst.training", "torch", "transformers", "spacy")
    found = run_program(f"import sys, genrst\n{PARSE}print([name for name in sys.modules if name.startswith({heavy})])")
    assert found == "[]"


def test_en_needs_nothing_heavy():
    """As it is where none of these is installed."""
    absent = "".join(f"sys.modules[{name!r}] = None\n" for name in ("torch", "transformers", "spacy"))
    assert run_program(f"import sys\n{absent}import genrst\n{PARSE}print(1)") == "1"


@pytest.mark.parametrize("name", ROOT)
def test_the_root_is_the_ground_floor(name: str):
    assert used_by([PACKAGE / f"{name}.py"]) == ROOT[name]


def test_the_root_is_listed():
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", *ROOT}


def test_the_wheel_installs_one_package():
    """And what starts it. Not also a top-level `experiments` or `tests`, nor anything that needs them."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["genrst", "genrst_program.py"]
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
