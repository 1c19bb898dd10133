"""Rhetorical structure trees: read, convert, score, draw and parse them.

    >>> import genrst
    >>> document = genrst.load()("It rained, so we stayed in.")   # doctest: +SKIP
    >>> document = genrst.read("article.rs3")                     # doctest: +SKIP
    >>> genrst.write(document, "article.json")                    # doctest: +SKIP

Modules that need more than the standard library are imported on first use, so that `import genrst` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from genrst.document import Document, Node, SecondaryEdge, Signal, Span, Token
from genrst.errors import (
    ConfigError,
    ConstraintError,
    CorpusFormatError,
    CorpusNotFoundError,
    CorpusWarning,
    EvaluationWarning,
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
from genrst.trees.constraints import Constraint
from genrst.trees.measures import importance
from genrst.trees.node import Leaf, Tree, Unit
from genrst.version import VERSION as __version__  # noqa: N811

if TYPE_CHECKING:
    from genrst.chart.finder import Distribution
    from genrst.corpora.corpus import load_corpus
    from genrst.evaluation.report import Evaluation, evaluate
    from genrst.formats.files import read, read_documents, write, write_documents
    from genrst.formats.json_format import document_from_dict, document_to_dict
    from genrst.formats.texts import read_text
    from genrst.outputs.chunks import Chunk, chunks
    from genrst.outputs.features import feature_rows, features, profile, profile_rows
    from genrst.outputs.summary import summary, summary_text
    from genrst.outputs.tables import dependency_rows, unit_rows, write_rows
    from genrst.parser.loading import load
    from genrst.parser.parser import Failure, Parser, Text
    from genrst.rendering.difference import render_difference_html, render_difference_image, render_difference_svg
    from genrst.rendering.image import render_image
    from genrst.rendering.page import render_html
    from genrst.rendering.svg import render_svg
    from genrst.rendering.terminal import render_text

# fmt: off
__all__ = [
    "Chunk", "ConfigError", "Constraint", "ConstraintError", "CorpusFormatError", "CorpusNotFoundError",
    "CorpusWarning", "Distribution", "Document", "Evaluation", "EvaluationWarning", "Failure", "GenrstError",
    "InputError", "Leaf", "MissingDependencyError", "ModelNotFoundError", "Node", "OutputError", "Parser",
    "ParserWarning", "SecondaryEdge", "Signal", "Span", "Text", "Token", "TrainingError", "Tree", "TreeError", "Unit",
    "UnknownLabelError", "UsageError", "__version__", "binarise", "chunks", "dependency_rows", "document_from_dict",
    "document_to_dict", "evaluate", "feature_rows", "features",
    "flatten", "importance", "load", "load_corpus", "profile", "profile_rows", "read", "read_documents",
    "read_text", "render_difference_html", "render_difference_image", "render_difference_svg", "render_html",
    "render_image", "render_svg", "render_text", "summary", "summary_text", "unit_rows", "write", "write_documents",
    "write_rows",
]
# fmt: on

_LAZY = {
    name: f"genrst.{module}"
    for module, names in {
        "chart.finder": "Distribution",
        "corpora.corpus": "load_corpus",
        "evaluation.report": "Evaluation evaluate",
        "formats.files": "read read_documents write write_documents",
        "formats.texts": "read_text",
        "formats.json_format": "document_from_dict document_to_dict",
        "outputs.chunks": "Chunk chunks",
        "outputs.features": "feature_rows features profile profile_rows",
        "outputs.summary": "summary summary_text",
        "outputs.tables": "dependency_rows unit_rows write_rows",
        "parser.loading": "load",
        "parser.parser": "Failure Parser Text",
        "rendering.difference": "render_difference_html render_difference_image render_difference_svg",
        "rendering.image": "render_image",
        "rendering.page": "render_html",
        "rendering.svg": "render_svg",
        "rendering.terminal": "render_text",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'genrst' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__


# What `print` and notebooks show. The methods are added here because documents and trees must not import rendering.


def _as_text(shown: Document | Node) -> str:
    from genrst.rendering.terminal import render_text

    return render_text(shown).rstrip("\n")


def _as_html(document: Document) -> str:
    from genrst.rendering.page import document_html

    return document_html(document)


def _as_svg(tree: Tree) -> str:
    from genrst.rendering.svg import tree_svg

    return tree_svg(tree)


Document.__str__ = Node.__str__ = _as_text  # type: ignore[method-assign, assignment]
Document._repr_html_ = _as_html  # type: ignore[attr-defined]
Leaf._repr_svg_ = Unit._repr_svg_ = _as_svg  # type: ignore[attr-defined]
