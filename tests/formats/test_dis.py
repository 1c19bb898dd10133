"""`.dis` files, read and written."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusWarning, UsageError
from genrst.formats.dis import read_dis, write_dis
from genrst.trees.binarise import binarise
from genrst.trees.measures import depth
from genrst.trees.node import Leaf, Tree, Unit
from tests.strategies import documents

PATH = Path("folder/rain.dis")
FIXTURES = json.loads((Path(__file__).parent.parent / "data" / "binarise.json").read_text(encoding="utf-8"))


def read(text: str, with_tree: bool = True) -> Document:
    return read_dis(text.encode(), PATH, with_tree=with_tree)


def nucleus(text: str, relation: str = "span") -> str:
    return f"( Nucleus (rel2par {relation}) (text _!{text}_!) )"


def satellite(text: str, relation: str = "result") -> str:
    return f"( Satellite (rel2par {relation}) (text _!{text}_!) )"


def root(*children: str) -> str:
    return f"( Root {' '.join(children)} )"


def deep_tree(n_levels: int) -> Tree:
    tree: Tree = Leaf(n_levels)
    for edu in reversed(range(n_levels)):
        tree = Unit("elaboration", "NS", (Leaf(edu), tree))
    return tree


# Round trips and references


MARKUP = re.compile("_!|<P>|</?s>|</?EDU>")
CLEAN_DOCUMENTS = documents().filter(lambda document: not MARKUP.search(document.text or ""))


@pytest.mark.slow
@given(CLEAN_DOCUMENTS)
def test_a_written_document_reads_the_same(document: Document) -> None:
    read_back = read(write_dis(document))
    assert read_back.tree == document.tree
    assert read_back.edu_texts == document.edu_texts
    assert read_back.text == document.text
    assert read_back.id == "rain"


@given(CLEAN_DOCUMENTS, st.sets(st.integers(1, 14)))
def test_paragraphs_survive(document: Document, starts: set[int]) -> None:
    starts = {start for start in starts if start < len(document.edus)}
    document = Document.from_edus("random", document.edu_texts, document.tree, starts)
    read_back = read(write_dis(document))
    assert read_back.paragraphs == document.paragraphs
    assert read_back.text == document.text


def nary_reference(data: Any) -> Tree:
    if "edu" in data:
        return Leaf(data["edu"] - 1)
    kids = data["kids"]
    nuclearity = "".join(kid["nuc"] for kid in kids)
    return Unit.from_relations([kid["rel"] for kid in kids], nuclearity, [nary_reference(kid["tree"]) for kid in kids])


def binary_reference(data: Any) -> Tree:
    if "edu" in data:
        return Leaf(data["edu"] - 1)
    return Unit(data["rel"], data["nuc"], (binary_reference(data["left"]), binary_reference(data["right"])))


@pytest.mark.parametrize("fixture", FIXTURES, ids=range(len(FIXTURES)))
def test_reading_and_binarising_agree_with_the_reference(fixture: dict[str, Any]) -> None:
    document = read(fixture["dis"])
    assert document.tree == nary_reference(fixture["nary"])
    assert binarise(nary_reference(fixture["nary"])) == binary_reference(fixture["binary"])
    assert document.edu_texts == [f"x{number}" for number in range(1, len(document.edus) + 1)]
    # The reference puts no space before the first child and does not indent; otherwise the files are the same.
    assert write_dis(document).split() == fixture["dis"].split()


@pytest.mark.corpus
def test_gum_samples(corpora: Path) -> None:
    files = sorted((corpora / "gum" / "dis_nary").glob("*.dis"))
    assert len(files) == 5
    for file in files:
        nary = read_dis(file.read_bytes(), file)
        binary_file = corpora / "gum" / "dis_binary" / file.name
        binary = read_dis(binary_file.read_bytes(), binary_file)
        assert nary.tree is not None
        assert binarise(nary.tree) == binary.tree
        assert nary.edu_texts == binary.edu_texts
        original = [line.rstrip() for line in file.read_text(encoding="utf-8").splitlines()]
        assert write_dis(nary).splitlines() == original


@pytest.mark.slow
def test_a_deep_tree() -> None:
    document = Document.from_edus("deep", ["x"] * 2001, deep_tree(2000))
    text = write_dis(document)
    assert len(text) < 2000 * 400
    read_back = read(text)
    assert read_back.tree == document.tree
    assert read_back.tree is not None
    assert depth(read_back.tree) == 2000


# What the format allows


def test_labels_are_kept_per_child() -> None:
    tree = read(root(satellite("a", "background"), nucleus("b"), satellite("c", "Elaboration-E"))).tree
    assert tree == Unit.from_relations(["background", "span", "Elaboration-E"], "SNS", [Leaf(0), Leaf(1), Leaf(2)])


def test_relations_of_nuclei_are_kept_as_written() -> None:
    document = read("( Root ( Nucleus (rel2par List) (text _!a_!) ) ( Nucleus (rel2par Same-Unit) (text _!b_!) ) )")
    assert isinstance(document.tree, Unit)
    assert document.tree.relations == ("List", "Same-Unit")


def test_a_lone_nucleus_without_a_label_is_a_span() -> None:
    document = read("( Root ( Nucleus (text _!a_!) ) ( Satellite (rel2par result) (text _!b_!) ) )")
    assert document.tree == Unit("result", "NS", (Leaf(0), Leaf(1)))


def test_one_edu_both_ways() -> None:
    text = "( Root (leaf 1) (text _!All of it ._!) )\n"
    document = read(text)
    assert document.tree == Leaf(0)
    assert document.edu_texts == ["All of it ."]
    assert write_dis(document) == text


@pytest.mark.parametrize(
    "edu", ["(a) [b] 'c' \"d\" _e_ f_", "!", "_", "__", "!_", ")", "//TT_ERR", "( Nucleus (leaf 3)", "<p>", "a < s> b"]
)
def test_text_may_hold_anything_but_the_end_mark(edu: str) -> None:
    document = read(root(nucleus(edu), satellite("b")))
    assert document.edu_texts == [edu, "b"]
    assert read(write_dis(document)).edu_texts == [edu, "b"]


@pytest.mark.parametrize(
    ("written", "text", "ends_paragraph"),
    [
        ("  It \n\t rained\u00a0. ", "It rained .", False),
        ("<s>It rained .</s>", "It rained .", False),
        ("<EDU> It rained . </EDU>", "It rained .", False),
        ("<s><EDU>It rained .<P></EDU></s>", "It rained .", True),
        ("It rained .<P>", "It rained .", True),
        ("It rained . <P> ", "It rained .", True),
        ("It <s> rained", "It <s> rained", False),
        ("", "", False),
        ("<P>", "", True),
    ],
)
def test_tags_around_an_edu(written: str, text: str, ends_paragraph: bool) -> None:
    document = read(root(nucleus(written), satellite("b")))
    assert document.edu_texts == [text, "b"]
    assert bool(document.paragraphs) == ends_paragraph
    assert document.paragraph_of_edus() == [0, int(ends_paragraph)]


def test_a_paragraph_mark_on_the_last_edu_starts_no_paragraph() -> None:
    assert read(root(nucleus("a"), satellite("b<P>"))).paragraphs == ()


@pytest.mark.parametrize(
    ("written", "text", "starts_paragraph"),
    [
        ("It <P> rained", "It rained", False),
        ("It<P>rained<P> .", "It rained .", False),
        ("<P> It rained", "It rained", True),
        ("<s><P>It <P> <s> rained", "It <s> rained", True),
    ],
)
def test_paragraph_marks_elsewhere_are_left_out_with_a_warning(written: str, text: str, starts_paragraph: bool) -> None:
    with pytest.warns(CorpusWarning) as caught:
        document = read(root(nucleus("a"), satellite(written)))
    (warning,) = caught
    assert str(warning.message) == f"{PATH}:1: <P> must be at the end of an EDU; removed from {text!r}"
    assert document.edu_texts == ["a", text]
    assert document.paragraph_of_edus() == [0, int(starts_paragraph)]


def test_several_oddities_of_a_kind_are_counted() -> None:
    with pytest.warns(CorpusWarning, match=r"rain.dis:1: <P> must .* removed from 'a b' \(and 1 more\)$"):
        read(root(nucleus("a<P>b"), satellite("c<P>d")))


@pytest.mark.parametrize(
    ("labels", "nuclearity", "relations"),
    [
        (("span", "span"), "NN", ("joint", "joint")),
        (("span", "List"), "NN", ("List", "List")),
        (("List", "span", "span"), "NNN", ("List", "List", "List")),
        (("span", "result", "span"), "NSN", ("joint", "result", "joint")),
    ],
)
def test_nuclei_labelled_span(labels: tuple[str, ...], nuclearity: str, relations: tuple[str, ...]) -> None:
    roles = {"N": "Nucleus", "S": "Satellite"}
    nodes = [f"( {roles[n]} (rel2par {name}) (text _!x_!) )" for n, name in zip(nuclearity, labels, strict=True)]
    with pytest.warns(CorpusWarning, match=f"rain.dis:1: several nuclei labelled span, read as {relations[0]}"):
        tree = read(root(*nodes)).tree
    assert isinstance(tree, Unit)
    assert (tree.nuclearity, tree.relations) == (nuclearity, relations)


def test_white_space_is_free() -> None:
    dense = root(nucleus("a b"), satellite("c")).replace("( ", "(").replace(" (", "(").replace(" )", ")")
    dense = dense.replace("text _!", "text_!")
    loose = re.sub(r"([()])", r"\n\t\1 \r\n", root(nucleus("a b"), satellite("c"))).replace("text _!", "text\n\n_!")
    assert read(dense) == read(loose) == read(root(nucleus("a b"), satellite("c")))


def test_marks_of_the_annotation_tool_are_skipped() -> None:
    text = root(nucleus("a"), satellite("b"))
    assert read(text.replace(" )", " )//TT_ERR") + " //TT_ERR\n") == read(text)


def test_byte_order_mark_and_latin() -> None:
    text = root(nucleus("café"), satellite("b"))
    assert read_dis(b"\xef\xbb\xbf" + text.encode(), PATH).edu_texts == ["café", "b"]
    with pytest.warns(CorpusWarning, match="ISO-8859-1"):
        assert read_dis(text.encode("iso-8859-1"), PATH).edu_texts == ["café", "b"]


# Repairs


NUMBERED = """( Root (span 1 2)
    ( Nucleus (leaf 1) (rel2par span) (text _!a_!) )
    ( Satellite (leaf 2) (rel2par result) (text _!b_!) ) )"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (NUMBERED.replace("leaf 2", "leaf 7"), 3),
        (NUMBERED.replace("span 1 2", "span 1 9"), 1),
        (NUMBERED.replace("span 1 2", "span one two"), 1),
        (NUMBERED.replace("1 2", "5 6").replace("leaf 1", "leaf 5").replace("leaf 2", "leaf 6"), 2),
    ],
)
def test_wrong_numbers_are_counted_again_with_one_warning(text: str, line: int) -> None:
    with pytest.warns(CorpusWarning) as caught:
        document = read(text)
    assert document.tree == Unit("result", "NS", (Leaf(0), Leaf(1)))
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"{PATH}:{line}: (")


def test_unary_nodes_collapse_with_one_warning() -> None:
    inner = f"( Satellite (rel2par result) ( Nucleus (rel2par span) {nucleus('b')} ) )"
    with pytest.warns(CorpusWarning, match="one child") as caught:
        document = read(root(nucleus("a"), inner))
    assert len(caught) == 1
    assert document.tree == Unit("result", "NS", (Leaf(0), Leaf(1)))


def test_a_root_around_one_leaf_collapses() -> None:
    with pytest.warns(CorpusWarning, match="one child"):
        assert read(root(nucleus("a"))).tree == Leaf(0)


# Errors

A, B = nucleus("a"), satellite("b")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "must hold a tree"),
        (" \n\n", 1, "must hold a tree"),
        ("( Root (span 1 2)\n" + A + "\n" + B, 1, "before Root is never closed"),
        (root(A, B) + "\n)", 2, "nothing may follow the tree"),
        (root(A, B) + "\n" + root(A, B), 2, "nothing may follow the tree"),
        (root(A, B) + "\n\nend", 3, "nothing may follow the tree, got 'end'"),
        (")", 1, "unmatched \\)"),
        ("hello", 1, "expected a bracket, got 'hello'"),
        ("(", 1, "followed by Root, got 'the end of the file'"),
        (A, 1, "followed by Root, got 'Nucleus'"),
        ("(span 1 2)", 1, "followed by Root, got 'span'"),
        (root(A, "\n" + root(A, B)), 2, "followed by Nucleus, Satellite, span"),
        (root(A, "\n( Nukleus (text _!b_!) )"), 2, "got 'Nukleus'"),
        (root(A, "\n( Satellite (rel2par x) (text _!b_) )"), 2, "must end with _!"),
        (root(A, "\n( Satellite (rel2par x) (text _!b) )") + A, 2, "must end with _!"),
        (root(A, "\n( Satellite (rel2par x) (text b) )"), 2, r"expected \(text _!…_!\), got"),
        (root(A, "\n( Satellite (rel2par x) (text _!b_! _!c_!) )"), 2, r"expected \(text _!…_!\), got"),
        (root(A, "\n( Satellite (rel2par x) (text _!b_!) (text _!c_!) )"), 2, "only one text; this is the second"),
        (root(A, "\n( Satellite (rel2par) (text _!b_!) )"), 2, r"expected \(rel2par …\), got"),
        (root(A, "\n( Satellite (rel2par _!x_!) (text _!b_!) )"), 2, r"expected \(rel2par …\), got"),
        (root(A, "\n( Satellite (leaf 2) (text _!b_!) )"), 2, r"Satellite must have a relation, \(rel2par …\)"),
        (root(A, "\n( Nucleus (leaf 2) (text _!b_!) )"), 2, r"Nucleus must have a relation"),
        (root(A, "\n( Satellite (leaf 2) (rel2par x) )"), 2, "must have either a text.* or children, got neither"),
        (root(A, f"\n( Satellite (text _!b_!) {A} )"), 2, "got both"),
        (root("( Satellite (rel2par x) (text _!a_!) )", B), 1, "Root must have a Nucleus"),
        (root(A, B).replace(" ( Nucleus", " junk ( Nucleus"), 1, "expected a bracket, got 'junk'"),
    ],
)
def test_errors_name_the_line_and_what_is_expected(text: str, line: int, message: str) -> None:
    with pytest.raises(CorpusFormatError, match=message) as caught:
        read(text)
    assert (caught.value.path, caught.value.line) == (PATH, line)


def test_without_its_tree_only_brackets_and_texts_matter() -> None:
    document = read(root("( Satellite (text _!a_!) )", "( Satellite (text _!b_!) )"), with_tree=False)
    assert document.tree is None
    assert document.edu_texts == ["a", "b"]
    with pytest.raises(CorpusFormatError):
        read("( Root (text _!a_!)", with_tree=False)


@pytest.mark.parametrize("edu", ["what_!?", "the <P>", "it <P> rained", "<s>x</s>", "<EDU>", "<s> x", "_!"])
def test_markup_in_a_text_cannot_be_written(edu: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"with <s> or <EDU>, got {edu!r}")):
        write_dis(Document.from_edus("odd", ["a", edu, "c"], deep_tree(2)))


@pytest.mark.parametrize("edu", ["it < P> rained", "a<s>b", "_ !", "_", "!", "<P", "//TT_ERR", "(text _", ") ("])
def test_what_only_looks_like_markup_is_kept(edu: str) -> None:
    document = Document.from_edus("rain", ["a", edu, "c"], deep_tree(2), {2})
    assert read(write_dis(document)) == document


@pytest.mark.parametrize("name", ["cause(1)", "a_!b", "", " cause", "a  b", "a\tb", ")", "(" * 100_000])
def test_names_that_cannot_be_written(name: str) -> None:
    document = Document.from_edus("odd", ["a", "b"], Unit(name, "NS", (Leaf(0), Leaf(1))))
    with pytest.raises(UsageError, match=r"^odd: to be written as \.dis, the name of a relation .*, got '") as caught:
        write_dis(document)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["volitional cause", "_", "//TT_ERR", "a_", "Root", "span"])
def test_odd_names_are_kept(name: str) -> None:
    document = Document.from_edus("rain", ["a", "b"], Unit(name, "NS", (Leaf(0), Leaf(1))))
    assert read(write_dis(document)) == document


def test_a_document_without_a_tree_cannot_be_written() -> None:
    with pytest.raises(UsageError, match="must have a tree to be written as"):
        write_dis(Document.from_edus("flat", ["a", "b"]))


@pytest.mark.parametrize("text", [root(A, B) + " " * 500_000, root(nucleus("<s>" * 200_000 + "a"), B)])
def test_long_oddities_take_linear_time(text: str) -> None:
    # About 0.1 s each; a quadratic reader would need minutes.
    assert read(text).edu_texts == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["(" * 500_000, "( Root " * 200_000, "_!" * 250_001, "( Root " + "( Nucleus " * 200_000]
)
def test_long_nonsense_takes_linear_time(text: str) -> None:
    with pytest.raises(CorpusFormatError):
        read(text)


def test_several_nuclei_called_span_cannot_be_written() -> None:
    """The reader would call them something else."""
    tree = Unit("span", "NN", (Leaf(0), Leaf(1)))
    with pytest.raises(
        UsageError, match=r"^odd: to be written as .dis, only a lone nucleus may be called span, got one of 2 nuclei$"
    ):
        write_dis(Document.from_edus("odd", ["a", "b"], tree))
