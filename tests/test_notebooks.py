"""The notebooks of guides print what they show."""

from pathlib import Path

import pytest

import genrst
from docs.notebook import GENRES, NOTEBOOKS, as_markdown, read_cells, run_cells


@pytest.mark.slow
def test_which_genre_is_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("sklearn", reason="not installed: scikit-learn")
    monkeypatch.chdir(tmp_path)
    shipped = genrst.load()
    monkeypatch.setattr("genrst.parser.loading.load", lambda: shipped)
    cells = read_cells(GENRES)
    assert sum(cell.is_code and bool(cell.output) for cell in cells) > 2
    assert list(run_cells(cells)) == cells


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_a_page_of_the_site(notebook: Path):
    pytest.importorskip("mkdocs", reason="not installed: genrst[docs]")
    from docs.site import ROOT, place_in_repository, place_on_site

    place = notebook.relative_to(ROOT).as_posix()
    assert place_in_repository(place_on_site(place)) == place
    assert as_markdown(read_cells(notebook)).startswith("# ")
