"""The lists of `make demo` and `make test` hold all that they need, at the versions of constraints.txt."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXTRAS = {"demo": ("model", "text"), "test": ("model", "text", "plot", "parquet", "bulk", "serve", "docs", "dev")}


def plain(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


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
    wanted = {plain(re.split(r"[=<>\[]", entry)[0]) for group in groups for entry in group} - {"genrst"}
    listed = versions(ROOT / "requirements" / f"{list_name}.txt")
    assert wanted - listed.keys() == {"torch"}
    assert listed.items() <= versions(ROOT / "constraints.txt").items()
