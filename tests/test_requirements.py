"""What is installed: the packages of `make demo` and `make test`, and those that parsing needs."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ADAPTERS = ("chonkie", "langchain", "llama-index", "networkx", "pandas", "polars")
EXTRAS = {
    "demo": (),
    "test": ("torch", "spacy", "files", "plot", "parquet", "bulk", "serve", "hub", *ADAPTERS, "docs", "dev"),
}
EXCLUDED = {"demo": set[str](), "test": {"torch"}}
"""Which build of PyTorch fits depends on the machine."""

PARSE = """
import json, sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        is_hidden = name.partition(".")[0] in {"torch", "transformers", "spacy"}
        return None if is_hidden else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
import genrst
from genrst.cli.main import main

document = genrst.load()("The bridge is closed because the river has risen. Drivers should take the ferry.")
assert len(document.edus) == 3, document.edus
sys.stderr.isatty = lambda: True  # so that a bar shows how many of the texts are parsed
assert main(["parse", "examples/library.txt", "examples/ferry.txt", "--format", "json", "--output", sys.argv[1]]) == 0
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def plain(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def names(entries: Iterable[str]) -> set[str]:
    """The packages that are required, without versions and extras."""
    return {plain(re.split(r"[=<>\[]", entry)[0]) for entry in entries}


def versions(path: Path) -> dict[str, str]:
    return {
        plain(name): version
        for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


@pytest.mark.parametrize("list_name", EXTRAS)
def test_lists_are_complete(list_name: str):
    """What is installed with hashes is checked by pip; that something is missing would show on another machine only."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    groups = [project["project"]["dependencies"], project["dependency-groups"]["build"]]
    groups += [extras[extra] for extra in EXTRAS[list_name]]
    wanted = names(entry for group in groups for entry in group) - {"genrst"}
    listed = versions(ROOT / "requirements" / f"{list_name}.txt")
    assert wanted - listed.keys() == EXCLUDED[list_name]
    assert listed.items() <= versions(ROOT / "constraints.txt").items()


def test_the_demo_is_light():
    listed = versions(ROOT / "requirements" / "demo.txt").keys()
    assert not listed & {"torch", "transformers", "spacy", "matplotlib", "pyarrow", "pydantic"}


@pytest.mark.slow
def test_parsing_needs_what_is_declared(tmp_path: Path):
    """Parsing imports each package that every installation has, and none that only extras bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = names(project["dependencies"])
    others = names(entry for extra in project["optional-dependencies"].values() for entry in extra) - core - {"genrst"}
    command = [sys.executable, "-c", PARSE, str(tmp_path / "trees")]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert ran.returncode == 0, ran.stderr
    modules = json.loads(ran.stdout.splitlines()[-1])
    distributions = packages_distributions()
    imported = {plain(package) for module in modules for package in distributions.get(module, ())}
    assert imported & (core | others) == core
