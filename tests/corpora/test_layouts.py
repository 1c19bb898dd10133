"""Corpora as they are published, by miniatures in their layouts; and GUM itself, where it is at hand."""

import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from genrst.corpora.conllu import read_conllu
from genrst.corpora.corpus import load_corpus
from genrst.corpora.layouts import LAYOUTS, SPLITS, CorpusLayout, FoundCorpus, find_corpus
from genrst.document import Document, Span
from genrst.errors import CorpusFormatError, CorpusNotFoundError, CorpusWarning, InputError, UsageError
from genrst.formats.dis import read_dis, write_dis
from genrst.formats.json_format import read_json, write_json
from genrst.formats.rs3_reader import VIRTUAL_ROOT, read_rs3
from genrst.trees.node import Leaf, Unit
from tests.miniatures import (
    AMALGUM_TEXT,
    HARBOR_TEXT,
    HARBOR_TREE,
    write_amalgum_clone,
    write_disrpt,
    write_gcdt,
    write_gum,
    write_gum_clone,
    write_pcc,
    write_prstc,
    write_rrt,
    write_rstdt,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_gum(tmp_path / "gum")


def ids(folder: Path, split: str | None, version: str = "11.1", with_textless: bool = False) -> list[str]:
    return [document.id for document in load_corpus(folder, None, split, version=version, with_textless=with_textless)]


def read_document(folder: Path, name: str) -> Document:
    opened = find_corpus(folder)
    assert opened is not None
    path = next(path for path in opened.files(None) if path.stem == name)
    (document,) = opened.read(path, "error", with_textless=True)
    return document


# GUM


@pytest.mark.parametrize("write", [write_gum, write_gum_clone])
def test_a_document_joins_tree_and_text(tmp_path: Path, write: Callable[[Path], Path]):
    document = read_document(write(tmp_path / "gum"), "GUM_news_harbor")
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
    document = read_document(folder, "GUM_reddit_cats")
    assert set(document.edu_texts) == {"___ ___"}


def test_unknown_splits_and_versions(folder: Path):
    with pytest.raises(UsageError, match="a split of gum must be one of train, dev, test, got 'tune'"):
        load_corpus(folder, split="tune")
    with pytest.raises(UsageError, match=re.escape("a version of gum must be one of 11.1, 9.1, got '8'")):
        load_corpus(folder, version="8")


def test_a_clone_of_gum(folder: Path, tmp_path: Path):
    clone = write_gum_clone(tmp_path / "clone")
    for split in SPLITS:
        assert ids(clone, split) == ids(folder, split)
        assert list(load_corpus(clone, split=split)) == list(load_corpus(folder, split=split))
    assert ids(clone, "test2") == ["GENTLE_poetry_tide"]
    assert len(ids(clone, None)) == 5
    assert len(ids(clone, None, with_textless=True)) == 6
    with pytest.raises(UsageError, match="must be one of train, dev, test, test2, got 'tune'"):
        load_corpus(clone, split="tune")
    # Older releases have .rs3 files.
    for path in (clone / "rst" / "rstweb").iterdir():
        path.rename(path.with_suffix(".rs3"))
    assert len(ids(clone, None)) == 5


def test_the_list_of_an_older_version_is_built_in(tmp_path: Path):
    clone = write_gum_clone(tmp_path / "clone")
    opened = find_corpus(clone)
    assert opened is not None
    assert [len(opened.files(split, "9.1")) for split in SPLITS] == [165, 24, 24]
    names = {path.stem for path in opened.files(None, "9.1")}
    assert "GUM_court_carpet" in names
    # In a clone of that version the document has its old name.
    for part, suffix in (("rst/rstweb", "rs4"), ("dep", "conllu")):
        old = clone / part / f"GUM_conversation_court.{suffix}"
        (clone / part / f"GUM_news_harbor.{suffix}").rename(old)
    assert "GUM_conversation_court" in {path.stem for path in opened.files("train", "9.1")}


def test_names_without_a_genre_and_lists_without_new_names(folder: Path):
    for part, suffix in (("rs4", "rs4"), ("conllu", "conllu")):
        (folder / part / f"GUM_news_harbor.{suffix}").rename(folder / part / f"harbor.{suffix}")
    (folder / "splits.tsv").write_text("doc\tsplit\ttext\tv11_name\nharbor\tdev\tyes\t\n", encoding="utf-8")
    (document,) = load_corpus(folder)
    assert (document.id, document.metadata) == ("harbor", {})


@pytest.mark.parametrize("name", ["splits.tsv", "rs4/GUM_fiction_lamp.rs4", "conllu/GUM_fiction_lamp.conllu"])
def test_missing_files(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(InputError, match=re.escape(str(folder / name))):
        list(load_corpus(folder, split="dev"))


@pytest.mark.parametrize("content", ["", "doc,split,text\na,dev,yes\n", "doc\nGUM_fiction_lamp\n"])
def test_lists_without_the_columns(folder: Path, content: str):
    (folder / "splits.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"splits.tsv:1: the first line must name the columns doc, split"):
        load_corpus(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tDiscourse=adversative-contrast_m:3->2", "\t_", "got 3 EDUs, 16 words; the first difference is at EDU 2"),
        ("\tEntity=3)", "\tDiscourse=x", "got 5 EDUs, 16 words; the first difference is at EDU 2"),
        ("2\t?\t_\t_\t.\t_\t1\tpunct\t_\t_\n", "", "got 4 EDUs, 15 words; the first difference is at EDU 4"),
        ("|Discourse=evaluation-comment:4->2", "", "got 3 EDUs, 16 words; the first difference is at EDU 3"),
    ],
)
def test_words_must_be_those_of_the_tree(folder: Path, old: str, new: str, message: str):
    path = folder / "conllu" / "GUM_news_harbor.conllu"
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new), encoding="utf-8")
    with pytest.raises(CorpusFormatError) as caught:
        read_document(folder, "GUM_news_harbor")
    start = f"{path}: EDUs must have the same words as the tree file (4 EDUs, 16 words), "
    assert str(caught.value) == start + message


def test_words_after_the_last_edu_of_the_tree(folder: Path):
    path = folder / "conllu" / "GUM_news_harbor.conllu"
    extra = "1\tEnd\t_\t_\tX\t_\t0\troot\t_\tDiscourse=x\n"
    path.write_text(path.read_text(encoding="utf-8") + extra, encoding="utf-8")
    with pytest.raises(CorpusFormatError, match="got 5 EDUs, 17 words; the first difference is at EDU 5"):
        read_document(folder, "GUM_news_harbor")


def test_the_first_word_starts_an_edu_also_unmarked(folder: Path):
    path = folder / "conllu" / "GUM_news_harbor.conllu"
    content = path.read_text(encoding="utf-8").replace("Discourse=organization-heading:1->2|", "")
    path.write_text(content, encoding="utf-8")
    assert read_document(folder, "GUM_news_harbor").edu_texts[0] == "The Old Harbor"


# RST-DT

TRAINING = "RSTtrees-WSJ-main-1.0/TRAINING"


@pytest.fixture
def rstdt(tmp_path: Path) -> Path:
    return write_rstdt(tmp_path / "rstdt")


def names(folder: Path, split: str | None) -> list[str]:
    return [document.id for document in load_corpus(folder, "rstdt", split)]


def test_documents_have_the_text_beside_them(rstdt: Path):
    documents = {document.id: document for document in load_corpus(rstdt)}
    assert len(documents) == 33
    assert {"file1", "file2", "wsj_0601.out", "wsj_0631.out"} <= documents.keys()
    for name, document in documents.items():
        path = next(rstdt.rglob(f"{name}.dis"))
        from_tree = read_dis(path.read_bytes(), path)
        check_text(document, from_tree, path.with_suffix("").read_text(encoding="utf-8"))


def check_text(document: Document, from_tree: Document, text: str) -> None:
    """The words are those of the tree, their offsets, sentences and paragraphs those of the text."""
    assert (document.text, document.tree) == (text, from_tree.tree)
    assert document.edu_texts == from_tree.edu_texts
    assert text != from_tree.text
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert [text[sentence.start : sentence.end] for sentence in document.sentences] == lines
    blocks = [block.strip() for block in text.split("\n\n") if block.strip()]
    assert [text[paragraph.start : paragraph.end] for paragraph in document.paragraphs] == blocks
    sentences = [document.edu_texts[n] for n, s in enumerate(document.sentence_of_edus()) if s == 0]
    assert " ".join(sentences) == lines[0]
    assert document.paragraph_of_edus() == from_tree.paragraph_of_edus()


def test_splits_are_disjoint_and_complete(rstdt: Path):
    train, dev, test = (names(rstdt, split) for split in SPLITS)
    assert (len(train), len(dev), len(test)) == (27, 3, 3)
    assert sorted(train + dev) == sorted(path.stem for path in (rstdt / TRAINING).glob("*.dis"))
    assert not set(train) & set(dev)
    assert sorted([*train, *dev]) + test == names(rstdt, None)
    assert train == sorted(train)


def draw(names: list[str]) -> tuple[list[str], list[str]]:
    """Training and development documents of an RST-DT that has these in TRAINING."""
    layout = next(layout for layout in LAYOUTS if layout.name == "rstdt")
    opened = FoundCorpus(layout, Path("anywhere"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            FoundCorpus, "_find", lambda self, patterns: [Path(name) for name in names if "TRAIN" in patterns[0]]
        )
        return [path.name for path in opened.files("train")], [path.name for path in opened.files("dev")]


def test_the_development_set_is_always_the_same():
    files = [f"wsj_{number:04}.out.dis" for number in range(601, 948)]
    train, dev = draw(files)
    assert (len(files), len(train), len(dev)) == (347, 322, 25)
    assert sorted([*train, *dev]) == files
    random.seed(7)
    assert draw(files) == (train, dev)
    # Wherever the corpus lies, and whatever else was drawn before: a change here would change every score.
    assert [name[4:8] for name in dev[:4]] == ["0617", "0637", "0680", "0683"]


@pytest.mark.parametrize(("n_files", "n_dev"), [(0, 0), (9, 0), (10, 1), (249, 24), (250, 25), (347, 25), (1000, 25)])
def test_sizes_of_the_development_set(n_files: int, n_dev: int):
    train, dev = draw([f"{number:04}.dis" for number in range(n_files)])
    assert (len(train), len(dev)) == (n_files - n_dev, n_dev)


@pytest.mark.parametrize("below", ["", "data", "rst_discourse_treebank/data"])
def test_the_corpus_is_found_below_the_root_of_the_release(tmp_path: Path, below: str):
    write_rstdt(tmp_path / below, n_training=3, n_test=1)
    assert len(load_corpus(tmp_path, split="train")) == 3
    main = tmp_path / below / "RSTtrees-WSJ-main-1.0"
    assert load_corpus(main).name == "rstdt"
    assert len(load_corpus(main)) == 4


def test_odd_files_are_read_with_a_warning_that_names_them(rstdt: Path):
    folder = rstdt / TRAINING
    whole = {document.id: document for document in load_corpus(rstdt)}

    def change(name: str, old: str, new: str) -> None:
        content = (folder / name).read_text(encoding="utf-8")
        assert old in content
        (folder / name).write_text(content.replace(old, new, 1), encoding="utf-8")

    change("wsj_0601.out", whole["wsj_0601.out"].edu_texts[1], "CHANGED")
    change("wsj_0602.out", "\n\n", "\n")
    (folder / "wsj_0603.out").write_text(f"{whole['wsj_0603.out'].text}and so on\n", encoding="utf-8")
    change("wsj_0604.out.dis", "(text _!", "(text _!<P>")
    change("file1", "\n\n", "\n")
    with pytest.warns(CorpusWarning) as caught:
        odd = {document.id: document for document in load_corpus(rstdt)}
    messages = sorted(str(one.message).removeprefix(f"{folder}/") for one in caught)
    expected = [
        "file1: the paragraphs are taken from the <P> marks of the tree",
        r"wsj_0601.out: EDU \d+ of \d+ must match .*CHANGED.*, got .*; using the text of the tree instead",
        "wsj_0602.out: the paragraphs are taken from the <P> marks of the tree",
        "wsj_0603.out: text after the last EDU is left out: 'and so on'",
        r"wsj_0604.out.dis:\d+: <P> must be at the end of an EDU; removed from '.*'",
    ]
    assert len(messages) == len(expected)
    assert all(map(re.fullmatch, expected, messages))
    for name, document in odd.items():
        assert (document.edu_texts, document.tree) == (whole[name].edu_texts, whole[name].tree)
        assert document.paragraph_of_edus() == whole[name].paragraph_of_edus()


def test_trees_without_a_text_are_read_alone(rstdt: Path):
    (rstdt / TRAINING / "file1").unlink()
    document = next(iter(load_corpus(rstdt)))
    assert (document.id, document.sentences) == ("file1", ())


def test_unknown_splits_and_other_folders(rstdt: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="a split of rstdt must be one of train, dev, test, got 'tune'"):
        load_corpus(rstdt, split="tune")
    with pytest.raises(CorpusNotFoundError, match="TRAINING: not a folder of rstdt; it must have TRAINING and TEST"):
        load_corpus(tmp_path / "rstdt" / TRAINING, "rstdt")


# Others


def test_a_clone_of_amalgum(tmp_path: Path):
    clone = write_amalgum_clone(tmp_path / "clone")
    newt, owl = sorted(load_corpus(clone), key=lambda document: document.id)
    assert (newt.id, owl.id) == ("AMALGUM_bio_newt", "AMALGUM_news_owl")
    assert (owl.text, owl.edu_texts) == (AMALGUM_TEXT, ["Owl returns", "It left,", "so", "Odd!"])
    joint = Unit("joint", "NNN", (Leaf(1), Leaf(2), Leaf(3)))
    assert owl.tree == Unit("organization", "SN", (Leaf(0), joint))
    assert [paragraph.label for paragraph in owl.paragraphs] == ["head", "p"]
    assert [entity.label for entity in owl.entities] == ["animal", "animal"]
    assert owl.metadata == {"genre": "news"}
    with pytest.raises(UsageError, match="a split of amalgum must be one of train, got 'test'"):
        load_corpus(clone, split="test")


@pytest.mark.parametrize("write", [write_pcc, write_rrt, write_prstc])
def test_splits_that_nobody_published_are_drawn(tmp_path: Path, write: Callable[[Path], Path]):
    folder = write(tmp_path / "corpus")
    corpus = load_corpus(folder)
    assert corpus.name == write.__name__.removeprefix("write_")
    everything = [document.id for document in corpus]
    parts = {split: [document.id for document in load_corpus(folder, split=split)] for split in SPLITS}
    assert sorted(name for part in parts.values() for name in part) == sorted(everything)
    assert len(parts["dev"]) == len(parts["test"]) == 2
    # A list beside the corpus counts instead, for example that of DISRPT.
    (folder / "splits.tsv").write_text(f"doc\tsplit\n{everything[3]}\ttest\n", encoding="utf-8")
    assert [document.id for document in load_corpus(folder, split="test")] == [everything[3]]


def test_several_trees_in_a_file_of_rrt_are_joined(tmp_path: Path):
    tree = next(iter(load_corpus(write_rrt(tmp_path / "rrt")))).tree
    assert isinstance(tree, Unit)
    assert tree.relation == VIRTUAL_ROOT


def test_gcdt(tmp_path: Path):
    folder = write_gcdt(tmp_path / "gcdt")
    assert ids(folder, "train") == ["gcdt_bio_mi", "gcdt_news_cha"]
    assert ids(folder, "test") == ["gcdt_bio_an"]
    assert ids(folder / "data", None) == ids(folder, None)
    document = next(iter(load_corpus(folder)))
    assert document.edu_texts == ["猫睡觉，", "狗叫。"]
    assert len(document.tokens) == 6
    assert document.metadata == {"genre": "bio"}


def test_disrpt(tmp_path: Path):
    folder = write_disrpt(tmp_path / "disrpt")
    assert ids(folder, "train") == ["toy_train_1", "toy_train_2"]
    assert ids(folder, "dev") == ["toy_dev_1", "toy_dev_2"]
    for document in load_corpus(folder):
        assert document.tree is None
        assert document.edu_texts == ["It rained", "so we stayed"] * 2
        has_syntax = "train" in document.id
        assert (len(document.tokens), len(document.sentences)) == ((10, 2) if has_syntax else (0, 0))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"Seg=B-seg", b"Conn=B-conn", "toy_train.conllu:1: the first words of EDUs must be marked"),
        (b"# newdoc", b"# olddoc", "toy_train.conllu: every document must start with the comment # newdoc id = NAME"),
        (b"2\train", b"7\train", "toy_train.conllu:4: the next word must be number 2, got 7"),
    ],
)
def test_what_is_wrong_in_files_of_disrpt(tmp_path: Path, old: bytes, new: bytes, message: str):
    folder = write_disrpt(tmp_path / "disrpt")
    path = folder / "eng.rst.toy_train.conllu"
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(CorpusFormatError, match=re.escape(message)):
        list(load_corpus(folder))


def test_corpora_of_connectives_have_no_edus(tmp_path: Path):
    with pytest.raises(CorpusNotFoundError, match="disrpt has no documents in split None"):
        load_corpus(write_disrpt(tmp_path / "disrpt", "eng.pdtb.toy"))


def test_a_corpus_is_an_entry_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write_prstc(tmp_path / "corpus")
    layout = CorpusLayout("mine", ["Corpus"], {"train": ["Corpus/e*.rs3"], "blind": ["Corpus/m*.rs3"]})
    monkeypatch.setattr("genrst.corpora.layouts.LAYOUTS", [layout])
    opened = find_corpus(folder)
    assert opened is not None
    assert (len(opened.files("train")), len(opened.files("blind"))) == (11, 9)


# The corpus itself

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
        names = [source.args[0].stem for source in corpus.sources]  # type: ignore[attr-defined]
        assert count(documents[name] for name in names) == with_reddit
        assert count(documents[name] for name in names if "reddit" not in name) == without_reddit
    assert all(set(documents[name].text or "") <= set("_ \n") for name in documents if "reddit" in name)


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
    """For `.rs3` and `.rs4` see `tests/formats/test_rs3_writer.py`."""
    for path in sorted(corpora.glob("gum/rs4/*.rs4"))[::5]:
        document = read_rs3(path.read_bytes(), path)
        assert document.tree is not None
        there_and_back = [
            read_dis(write_dis(document).encode(), path),
            *read_json(write_json(document).encode(), path),
        ]
        assert [other.tree for other in there_and_back] == [document.tree] * 2
        assert there_and_back[1] == document
        assert len({tuple(other.edu_texts) for other in there_and_back}) == 1
