"""What the site adds to the pages of docs/: a hook of MkDocs (`make docs`).

Pages are plain Markdown that a code host shows as it is. For the site,

* notebooks become pages;
* files outside docs/ that pages link to become part of the site, under repository/: Markdown as pages, others as they
  are; so every link leads somewhere, and the site needs no host for the code;
* `<!-- ::: genrst.load -->` becomes the documentation of that name, from its docstrings;
* `<!-- ::: verbs -->` becomes the options of every verb of the command line.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from docs.commands import as_markdown as describe_verbs
from docs.notebook import NOTEBOOKS, as_markdown, read_cells

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
VERBS = "<!-- ::: verbs -->"
NAME = re.compile(r"<!-- (::: genrst[\w.]+) -->")
OUTSIDE = "repository"
PAGES = {path.relative_to(ROOT).as_posix(): page for path, page in NOTEBOOKS.items()}
"""The pages of notebooks, which are named by their places in the repository."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the notebooks, and the files outside docs/ that pages link to, and those that these link to."""
    for notebook, page in NOTEBOOKS.items():
        files.append(File.generated(config, page, content=as_markdown(read_cells(notebook))))
    pending = [place_in_repository(file.src_uri) for file in files.documentation_pages()]
    while pending:
        for target in targets(pending.pop()):
            uri = place_on_site(target)
            if uri in files.src_uris or not uri.startswith(OUTSIDE):
                continue
            level = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / target), inclusion=level))
            if target.endswith(".md"):
                pending.append(target)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them, and the documentation of names."""
    del config, files
    here = place_in_repository(page.file.src_uri)
    folder = posixpath.dirname(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        target = resolve(here, link[2])
        return link[0] if target is None else link[1] + posixpath.relpath(place_on_site(target), folder) + link[3]

    text = NAME.sub(r"\1", LINK.sub(moved, markdown))
    return text.replace(VERBS, describe_verbs()) if VERBS in text else text


def targets(place: str) -> Iterator[str]:
    """The files of the repository that a page links to."""
    path = ROOT / place
    text = as_markdown(read_cells(path)) if place in PAGES else path.read_text(encoding="utf-8")
    for link in LINK.finditer(text):
        target = resolve(place, link[2])
        if target is not None:
            yield target


def resolve(place: str, link: str) -> str | None:
    """The file of the repository that a link on a page means; None if it leads elsewhere, or to none."""
    if "://" in link:
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(place), link))
    return target if (ROOT / target).is_file() else None


def place_on_site(place: str) -> str:
    """Where a file of the repository is on the site.

    >>> place_on_site("docs/security.md"), place_on_site("benchmarks/README.md"), place_on_site("docs/tutorial.ipynb")
    ('security.md', 'repository/benchmarks/README.md', 'tutorial.md')
    """
    if place in PAGES:
        return PAGES[place]
    return place.removeprefix("docs/") if place.startswith("docs/") else f"{OUTSIDE}/{place}"


def place_in_repository(uri: str) -> str:
    """The inverse of `place_on_site`."""
    for place, page in PAGES.items():
        if uri == page:
            return place
    return uri.removeprefix(f"{OUTSIDE}/") if uri.startswith(f"{OUTSIDE}/") else f"docs/{uri}"
