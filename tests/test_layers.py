"""Imports point one way: each layer may use only those below it, and the light ones never load torch."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "genrst"

ROOT_MODULES = {"errors", "version"}
"""Modules beside the layers that every layer may import."""

PARSER = {"items", "members", "model_copy", "model_folder", "parser", "tree_search"}
"""Modules beside the layers that stand above all of them but the apps."""

ALLOWED: dict[str, set[str]] = {
    "trees": set(),
    "corpora": {"trees"},
    "text": {"model", "trees", "corpora"},
    "transitions": {"trees"},
    "model": {"transitions", "corpora", "trees"},
    "search": {"transitions", "trees"},
    "training": {"text", "model", "search", "evaluation", "transitions", "corpora", "trees"},
    "evaluation": {"trees"},
    "rendering": {"trees"},
    "outputs": {"trees"},
    "apps": {
        "trees",
        "corpora",
        "text",
        "transitions",
        "model",
        "search",
        "training",
        "evaluation",
        "rendering",
        "outputs",
        *PARSER,
    },
}
TORCH_FREE = {"trees", "corpora", "transitions", "evaluation", "rendering", "outputs"}


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
    assert used <= ALLOWED[layer] | {layer} | ROOT_MODULES, f"{path} imports {sorted(used)}"
    if layer in TORCH_FREE:
        assert not {name.split(".")[0] for name in imports(path)} & {"torch", "spacy", "transformers"}


def test_training_needs_no_spacy():
    """Of the text layer it uses the segmenter alone, which takes of the model layer what knows no parser.

    The segmenter knows how names of speakers look.
    """
    text = PACKAGE / "text"
    segmenter = [path for _, path in layer_files() if path.parent == text / "segmenter" or path == text / "speakers.py"]
    training = [path for layer, path in layer_files() if layer == "training"]
    for path in [*segmenter, *training]:
        used = imports(path)
        assert not {name for name in used if name.split(".")[0] == "spacy"}
        allowed = ("genrst.text.segmenter.", "genrst.text.speakers")
        assert all(name.startswith(allowed) for name in used if name.startswith("genrst.text"))
    for _, path in layer_files():
        if path.is_relative_to(PACKAGE / "text"):
            used = {".".join(name.split(".")[:3]) for name in imports(path) if name.startswith("genrst.model")}
            of_model = {"config", "folder", "vocabulary"} if path in segmenter else set()
            assert used <= {f"genrst.model.{name}" for name in of_model}


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
