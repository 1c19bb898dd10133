"""Rhetorical structure trees: read, convert, score, draw and parse them.

    >>> import genrst
    >>> document = genrst.load()("It rained, so we stayed in.")   # doctest: +SKIP
    >>> document = genrst.read("article.rs3")                     # doctest: +SKIP
    >>> genrst.write(document, "article.json")                    # doctest: +SKIP

Names are loaded when they are first used, so that `import genrst` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from genrst.document import Document, Span, Token
from genrst.trees.node import Leaf, Tree, Unit

if TYPE_CHECKING:
    from genrst.corpora.corpus import load_corpus
    from genrst.errors import CorpusFormatError, GenrstError, TreeError
    from genrst.evaluation.report import evaluate
    from genrst.formats.files import read, read_documents, write, write_documents
    from genrst.parser.parser import Parser, load
    from genrst.parser.stages import Failure
    from genrst.trees.binarise import binarise, flatten
    from genrst.version import VERSION as __version__  # noqa: N811

__all__ = [
    "CorpusFormatError",
    "Document",
    "Failure",
    "GenrstError",
    "Leaf",
    "Parser",
    "Span",
    "Token",
    "Tree",
    "TreeError",
    "Unit",
    "__version__",
    "binarise",
    "evaluate",
    "flatten",
    "load",
    "load_corpus",
    "read",
    "read_documents",
    "write",
    "write_documents",
]

_HOMES = {
    "genrst.corpora.corpus": ("load_corpus",),
    "genrst.formats.files": ("read", "read_documents", "write", "write_documents"),
    "genrst.errors": ("CorpusFormatError", "GenrstError", "TreeError"),
    "genrst.evaluation.report": ("evaluate",),
    "genrst.parser.stages": ("Failure",),
    "genrst.parser.parser": ("Parser", "load"),
    "genrst.trees.binarise": ("binarise", "flatten"),
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("genrst.version").VERSION
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'genrst' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def _document_html(document: "Document") -> str:
    from genrst.rendering.notebook import document_html

    return document_html(document)


def _tree_svg(tree: "Tree") -> str:
    from genrst.rendering.notebook import tree_svg

    return tree_svg(tree)


# How notebooks show them. Trees and documents know nothing of pictures.
Document._repr_html_ = _document_html  # type: ignore[assignment, method-assign]
Leaf._repr_svg_ = Unit._repr_svg_ = _tree_svg  # type: ignore[method-assign, assignment]
