"""What `make demo` and `make test` install: nothing without a version, and nothing but PyTorch without a hash."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENTRY = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>[\w.]+)(?: ; [^\\]+)?(?P<hashes>(?: \\\n +--hash=sha256:[0-9a-f]{64})+)\n"
)
EXTRAS = {"demo": ("model", "text"), "test": ("model", "text", "plot", "parquet", "bulk", "serve", "docs", "dev")}


def plain(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {plain(name): version for name, version in pairs}


def hashed(list_name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{list_name}.txt").read_text()
    assert ENTRY.sub("", text) == "", "every line is a version or its hash"
    return {plain(entry["name"]): entry["version"] for entry in ENTRY.finditer(text)}


@pytest.mark.parametrize("list_name", EXTRAS)
def test_every_package_has_its_version_and_a_hash(list_name: str):
    found = hashed(list_name)
    assert found.items() <= constraints().items()
    groups = [PROJECT["project"]["dependencies"], PROJECT["dependency-groups"]["build"]]
    groups += [PROJECT["project"]["optional-dependencies"][extra] for extra in EXTRAS[list_name]]
    names = {
        re.split(r"[=<>\[]", wanted)[0] for group in groups for wanted in group if not wanted.startswith("genrst[")
    }
    assert {plain(name) for name in names} - found.keys() == {"torch"}


def test_what_builds_the_package_has_a_version():
    assert PROJECT["build-system"]["requires"] == [f"hatchling=={constraints()['hatchling']}"]


def test_nothing_is_installed_without_hashes_but_pytorch():
    lines = re.findall(r"^\t\$\(INSTALL\) (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    hashes, pytorch, package = lines
    assert hashes.startswith("--require-hashes -r requirements/")
    assert pytorch == "-c constraints.txt torch"
    assert "--no-deps --no-build-isolation" in package
