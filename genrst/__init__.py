"""Rhetorical structure trees: read, convert, score, draw and parse them.

    >>> import genrst
    >>> document = genrst.load()("It rained, so we stayed in.")   # doctest: +SKIP
    >>> document = genrst.read("article.rs3")                     # doctest: +SKIP
    >>> genrst.write(document, "article.json")                    # doctest: +SKIP

What needs more than the standard library is loaded when it is first used, so that `import genrst` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from genrst.document import Document, Span, TextNode, Token
from genrst.errors import (
    ConfigError,
    ConstraintError,
    CorpusFormatError,
    CorpusNotFoundError,
    CorpusWarning,
    GenrstError,
    InputError,
    MissingDependencyError,
    ModelNotFoundError,
    OutputError,
    ParserWarning,
    TrainingError,
    TreeError,
    UnknownLabelError,
    UsageError,
)
from genrst.trees.binarise import binarise, flatten
from genrst.trees.constraint import Constraint
from genrst.trees.node import Leaf, Tree, Unit
from genrst.version import VERSION as __version__  # noqa: N811

if TYPE_CHECKING:
    from genrst.corpora.corpus import load_corpus
    from genrst.evaluation.report import evaluate
    from genrst.formats.files import read, read_documents, write, write_documents
    from genrst.parser.parser import Parser, load
    from genrst.parser.stages import Failure

__all__ = [
    "ConfigError",
    "Constraint",
    "ConstraintError",
    "CorpusFormatError",
    "CorpusNotFoundError",
    "CorpusWarning",
    "Document",
    "Failure",
    "GenrstError",
    "InputError",
    "Leaf",
    "MissingDependencyError",
    "ModelNotFoundError",
    "OutputError",
    "Parser",
    "ParserWarning",
    "Span",
    "TextNode",
    "Token",
    "TrainingError",
    "Tree",
    "TreeError",
    "Unit",
    "UnknownLabelError",
    "UsageError",
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

_LAZY = {
    "Failure": "genrst.parser.stages",
    "Parser": "genrst.parser.parser",
    "evaluate": "genrst.evaluation.report",
    "load": "genrst.parser.parser",
    "load_corpus": "genrst.corpora.corpus",
    "read": "genrst.formats.files",
    "read_documents": "genrst.formats.files",
    "write": "genrst.formats.files",
    "write_documents": "genrst.formats.files",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'genrst' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__


def _document_html(document: "Document") -> str:
    from genrst.rendering.notebook import document_html

    return document_html(document)


def _tree_svg(tree: "Tree") -> str:
    from genrst.rendering.notebook import tree_svg

    return tree_svg(tree)


def _document_text(document: "Document") -> str:
    from genrst.rendering.terminal import render_text

    return render_text(document).rstrip("\n")


def _node_text(node: "TextNode") -> str:
    from genrst.rendering.terminal import render_text

    return render_text(node.document, tree=node.node).rstrip("\n")


# What `print` shows: the words of a tree.
Document.__str__ = _document_text  # type: ignore[method-assign, assignment]
TextNode.__str__ = _node_text  # type: ignore[method-assign, assignment]

# How notebooks show them. Trees and documents know nothing of pictures.
Document._repr_html_ = _document_html  # type: ignore[assignment, method-assign]
Leaf._repr_svg_ = Unit._repr_svg_ = _tree_svg  # type: ignore[method-assign, assignment]
