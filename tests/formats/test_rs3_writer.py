"""Files are written as rstWeb expects them, and read back as the document they came from."""

import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.errors import CorpusWarning, UsageError
from genrst.formats.dis import read_dis
from genrst.formats.rs3_nodes import FORBIDDEN
from genrst.formats.rs3_reader import read_rs3
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.trees.binarise import binarise
from genrst.trees.node import SPAN, Leaf, Tree, Unit, fold, units
from tests.strategies import RELATIONS, binary_trees, documents, nary_trees

PATH = Path("random.rs3")


def written_and_read(document: Document) -> Document:
    return read_rs3(write_rs3(document).encode(), PATH)


def with_tree(tree: Tree) -> Document:
    return Document.from_edus("random", [f"edu {edu}" for edu in range(tree.stop)], tree)


@given(documents())
def test_round_trip(document: Document):
    assume(not FORBIDDEN.search(document.text or ""))
    assert written_and_read(document) == document
    assert read_rs3(write_rs4(document).encode(), PATH) == document


@given(documents(binary_trees()))
def test_round_trip_of_binary_trees(document: Document):
    assume(not FORBIDDEN.search(document.text or ""))
    assert written_and_read(document) == document


@st.composite
def mixed_trees(draw: st.DrawFn) -> Tree:
    """A tree in which any child may be a nucleus or a satellite, with any relation."""

    def mixed(_unit: Unit, children: list[Tree]) -> Tree:
        letters = draw(st.text("NS", min_size=len(children), max_size=len(children)).filter(lambda text: "N" in text))
        relations = [draw(st.sampled_from(RELATIONS)) for _ in children]
        if letters.count("N") == 1:
            relations[letters.index("N")] = SPAN
        return Unit.from_relations(relations, letters, children)

    return fold(draw(nary_trees()), lambda leaf: leaf, mixed)


def satellite_relations(tree: Tree | None) -> list[str]:
    assert tree is not None
    labels = [label for unit in units(tree) for label in zip(unit.nuclearity, unit.relations, strict=True)]
    return sorted(relation for letter, relation in labels if letter == "S")


@pytest.mark.slow
@given(mixed_trees())
def test_units_of_any_nuclearity_can_be_written(tree: Tree):
    once = written_and_read(with_tree(tree))
    assert len(once.edus) == tree.stop
    assert satellite_relations(once.tree) == satellite_relations(tree)
    assert written_and_read(once) == once


MIXED = {
    "satellite after nuclei": (
        Unit.from_relations(("list", "list", "cause"), "NNS", (Leaf(0), Leaf(1), Leaf(2))),
        Unit("cause", "NS", (Unit("list", "NN", (Leaf(0), Leaf(1))), Leaf(2))),
    ),
    "satellite between nuclei": (
        Unit.from_relations(("list", "cause", "list"), "NSN", (Leaf(0), Leaf(1), Leaf(2))),
        Unit.from_relations(("list", "cause", "list"), "NSN", (Leaf(0), Leaf(1), Leaf(2))),
    ),
    "satellite between nuclei that would read as a nucleus": (
        Unit.from_relations(("list", "list", "list"), "NSN", (Leaf(0), Leaf(1), Leaf(2))),
        Unit("list", "NN", (Unit("list", "NS", (Leaf(0), Leaf(1))), Leaf(2))),
    ),
    "nuclei with different relations": (
        Unit.from_relations(("list", "contrast"), "NN", (Leaf(0), Leaf(1))),
        Unit.from_relations(("list", "contrast"), "NN", (Leaf(0), Leaf(1))),
    ),
}


@pytest.mark.parametrize(("tree", "expected"), MIXED.values(), ids=MIXED.keys())
def test_mixed_units(tree: Tree, expected: Tree):
    assert written_and_read(with_tree(tree)).tree == expected


def test_layout_of_a_file():
    pair = Unit("joint", "NN", (Leaf(0), Leaf(1)))
    tree = Unit("why", "NS", (pair, Unit("joint", "SN", (Leaf(2), Leaf(3)))))
    document = Document.from_edus("sample", ["a < b & c", 'said "d"', "e", ""], tree)
    assert write_rs3(document).split("\n") == [
        "<rst>",
        "\t<header>",
        "\t\t<relations>",
        '\t\t\t<rel name="joint" type="multinuc"/>',
        '\t\t\t<rel name="joint" type="rst"/>',
        '\t\t\t<rel name="why" type="rst"/>',
        "\t\t</relations>",
        "\t</header>",
        "\t<body>",
        '\t\t<segment id="1" parent="6" relname="joint">a &lt; b &amp; c</segment>',
        '\t\t<segment id="2" parent="6" relname="joint">said "d"</segment>',
        '\t\t<segment id="3" parent="4" relname="joint">e</segment>',
        '\t\t<segment id="4" parent="7" relname="span"></segment>',
        '\t\t<group id="5" type="span"/>',
        '\t\t<group id="6" type="multinuc" parent="5" relname="span"/>',
        '\t\t<group id="7" type="span" parent="6" relname="why"/>',
        "\t</body>",
        "</rst>",
        "",
    ]


def test_satellite_named_like_the_nuclei_it_belongs_to_gets_a_group_between():
    tree = Unit("joint", "NS", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
    text = write_rs3(with_tree(tree))
    assert '<group id="5" type="multinuc" parent="6" relname="span"/>' in text
    assert '<segment id="3" parent="6" relname="joint">' in text
    assert written_and_read(with_tree(tree)).tree == tree


def test_without_tree():
    document = Document.from_edus("random", ["one", "two"])
    assert "parent" not in write_rs3(document)
    assert written_and_read(document) == document


def test_relation_names_with_special_characters():
    for relation in ('<&">', "a\tb\nc", "'", "  wide  "):
        document = with_tree(Unit(relation, "NS", (Leaf(0), Leaf(1))))
        assert written_and_read(document) == document


@pytest.mark.parametrize("character", "\0\x08\x1b\ud800\ufffe\uffff")
@pytest.mark.parametrize("write", [write_rs3, write_rs4])
def test_forbidden_characters_cannot_be_written(write: Callable[[Document], str], character: str):
    rule = f"^sample: .rs[34] files cannot hold the character U\\+{ord(character):04X}, which XML does not allow$"
    for text, relation in ((f"a{character}b", "cause"), ("a", f"x{character}")):
        document = Document.from_edus("sample", [text, "b"], Unit(relation, "NS", (Leaf(0), Leaf(1))))
        with pytest.raises(UsageError, match=rule):
            write(document)


def test_white_space_that_xml_does_not_allow_is_white_space():
    assert written_and_read(Document.from_edus("random", ["a\x0cb\x1cc\x85d", "e"])).edu_texts == ["a b c d", "e"]


@pytest.mark.parametrize(
    ("nuclearity", "relations", "was"),
    [
        ("NS", (SPAN, SPAN), "'span' in a unit NS"),
        ("SN", (SPAN, SPAN), "'span' in a unit SN"),
        ("NN", (SPAN, SPAN), "'span' in a unit NN"),
        ("NS", ("cause", "cause"), "'cause' in a unit NS"),
    ],
)
def test_nuclei_with_satellites_are_called_span_and_nothing_else(nuclearity: str, relations: tuple[str, ...], was: str):
    with pytest.raises(UsageError, match=rf"^random: to be written as .*\.rs4, .* must be called span, got {was}$"):
        write_rs3(with_tree(Unit.from_relations(relations, nuclearity, (Leaf(0), Leaf(1)))))


def test_signals_of_edges_that_are_not_there_are_left_out():
    signal = Signal((0, 1), "dm", "but", (1,), target=(1, 2))
    document = replace(with_tree(Unit("cause", "NS", (Leaf(0), Leaf(1)))), signals=(signal,))
    with pytest.warns(CorpusWarning, match="random: left out 1 secondary edges or signals"):
        assert read_rs3(write_rs4(document).encode(), PATH).signals == ()
    document = replace(document, secondary_edges=(SecondaryEdge((0, 1), (1, 2), "contrast"),))
    assert read_rs3(write_rs4(document).encode(), PATH) == document


@pytest.mark.slow
def test_deep_tree():
    tree: Tree = Leaf(0)
    for edu in range(1, 2001):
        tree = Unit("joint" if edu % 2 else "cause", "NN" if edu % 3 else "NS", (tree, Leaf(edu)))
    assert written_and_read(with_tree(tree)).tree == tree


# Real corpora: every file is read, and reads the same after it was written.


def read_quietly(path: Path) -> tuple[Document, int]:
    """The document, and the number of warnings on the way."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        return read_rs3(path.read_bytes(), path), len(record)


@pytest.mark.slow
@pytest.mark.corpus
@pytest.mark.parametrize(
    ("pattern", "n_files", "n_edus", "n_repaired", "n_signals", "n_edges"),
    [("gum/rs4/*.rs4", 255, 32428, 0, 37478, 1298), ("extra-en/**/*.rs3", 598, 7021, 14, 0, 0)],
)
def test_every_file_is_read_and_some_are_written(
    corpora: Path, pattern: str, n_files: int, n_edus: int, n_repaired: int, n_signals: int, n_edges: int
):
    paths = sorted(corpora.glob(pattern))
    counts = Counter[str]()
    for number, path in enumerate(paths):
        document, n_warnings = read_quietly(path)
        assert document.tree is not None
        assert len(document.edus) == path.read_bytes().count(b"<segment ")
        counts["repaired"] += n_warnings > 0
        counts["edus"] += len(document.edus)
        counts["signals"] += len(document.signals)
        counts["edges"] += len(document.secondary_edges)
        if number % 5 == 0:
            assert read_rs3(write_rs4(document).encode(), path) == document
            rewritten = read_rs3(write_rs3(document).encode(), path)
            assert (rewritten.tree, rewritten.edu_texts) == (document.tree, document.edu_texts)
    assert len(paths) == n_files
    assert counts == {"repaired": n_repaired, "edus": n_edus, "signals": n_signals, "edges": n_edges}


@pytest.mark.corpus
def test_trees_equal_those_of_bracketed_files(corpora: Path):
    for bracketed in sorted(corpora.glob("gum/dis_nary/*.dis")):
        path = corpora / "gum" / "rs4" / f"{bracketed.stem}.rs4"
        document = read_rs3(path.read_bytes(), path)
        other = read_dis(bracketed.read_bytes(), bracketed)
        assert document.tree is not None
        assert (document.edu_texts, document.tree) == (other.edu_texts, other.tree)
        binary = corpora / "gum" / "dis_binary" / bracketed.name
        assert binarise(document.tree) == read_dis(binary.read_bytes(), binary).tree


# Words of signals: rstWeb counts what white space separates in segments.


def marked_words(document: Document, suffix_text: str) -> list[list[str]]:
    """The words that the signals of a written file number, found as rstWeb finds them."""
    segments = re.findall(r"<segment [^>]*>([^<]*)</segment>", suffix_text)
    words = [word for segment in segments for word in segment.strip().split(" ")]
    numbers = re.findall(r'<signal [^>]*tokens="([^"]*)"', suffix_text)
    assert len(numbers) == len(document.signals)
    return [[words[int(number) - 1] for number in one.split(",") if number] for one in numbers]


def test_words_of_signals_are_those_of_the_file():
    text = "- It rained,\n* but we\xa0went\tout.\n"
    edus = Span(2, 12), Span(15, 32)
    signals = tuple(Signal((1, 2), "dm", "dm", numbers) for numbers in ((3,), (4, 5), (), (2, 7)))
    document = Document("rain", text, edus, Unit("contrast", "NN", (Leaf(0), Leaf(1))), signals=signals)
    expected = [["but"], ["we", "went"], [], ["rained,"]]
    assert marked_words(document, write_rs4(document)) == expected
    places = (2, 4), (5, 11), (11, 12), (15, 18), (19, 21), (22, 26), (27, 30), (30, 31)
    tokens = tuple(Token(start, end, 0) for start, end in places)
    numbers = (4,), (5, 6), (), (2, 3, 9)
    with_tokens = replace(document, tokens=tokens, signals=tuple(Signal((1, 2), "dm", "dm", one) for one in numbers))
    assert marked_words(with_tokens, write_rs4(with_tokens)) == expected
    (read,) = [read_rs3(write_rs4(document).encode(), PATH)]
    assert marked_words(read, write_rs4(read)) == expected
