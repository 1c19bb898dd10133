"""Dependencies between EDUs as rows; how they are read off a tree is in `genrst.trees.dependency`."""

from typing import Literal, TypeAlias, TypedDict

from genrst.errors import UsageError
from genrst.outputs.slices import offsets_of, text_of, tree_of
from genrst.trees.analysis import Analysis
from genrst.trees.dependency import Dependency, dependencies_hirao, dependencies_li

Scheme: TypeAlias = Literal["li", "hirao"]

SCHEMES = {"li": dependencies_li, "hirao": dependencies_hirao}
"""By name: Li et al. (2014), with one root; Hirao et al. (2013), where nuclei may share theirs."""


class DependencyRow(TypedDict):
    """An EDU, the EDU that it depends on (None for a root, whose relation is `root`), and its characters."""

    document: str
    edu: int
    head: int | None
    relation: str
    start: int
    end: int
    text: str | None


def dependency_rows(document: Analysis, scheme: Scheme = "li") -> list[DependencyRow]:
    """A row per EDU, in order; EDUs count from 0."""
    if scheme not in SCHEMES:
        raise UsageError(f"a scheme of dependencies must be one of {', '.join(SCHEMES)}, was: {scheme!r}")
    return [_row(document, edu, found) for edu, found in enumerate(SCHEMES[scheme](tree_of(document)))]


def _row(document: Analysis, edu: int, dependency: Dependency) -> DependencyRow:
    start, end = offsets_of(document, edu, edu + 1)
    return DependencyRow(
        document=document.id,
        edu=edu,
        head=dependency.head,
        relation=dependency.relation,
        start=start,
        end=end,
        text=text_of(document, edu, edu + 1),
    )
