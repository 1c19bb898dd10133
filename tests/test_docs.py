"""Pages link to what exists, name modules that exist, and show the pictures that our command draws."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.charts import RESULTS
from docs.make_pictures import draw_charts, draw_parsed, draw_trees
from genrst.trees.relations import load_inventory

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [
    *ROOT.glob("*.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "experiments").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "genrst" / "models").glob("*/README.md")),
]

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pages
def test_links_lead_somewhere(page: Path):
    for link in re.findall(r"\]\(([^)]+)\)", read(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pages
def test_paths_exist(page: Path):
    """Files as seen from the root, the package or the page; modules and what is in them."""
    for path in re.findall(r"(?<![\w/.])[a-z_]+/[\w/-]+\.(?:py|toml)\b", read(page)):
        assert any((folder / path).is_file() for folder in (ROOT, ROOT / "genrst", page.parent)), path
    for name in re.findall(r"\b(?:genrst|benchmarks|experiments)(?:\.\w+)+", read(page)):
        assert resolves(name), name


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    found: object = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(".".join(parts[:number]))
        except ModuleNotFoundError:
            return False
    return True


def lines(page: Path) -> Iterator[str]:
    """Those that we wrote: no tables, and no output of programs."""
    language = None
    for line in read(page).splitlines():
        if line.startswith("```"):
            language = line[3:] if language is None else None
        elif not line.startswith("|") and language not in ("python", "console"):
            yield line


@pages
def test_lines_are_short(page: Path):
    assert [line for line in lines(page) if len(line) > 120] == []


def test_every_page_is_in_the_index():
    """Those of results are listed by the page of that name."""
    folder = ROOT / "docs"
    listed = read(folder / "index.md") + read(folder / "results.md")
    names = {str(page.relative_to(folder)) for page in folder.rglob("*.md")} - {"index.md"}
    assert [name for name in names if f"({name})" not in listed] == []


def test_the_reading_order_is_short():
    files = re.findall(r"^\| \d+ \| `([\w/]+\.py)`", read(ROOT / "docs" / "index.md"), re.MULTILINE)
    assert 10 <= len(files) <= 20
    assert [file for file in files if not (ROOT / "genrst" / file).is_file()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=lambda page: page.name)
def test_every_page_has_a_picture(page: Path):
    assert re.search(r"!\[[^\]]+\]\([^)]+\.(svg|png)\)", read(page))


@pytest.mark.slow
def test_pictures_are_up_to_date(tmp_path: Path):
    """Drawing the trees again gives the same files."""
    draw_trees(tmp_path)
    draw_parsed(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    trees = ("certainty", "ferry-classic", "ferry-compact", "ferry-difference", "nary", "parsed")
    assert names == {f"{name}.svg" for name in trees}
    # Probabilities are a little different on every kind of machine.
    for name in names - {"certainty.svg"}:
        assert (tmp_path / name).read_bytes() == (ROOT / "docs" / "images" / name).read_bytes(), name


@pytest.mark.slow
def test_charts_are_drawn(tmp_path: Path):
    """How matplotlib writes them depends on its version, so they are only drawn."""
    draw_charts(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    kinds = ("cells", "importance", "layers", "model", "relations", "results", "scores", "service")
    assert names == {f"{name}.svg" for name in kinds}
    assert names < {path.name for path in (ROOT / "docs" / "images").iterdir()}


def test_the_chart_has_the_results():
    rows = [line.split(" | ") for line in read(ROOT / "docs" / "results.md").splitlines() if line.startswith("|")]
    assert list(RESULTS.values()) == [float(row[5]) for row in rows[2 : 2 + len(RESULTS)]]


def test_the_glossary_has_every_relation():
    rows = [line.split(" | ") for line in read(ROOT / "docs" / "relations.md").splitlines() if line.startswith("| ")]
    coarse = ""
    found = {}
    for first, fine, *_ in rows[1:]:
        coarse = first.strip("|* ") or coarse
        found[fine] = coarse
    assert found == {name: one.coarse for name, one in load_inventory("gum").relations.items()}


def test_the_changelog_has_the_version():
    from genrst.version import VERSION

    assert f"## {VERSION}" in read(ROOT / "CHANGELOG.md")
    assert f"version: {VERSION}" in read(ROOT / "CITATION.cff")
