"""Discourse dependencies."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given

from genrst.document import Document, Span
from genrst.errors import UsageError
from genrst.formats.dis import read_dis
from genrst.formats.rsd import write_rsd
from genrst.trees.node import SPAN, Leaf, Tree, Unit
from tests.strategies import documents


def rows(document: Document) -> list[list[str]]:
    return [line.split("\t") for line in write_rsd(document).splitlines()]


def rebuilt(table: list[list[str]]) -> Tree:
    """The tree again, from heads and heights alone."""
    dependents: dict[int, dict[int, list[list[str]]]] = defaultdict(lambda: defaultdict(list))
    for row in table:
        dependents[int(row[6])][int(row[2])].append(row)

    def build(edu: int) -> Tree:
        tree: Tree = Leaf(edu - 1)
        for _, attached in sorted(dependents[edu].items()):
            parts = [(edu, "N", SPAN, tree)]
            for row in attached:
                relation, letter = row[7][:-2], {"_m": "N", "_r": "S"}[row[7][-2:]]
                parts.append((int(row[0]), letter, relation, build(int(row[0]))))
            nuclei = [relation for _, letter, relation, _ in parts[1:] if letter == "N"]
            if nuclei:
                parts[0] = (edu, "N", nuclei[0], tree)
            parts.sort(key=lambda part: part[0])
            _, letters, relations, children = zip(*parts, strict=True)
            tree = Unit.from_relations(relations, "".join(letters), children)
        return tree

    ((root,),) = dependents[0].values()
    return build(int(root[0]))


@given(documents())
def test_the_tree_can_be_built_again(document: Document) -> None:
    table = rows(document)
    assert all(len(row) == 10 for row in table)
    assert [row[0] for row in table] == [str(number) for number in range(1, len(document.edus) + 1)]
    assert [row[1] for row in table] == document.edu_texts
    assert {value for row in table for value in [*row[3:6], *row[8:]]} == {"_"}
    assert [row[7] for row in table if row[6] == "0"] == ["ROOT"]
    assert rebuilt(table) == document.tree


def test_an_example() -> None:
    tree = Unit("sequence", "NN", (Unit("concession", "SN", (Leaf(0), Leaf(1))), Leaf(2)))
    document = Document.from_edus("rain", ["Although it rained,", "we went\tout", "and got\nwet."], tree)
    assert write_rsd(document) == (
        "1\tAlthough it rained,\t0\t_\t_\t_\t2\tconcession_r\t_\t_\n"
        "2\twe went out\t0\t_\t_\t_\t0\tROOT\t_\t_\n"
        "3\tand got wet.\t1\t_\t_\t_\t2\tsequence_m\t_\t_\n"
    )


def test_one_edu_without_text() -> None:
    assert write_rsd(Document("x", None, (Span(0, 5),), Leaf(0))) == "1\t_\t0\t_\t_\t_\t0\tROOT\t_\t_\n"


def test_a_document_without_a_tree_cannot_be_written() -> None:
    with pytest.raises(UsageError, match="must have a tree"):
        write_rsd(Document.from_edus("flat", ["a", "b"]))


@pytest.mark.corpus
def test_gum_has_the_same_dependencies(corpora: Path) -> None:
    """Its CoNLL-U files hold `relation:dependent->head:height`, made by the authors' own converter."""
    n_edus = 0
    for file in sorted((corpora / "gum" / "dis_nary").glob("*.dis")):
        conllu = (corpora / "gum" / "conllu" / f"{file.stem}.conllu").read_text(encoding="utf-8")
        published = re.findall(r"^\d.*Discourse=([^:]+):([\d>-]+):(\d+)", conllu, re.MULTILINE)
        ours = [
            (row[7].removesuffix("_r"), row[0] if row[6] == "0" else f"{row[0]}->{row[6]}", row[2])
            for row in rows(read_dis(file.read_bytes(), file))
        ]
        assert ours == published
        n_edus += len(ours)
    assert n_edus == 665
