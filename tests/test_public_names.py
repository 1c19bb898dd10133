"""The public names are exactly those that can be imported, sorted, and documented."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import genrst


def test_names_are_sorted():
    assert genrst.__all__ == sorted(genrst.__all__)
    assert genrst._LAZY.keys() < set(genrst.__all__)
    assert dir(genrst) == genrst.__all__


@pytest.mark.parametrize("name", genrst.__all__)
def test_every_name_can_be_imported(name: str):
    assert getattr(genrst, name) is not None


def test_every_name_is_documented():
    page = (Path(__file__).parent.parent / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    assert set(genrst.__all__) - set(re.findall(r"\w+", page.partition("## Parsing")[0])) == {"__version__"}
    for module, name in re.findall(r"<!-- ::: (genrst[.\w]*)\.(\w+) -->", page):
        assert (module, name) == ("genrst", "errors") or getattr(genrst, name) is getattr(import_module(module), name)


def test_every_exception_is_public():
    from genrst import errors

    assert {name for name in vars(errors) if name.endswith(("Error", "Warning"))} <= set(genrst.__all__)


def test_other_names_are_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        genrst.nothing  # noqa: B018


def test_import_is_light():
    """`import genrst` and the parser of the command line load neither numpy nor torch."""
    program = "import sys, genrst.cli.main as c; c.make_parser(); print({'numpy', 'torch', 'spacy'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
