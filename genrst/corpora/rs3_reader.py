"""Reader of `.rs3` and `.rs4` files, as RSTTool, rstWeb and the corpora made with them write them.

XML is read in `genrst.corpora.rs3_xml`, nodes are linked in `rs3_nodes`, trees built in `rs3_trees`.
"""

from dataclasses import replace
from pathlib import Path

from genrst.corpora.document import Document
from genrst.corpora.rs3_nodes import link, read_groups, read_segments
from genrst.corpora.rs3_trees import Roots, TreeBuilder, multinuclear_relations
from genrst.corpora.rs3_xml import Repairs, parse_xml
from genrst.corpora.rs4_layers import read_layers


def read_rs3(content: bytes, path: Path, *, roots: Roots = "error", with_tree: bool = True) -> Document:
    """Read an `.rs3` or `.rs4` file, given its bytes and where they came from.

    The tree is None when nothing in the file has a parent, or when `with_tree` is False: then only segments are
    read. Several roots are an error unless `roots` is `join`: then they become the nuclei of a `virtual-root`.
    """
    repairs = Repairs(path)
    elements = parse_xml(content, path, repairs)
    segments, texts = read_segments(elements, path, repairs)
    document = Document.from_edus(path.stem, texts)
    if with_tree:
        nodes = link(segments + read_groups(elements, path, repairs), path, repairs)
        builder = TreeBuilder(multinuclear_relations(elements, nodes), path, repairs)
        is_segmented_only = len(nodes) > 1 and all(node.parent is None for node in nodes)
        tree = None if is_segmented_only else builder.build(nodes, roots)
        edges, signals = read_layers(elements, builder.ranges, repairs)
        document = replace(document, tree=tree, secondary_edges=edges, signals=signals)
    repairs.warn()
    return document
