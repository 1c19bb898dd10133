"""Writing `.dis` files; the format is described in `genrst.corpora.dis_reader`."""

import re
import warnings
from itertools import pairwise

from genrst.corpora.document import Document
from genrst.errors import CorpusWarning, UsageError
from genrst.trees.node import Leaf, Tree, units

_ROLES = {"N": "Nucleus", "S": "Satellite"}
_MARKUP = re.compile(r"_(?=!)|<(?=P>|/?(?:s|EDU)>)")
_NOT_IN_NAMES = re.compile(r"_!|[()]")
_MAX_INDENT = 40  # deeper lines are not indented further: the file would grow with the square of the depth


def write_dis(document: Document) -> str:
    """The text of a `.dis` file.

    White space in an EDU becomes one space. What the format would take for markup is broken up by a space (`_!` becomes
    `_ !`, `<P>` becomes `< P>`), and brackets in a relation's name become hyphens, both with a `CorpusWarning`.
    """
    if document.tree is None:
        raise UsageError(f"{document.id}: a document must have a tree to be written as .dis, was: segmented only")
    texts, names = _texts(document), _names(document.tree, document.id)
    lines: list[str] = []
    pending: list[tuple[Tree, str, str, int] | str] = [(document.tree, "Root", "", 0)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        node, role, relation, depth = item
        indent = "  " * min(depth, _MAX_INDENT)
        if isinstance(node, Leaf):
            lines.append(f"{indent}( {role} (leaf {node.stop}){relation} (text _!{texts[node.edu]}_!) )")
            continue
        lines.append(f"{indent}( {role} (span {node.start + 1} {node.stop}){relation}")
        pending.append(f"{indent})")
        for letter, name, child in reversed(list(zip(node.nuclearity, node.relations, node.children, strict=True))):
            pending.append((child, _ROLES[letter], f" (rel2par {names[name]})", depth + 1))
    return "\n".join(lines) + "\n"


def _texts(document: Document) -> list[str]:
    texts = [" ".join(text.split()) for text in document.edu_texts]
    broken_up = [_MARKUP.sub(r"\g<0> ", text) for text in texts]
    if broken_up != texts:
        warnings.warn(
            CorpusWarning(f"{document.id}: an EDU holds markup of .dis files; a space is put inside it"), stacklevel=3
        )
    paragraphs = document.paragraph_of_edus()
    if paragraphs[-1] == paragraphs[0]:
        return broken_up
    is_last = [before != after for before, after in pairwise([*paragraphs, -1])]
    return [text + "<P>" if last else text for text, last in zip(broken_up, is_last, strict=True)]


def _names(tree: Tree, document_id: str) -> dict[str, str]:
    """How each relation is written."""
    relations = {relation for unit in units(tree) for relation in unit.relations}
    names = {relation: _NOT_IN_NAMES.sub("-", " ".join(relation.split())) or "-" for relation in relations}
    changed = [f"{relation!r} as {name!r}" for relation, name in sorted(names.items()) if relation != name]
    if changed:
        message = f"{document_id}: names of relations must have no brackets; written are {', '.join(changed)}"
        warnings.warn(CorpusWarning(message), stacklevel=3)
    return names
