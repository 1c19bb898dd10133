"""Pages link to what exists, and the pictures are those that our command draws."""

import re
from pathlib import Path

import pytest

from docs.make_pictures import main as make_pictures

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


def test_pictures_are_up_to_date():
    """Drawing them again changes nothing."""
    images = sorted((ROOT / "docs" / "images").glob("ferry-*.svg"))
    before = [image.read_bytes() for image in images]
    make_pictures()
    assert [image.read_bytes() for image in images] == before
    assert len(images) == 3


def test_the_changelog_has_the_version():
    from genrst.version import VERSION

    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {VERSION}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
