"""A tree as a directed networkx graph.

>>> from genrst import Document, Leaf, Unit
>>> tree = Unit("reason", "SN", (Leaf(0), Leaf(1)))
>>> graph(Document.from_edus("rain", ["It rained,", "so we stayed in."], tree)).edges[0, 1]
{'relation': 'reason', 'nuclearity': 'S'}
"""

import networkx

from genrst.document import Document
from genrst.outputs.tables import unit_rows

_ELSEWHERE = {"document", "id", "parent", "relation", "role"}
"""The columns of the table of units that do not become node attributes."""


def graph(document: Document) -> "networkx.DiGraph[int]":
    """Return a tree as a graph whose edges lead from units to their children.

    Nodes are numbered as in `unit_rows`, so 0 is the root. They have the columns of that table as attributes: `text`,
    `start`, `end`, `first_edu`, `last_edu`, `is_edu`, `depth`, `importance`, and probabilities if known. Units also
    have the `relation` between their children and a `nuclearity`, with one N or S per child. Edges have the child's
    relation, as labelled in RST files, and its nuclearity. Unknown values are left out, so that networkx can write the
    graph in any of its formats.
    """
    found: networkx.DiGraph[int] = networkx.DiGraph(document=document.id)
    for row, node in zip(unit_rows(document), document.root, strict=True):
        about = {name: cell for name, cell in row.items() if name not in _ELSEWHERE}
        about |= {"relation": node.relation, "nuclearity": node.nuclearity}
        found.add_node(row["id"], **{name: cell for name, cell in about.items() if cell is not None})
        if row["parent"] is not None:
            found.add_edge(row["parent"], row["id"], relation=row["relation"], nuclearity=row["role"])
    return found
