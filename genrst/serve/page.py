"""The page at `/`: the workbench of an annotator, made of the parts of all pages (`genrst.rendering.page`) and its own.

The parts are the plain files in `workbench/`: `edits.js` is what can be done to a document, `bench.js` remembers, asks
the service and draws, `panel.js` is what the annotator sees of the selected unit, and `commands.js` what is done at a
click or a key. Nothing comes from elsewhere, and nothing goes there.
"""

from functools import cache
from importlib.resources import files

from genrst.rendering.page import Page, fill_page, page_policy
from genrst.version import VERSION

_SCRIPTS = ("edits.js", "bench.js", "panel.js", "commands.js")


@cache
def workbench(has_files: bool = False) -> tuple[str, str]:
    """The page, for local files as well if there are any, and the content security policy that it is sent with."""
    tools = _part("tools.html")
    page = Page(
        title="genrst",
        kind="compact bench",
        facts="",
        trees="",
        data=[],
        text="",
        tools=tools.replace('id="files"', 'id="files" data-desk') if has_files else tools,
        panels=_part("panels.html").replace("VERSION", VERSION),
        style=_part("workbench.css"),
        scripts=[_part(name) for name in _SCRIPTS],
    )
    return fill_page(page), f"{page_policy(page)}; frame-ancestors 'none'"


def _part(name: str) -> str:
    return files("genrst.serve").joinpath("workbench", name).read_text(encoding="utf-8").strip()
