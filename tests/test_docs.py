"""Pages link to what exists, name modules that exist, and agree with the code and with our pictures."""

import importlib
import re
from pathlib import Path

import pytest

from docs.charts import RESULTS
from docs.make_pictures import WHY, draw_charts, draw_parsed, draw_trees
from genrst.cli.main import VERBS
from genrst.rendering.terminal import render_text
from genrst.trees.relations import load_inventory

ROOT = Path(__file__).parent.parent
PAGES = [
    *ROOT.glob("*.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "experiments").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "genrst" / "models").glob("*/README.md")),
]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_links_lead_somewhere():
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)]+)\)", read(page))]
    assert [(str(page), link) for page, link in links if "://" not in link and not leads_somewhere(page, link)] == []


def test_pages_are_short():
    lengths = {page: len(read(page).splitlines()) for page in (ROOT / "docs").rglob("*.md")}
    assert {page.name: length for page, length in lengths.items() if length > 200} == {}


def test_pages_are_in_the_navigation():
    """MkDocs warns of pages that are left out, but only those who build the site see it."""
    listed = re.findall(r"(\S+\.md)$", read(ROOT / "mkdocs.yml"), re.MULTILINE)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(listed)
    assert len(listed) == len(set(listed))


def test_the_page_on_commands_lists_every_verb():
    page = read(ROOT / "docs" / "reference" / "commands.md")
    assert re.findall(r"^\| \[(\w+)\]", page, re.MULTILINE) == list(VERBS)


def test_paths_exist():
    """Files as seen from the root, the package or the page; modules and what is in them."""
    missing = []
    for page in PAGES:
        folders = (ROOT, ROOT / "genrst", page.parent)
        paths = re.findall(r"(?<![\w/.])[a-z_]+/[\w/-]+\.(?:py|toml)\b", read(page))
        names = re.findall(r"\b(?:genrst|benchmarks|experiments)(?!\.toml)(?:\.\w+)+", read(page))
        missing += [(str(page), path) for path in paths if not any((folder / path).is_file() for folder in folders)]
        missing += [(str(page), name) for name in names if not resolves(name)]
    assert missing == []


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


@pytest.mark.slow
def test_pictures_are_up_to_date(tmp_path: Path):
    """Drawing the trees again gives the same files. Charts depend on matplotlib's version, so they are only drawn."""
    draw_trees(tmp_path)
    draw_parsed(tmp_path)
    # Probabilities are a little different on every kind of machine.
    for path in {*tmp_path.iterdir()} - {tmp_path / "certainty.svg"}:
        assert path.read_bytes() == (ROOT / "docs" / "images" / path.name).read_bytes(), path.name
    draw_charts(tmp_path)


def test_the_page_on_pictures_says_why():
    assert f"```text\n{render_text(WHY, why=True)}```" in read(ROOT / "docs" / "guides" / "pictures.md")


def test_the_chart_has_the_results():
    rows = [
        line.split(" | ") for line in read(ROOT / "docs" / "results" / "index.md").splitlines() if line.startswith("|")
    ]
    assert list(RESULTS.values()) == [float(row[5]) for row in rows[2 : 2 + len(RESULTS)]]


def test_the_glossary_has_every_relation():
    rows = [
        line.split(" | ")
        for line in read(ROOT / "docs" / "concepts" / "relations.md").splitlines()
        if line.startswith("| ")
    ]
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
