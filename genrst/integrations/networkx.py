"""A tree as a directed graph of networkx.

>>> from genrst import Document, Leaf, Unit
>>> tree = Unit("reason", "SN", (Leaf(0), Leaf(1)))
>>> graph(Document.from_edus("rain", ["It rained,", "so we stayed in."], tree)).edges[0, 1]
{'relation': 'reason', 'nuclearity': 'S'}
"""

import networkx

from genrst.document import Document
from genrst.outputs.tables import unit_rows

_ELSEWHERE = {"document", "id", "parent", "relation", "role"}
"""The columns of the table of units that are not attributes of nodes."""


def graph(document: Document) -> "networkx.DiGraph[int]":
    """Return a tree as a graph whose edges lead from units to what they consist of.

    Nodes are the numbers of `unit_rows`, so 0 is the root, and have the columns of that table as attributes: `text`,
    `start`, `end`, `first_edu`, `last_edu`, `is_edu`, `depth`, `importance`, and probabilities if known. Units also
    have the `relation` between their children, and a `nuclearity` with an N or S for each. Edges have the relation of
    the child as RST files label it, and its nuclearity. What is unknown is left out, so that networkx can write the
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
