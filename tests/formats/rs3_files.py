"""Small `.rs3` files for tests: body line k stands in line k + 3 of the file."""

from pathlib import Path

from genrst.document import Document
from genrst.formats.rs3_reader import Roots, read_rs3

PATH = Path("folder/sample.rs3")
HEADER = (
    '<header><relations><rel name="elaboration" type="rst"/><rel name="list" type="multinuc"/>'
    '<rel name="restatement" type="rst"/><rel name="restatement" type="multinuc"/></relations></header>'
)


def rs3(*body: str, header: str = HEADER) -> bytes:
    """A file with these lines in its body."""
    return "\n".join(["<rst>", header, "<body>", *body, "</body>", "</rst>", ""]).encode()


def segment(id: int | str, parent: int | str = "", relname: str = "", text: str | None = None) -> str:
    """A segment, by default with its id as text."""
    place = f' parent="{parent}" relname="{relname}"' if parent else ""
    return f'<segment id="{id}"{place}>{f"edu {id}" if text is None else text}</segment>'


def group(id: int | str, kind: str, parent: int | str = "", relname: str = "") -> str:
    """A group."""
    place = f' parent="{parent}" relname="{relname}"' if parent else ""
    return f'<group id="{id}" type="{kind}"{place}/>'


def read(*body: str, header: str = HEADER, roots: Roots = "error", with_tree: bool = True) -> Document:
    """The document of a file with these lines in its body."""
    return read_rs3(rs3(*body, header=header), PATH, roots=roots, with_tree=with_tree)
