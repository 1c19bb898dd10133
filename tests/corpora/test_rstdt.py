"""RST-DT in the LDC's layout: trees paired with their texts, and splits that never change."""

import random
from pathlib import Path

import pytest

from genrst.corpora import rstdt
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import CorpusFormatError, UsageError
from genrst.formats.dis import read_dis
from tests.miniatures import write_rstdt

TRAINING = "RSTtrees-WSJ-main-1.0/TRAINING"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_rstdt(tmp_path / "rstdt")


def names(folder: Path, split: str | None) -> list[str]:
    return [document.id for document in load_corpus(folder, "rstdt", split)]


def test_documents_have_the_text_beside_them(folder: Path):
    documents = {document.id: document for document in load_corpus(folder)}
    assert len(documents) == 33
    assert {"file1", "file2", "wsj_0601.out", "wsj_0631.out"} <= documents.keys()
    for name, document in documents.items():
        path = next(folder.rglob(f"{name}.dis"))
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


def test_splits_are_disjoint_and_complete(folder: Path):
    train, dev, test = (names(folder, split) for split in rstdt.SPLITS)
    assert (len(train), len(dev), len(test)) == (27, 3, 3)
    assert sorted(train + dev) == sorted(path.stem for path in (folder / TRAINING).glob("*.dis"))
    assert not set(train) & set(dev)
    assert sorted([*train, *dev]) + test == names(folder, None)
    assert train == sorted(train)


def test_the_development_set_is_always_the_same():
    files = [Path(f"wsj_{number:04}.out.dis") for number in range(601, 948)]
    train, dev = rstdt.split_training(files)
    assert (len(files), len(train), len(dev)) == (347, 322, 25)
    assert sorted([*train, *dev]) == files
    random.seed(7)
    assert rstdt.split_training(list(files)) == (train, dev)
    # Wherever the corpus lies, and whatever else was drawn before: a change here would change every score.
    elsewhere = rstdt.split_training([Path("/other/place") / file for file in files])
    assert [file.name for file in elsewhere[1]] == [str(file) for file in dev]
    assert [file.name[4:8] for file in dev[:4]] == ["0617", "0637", "0680", "0683"]


@pytest.mark.parametrize(("n_files", "n_dev"), [(0, 0), (9, 0), (10, 1), (249, 24), (250, 25), (347, 25), (1000, 25)])
def test_sizes_of_the_development_set(n_files: int, n_dev: int):
    files = [Path(f"{number:04}.dis") for number in range(n_files)]
    train, dev = rstdt.split_training(files)
    assert (len(train), len(dev)) == (n_files - n_dev, n_dev)


@pytest.mark.parametrize("below", ["", "data", "rst_discourse_treebank/data"])
def test_the_corpus_is_found_below_the_root_of_the_release(tmp_path: Path, below: str):
    write_rstdt(tmp_path / below, n_training=3, n_test=1)
    assert len(load_corpus(tmp_path, split="train")) == 3
    main = tmp_path / below / "RSTtrees-WSJ-main-1.0"
    assert load_corpus(main).name == "rstdt"
    assert len(load_corpus(main)) == 4


def test_a_text_that_differs_is_an_error_with_both_sides(folder: Path):
    path = next((folder / TRAINING).glob("wsj_0601.out"))
    content = path.read_text(encoding="utf-8")
    word = content.split()[2]
    path.write_text(content.replace(word, "CHANGED", 1), encoding="utf-8")
    with pytest.raises(CorpusFormatError) as caught:
        list(load_corpus(folder))
    message = str(caught.value)
    assert message.startswith(f"{path}: EDU ")
    there, found = message.split(", was: ")
    assert "CHANGED" in there
    assert word in found


def test_a_text_that_goes_on_is_an_error(folder: Path):
    path = folder / TRAINING / "file1"
    path.write_text(path.read_text(encoding="utf-8") + "and so on\n", encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"file1: the text must end with EDU \d+ of \d+, was: .*and so on"):
        list(load_corpus(folder))


def test_trees_without_a_text_are_read_alone(folder: Path):
    (folder / TRAINING / "file1").unlink()
    document = next(iter(load_corpus(folder)))
    assert (document.id, document.sentences) == ("file1", ())


def test_unknown_splits_and_other_folders(folder: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="a split of RST-DT must be one of train, dev, test, was: 'tune'"):
        load_corpus(folder, split="tune")
    with pytest.raises(UsageError, match="RST-DT must have folders TRAINING and TEST, here or in RSTtrees-WSJ"):
        load_corpus(tmp_path / "rstdt" / TRAINING, "rstdt")
