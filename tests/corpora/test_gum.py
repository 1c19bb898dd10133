"""GUM: two files a document, splits of two releases; and the corpus itself, where it is at hand."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from genrst.corpora import gum
from genrst.corpora.conllu import read_conllu
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, Span
from genrst.errors import CorpusFormatError, CorpusNotFoundError, UsageError
from genrst.formats.dis import read_dis, write_dis
from genrst.formats.json_format import read_json, write_json
from genrst.formats.rs3_reader import read_rs3
from genrst.trees.binarise import binarise
from tests.miniatures import HARBOR_TEXT, HARBOR_TREE, write_gum


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_gum(tmp_path / "gum")


def ids(folder: Path, split: str | None, version: str = "11.1", with_textless: bool = False) -> list[str]:
    return [document.id for document in load_corpus(folder, None, split, version=version, with_textless=with_textless)]


def test_a_document_joins_tree_and_text(folder: Path):
    document = gum.read_document(folder, "GUM_news_harbor")
    assert (document.id, document.text, document.tree) == ("GUM_news_harbor", HARBOR_TEXT, HARBOR_TREE)
    assert document.edu_texts == ["The Old Harbor", "Ada's boat sank,", "but she didn't drown.", "Really?"]
    assert document.sentence_of_edus() == [0, 1, 1, 2]
    assert document.paragraph_of_edus() == [0, 1, 1, 1]
    assert [sentence.label for sentence in document.sentences] == ["", "Ada", "Ben"]
    assert Span(0, 14, "place") in document.entities
    assert (len(document.tokens), len(document.signals), len(document.secondary_edges)) == (16, 1, 1)
    assert document.metadata == {"genre": "news"}


def test_edus_slice_the_words_of_the_tree_file(folder: Path):
    for document in load_corpus(folder):
        path = folder / "rs4" / f"{document.id}.rs4"
        words = [text.split() for text in read_rs3(path.read_bytes(), path).edu_texts]
        assert [text.replace(" ", "") for text in document.edu_texts] == ["".join(edu) for edu in words]
        starts = [token.start for token in document.tokens]
        assert [edu.start for edu in document.edus] == [starts[sum(map(len, words[:n]))] for n in range(len(words))]


def test_splits(folder: Path):
    assert ids(folder, "train") == ["GUM_news_harbor"]
    assert ids(folder, "train", with_textless=True) == ["GUM_news_harbor", "GUM_reddit_cats"]
    assert ids(folder, "dev") == ["GUM_fiction_lamp"]
    assert ids(folder, "test") == ["GUM_court_ferry", "GUM_essay_moss"]
    assert ids(folder, None) == ["GUM_news_harbor", "GUM_fiction_lamp", "GUM_court_ferry", "GUM_essay_moss"]
    assert len(ids(folder, None, with_textless=True)) == 5


def test_a_renamed_document_is_found_by_its_new_name(folder: Path):
    assert "GUM_conversation_ferry\ttest\tyes\tGUM_court_ferry" in (folder / "splits_v9.1.tsv").read_text()
    assert ids(folder, "test", "9.1") == ["GUM_court_ferry"]
    assert len(ids(folder, None, "9.1", with_textless=True)) == 4


def test_words_of_textless_documents_are_underscores(folder: Path):
    document = gum.read_document(folder, "GUM_reddit_cats")
    assert set(document.edu_texts) == {"___ ___"}


def test_unknown_splits_and_versions(folder: Path):
    with pytest.raises(UsageError, match="a split of GUM must be one of train, dev, test, was: 'tune'"):
        gum.sources(folder, "tune")
    with pytest.raises(UsageError, match=re.escape("a version of GUM must be one of 11.1, 9.1, was: '8'")):
        gum.sources(folder, "dev", version="8")


def test_names_without_a_genre_and_lists_without_new_names(folder: Path):
    for part, suffix in (("rs4", "rs4"), ("conllu", "conllu")):
        (folder / part / f"GUM_news_harbor.{suffix}").rename(folder / part / f"harbor.{suffix}")
    (folder / "splits.tsv").write_text("doc\tsplit\ttext\tv11_name\nharbor\tdev\tyes\t\n", encoding="utf-8")
    (document,) = load_corpus(folder)
    assert (document.id, document.metadata) == ("harbor", {})


@pytest.mark.parametrize("name", ["splits.tsv", "rs4/GUM_fiction_lamp.rs4", "conllu/GUM_fiction_lamp.conllu"])
def test_missing_files(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(CorpusNotFoundError, match=re.escape(str(folder / name))):
        list(load_corpus(folder, split="dev"))


@pytest.mark.parametrize("content", ["", "doc,split,text\na,dev,yes\n", "doc\tsplit\nGUM_fiction_lamp\tdev\n"])
def test_lists_without_the_columns(folder: Path, content: str):
    (folder / "splits.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"splits.tsv:1: the first line must name the columns doc, split, text"):
        load_corpus(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tDiscourse=adversative-contrast_m:3->2", "\t_", "was: 3 EDUs, 16 words; they differ first at EDU 2"),
        ("\tEntity=3)", "\tDiscourse=x", "was: 5 EDUs, 16 words; they differ first at EDU 2"),
        ("2\t?\t_\t_\t.\t_\t1\tpunct\t_\t_\n", "", "was: 4 EDUs, 15 words; they differ first at EDU 4"),
        ("|Discourse=evaluation-comment:4->2", "", "was: 3 EDUs, 16 words; they differ first at EDU 3"),
        ("Discourse=", "Course=", "was: 1 EDUs, 16 words; they differ first at EDU 1"),
    ],
)
def test_words_must_be_those_of_the_tree(folder: Path, old: str, new: str, message: str):
    path = folder / "conllu" / "GUM_news_harbor.conllu"
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new), encoding="utf-8")
    with pytest.raises(CorpusFormatError) as caught:
        gum.read_document(folder, "GUM_news_harbor")
    start = f"{path}: EDUs must have the same words as the tree file (4 EDUs, 16 words), "
    assert str(caught.value) == start + message


def test_words_after_the_last_edu_of_the_tree(folder: Path):
    path = folder / "conllu" / "GUM_news_harbor.conllu"
    extra = "1\tEnd\t_\t_\tX\t_\t0\troot\t_\tDiscourse=x\n"
    path.write_text(path.read_text(encoding="utf-8") + extra, encoding="utf-8")
    with pytest.raises(CorpusFormatError, match="was: 5 EDUs, 17 words; they differ first at EDU 5"):
        gum.read_document(folder, "GUM_news_harbor")


def test_the_first_word_starts_an_edu_also_unmarked(folder: Path):
    path = folder / "conllu" / "GUM_news_harbor.conllu"
    content = path.read_text(encoding="utf-8").replace("Discourse=organization-heading:1->2|", "")
    path.write_text(content, encoding="utf-8")
    assert gum.read_document(folder, "GUM_news_harbor").edu_texts[0] == "The Old Harbor"


COUNTS = {
    ("11.1", "train"): ((191, 24756, 190161, 10910), (177, 23013, 177410, 10224)),
    ("11.1", "dev"): ((32, 3897, 29874, 1679), (30, 3634, 28119, 1575)),
    ("11.1", "test"): ((32, 3775, 30255, 1569), (30, 3518, 28397, 1464)),
    ("9.1", "train"): ((165, 20822, 160622, 9233), (151, 19079, 147871, 8547)),
    ("9.1", "dev"): ((24, 2793, 21397, 1221), (22, 2530, 19642, 1117)),
    ("9.1", "test"): ((24, 2740, 21763, 1201), (22, 2483, 19905, 1096)),
}
"""By version and split: documents, EDUs, tokens and sentences, with and without Reddit."""


@pytest.mark.slow
@pytest.mark.corpus
def test_all_documents_load_with_their_words(corpora: Path):
    """One test, not several, because reading the corpus takes seconds."""
    folder = corpora / "gum"
    documents = {document.id: document for document in load_corpus(folder, with_textless=True)}
    assert len(documents) == 255
    for document in documents.values():
        check_words(document, folder / "conllu" / f"{document.id}.conllu")
    for (version, split), (with_reddit, without_reddit) in COUNTS.items():
        corpus = load_corpus(folder, "gum", split, version=version, with_textless=True)
        names = [source.args[1] for source in corpus.sources]  # type: ignore[attr-defined]
        assert count(documents[name] for name in names) == with_reddit
        assert count(documents[name] for name in names if "reddit" not in name) == without_reddit
        n_with_text = len(gum.sources(folder, split, version=version))
        assert n_with_text == without_reddit[0]


def count(documents: Iterable[Document]) -> tuple[int, ...]:
    rows = [(1, len(document.edus), len(document.tokens), len(document.sentences)) for document in documents]
    return tuple(map(sum, zip(*rows, strict=True)))


def check_words(document: Document, path: Path) -> None:
    """Every token has the characters of its line, and EDUs have all of them."""
    assert document.text is not None
    assert document.tree is not None
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line[:1].isdigit()]
    forms = [row[1] for row in rows if row[0].isdigit()]
    assert [document.text[token.start : token.end] for token in document.tokens] == forms
    assert "".join("".join(document.edu_texts).split()) == "".join(document.text.split())
    assert all(edu == edu.strip() and "\n" not in edu for edu in document.edu_texts)


@pytest.mark.slow
@pytest.mark.corpus
def test_sentences_are_those_of_the_comments(corpora: Path):
    for path in sorted(corpora.glob("gum/conllu/GUM_[a-e]*.conllu")):
        annotated = read_conllu(path.read_bytes(), path)
        expected = re.findall(r"^# text = (.*?) *$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert [annotated.text[sentence.start : sentence.end] for sentence in annotated.sentences] == expected


@pytest.mark.slow
@pytest.mark.corpus
@pytest.mark.filterwarnings("ignore::genrst.errors.CorpusWarning")
def test_trees_survive_brackets_and_json(corpora: Path):
    """For `.rs3` and `.rs4` see `test_rs3_corpora`."""
    for path in sorted(corpora.glob("gum/rs4/*.rs4")):
        document = read_rs3(path.read_bytes(), path)
        assert document.tree is not None
        there_and_back = [
            read_dis(write_dis(document).encode(), path),
            *read_json(write_json(document).encode(), path),
        ]
        assert [other.tree for other in there_and_back] == [document.tree] * 2
        assert there_and_back[1] == document
        assert len({tuple(other.edu_texts) for other in there_and_back}) == 1


@pytest.mark.corpus
def test_binary_trees_are_those_of_the_release(corpora: Path):
    paths = sorted(corpora.glob("gum/dis_binary/*.dis"))
    assert len(paths) == 5
    for path in paths:
        tree = gum.read_document(corpora / "gum", path.stem).tree
        assert tree is not None
        assert binarise(tree) == read_dis(path.read_bytes(), path).tree
