"""Pages link to what exists, and the pictures are those that our command draws."""

import re
from pathlib import Path

import pytest

from docs import make_pictures

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md"]
    assert [page for page in pages if f"({page})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_has_a_picture(page: Path):
    assert page.name == "CONTRIBUTING.md" or re.search(r"!\[[^\]]+\]\([^)]+\.svg\)", page.read_text(encoding="utf-8"))


def test_pictures_are_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Drawing the trees again gives the files that are there."""
    monkeypatch.setattr(make_pictures, "IMAGES", tmp_path)
    make_pictures.draw_trees()
    make_pictures.draw_parsed()
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    names = ("ferry-classic", "ferry-compact", "ferry-difference", "nary", "parsed")
    assert drawn.keys() == {f"{name}.svg" for name in names}
    assert drawn == {name: (ROOT / "docs" / "images" / name).read_bytes() for name in drawn}


def test_charts_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """How matplotlib writes them depends on its version, so they are only drawn."""
    monkeypatch.setattr(make_pictures, "IMAGES", tmp_path)
    make_pictures.draw_charts()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}.svg" for name in ("cells", "importance", "layers", "model", "relations", "scores")}
    assert names < {path.name for path in (ROOT / "docs" / "images").iterdir()}


def test_the_changelog_has_the_version():
    from genrst.version import VERSION

    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {VERSION}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
