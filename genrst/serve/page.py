"""The page at `/`, where documents are annotated: the common page (`genrst.rendering.page`) and parts of its own.

The parts are in `workbench/`: `edits.js` changes documents, `bench.js` keeps the state, calls the service and draws,
`panel.js` shows the selected unit, and `commands.js` handles clicks and keys. The page loads nothing from elsewhere.
"""

from functools import cache
from importlib.resources import files

from genrst.rendering.page import Page, fill_page, page_policy
from genrst.version import VERSION

_SCRIPTS = ("edits.js", "bench.js", "panel.js", "commands.js")


@cache
def workbench(has_files: bool = False) -> tuple[str, str]:
    """Return the page, with a menu of local files if there are any, and its content security policy."""
    tools = _part("tools.html")
    page = Page(
        title="genrst",
        kind="compact bench",
        facts="",
        trees="",
        data=[],
        text="",
        tools=tools.replace('id="files"', 'id="files" data-local') if has_files else tools,
        panels=_part("panels.html").replace("VERSION", VERSION),
        style=_part("workbench.css"),
        scripts=[_part(name) for name in _SCRIPTS],
    )
    return fill_page(page), f"{page_policy(page)}; frame-ancestors 'none'"


def _part(name: str) -> str:
    return files("genrst.serve").joinpath("workbench", name).read_text(encoding="utf-8").strip()
