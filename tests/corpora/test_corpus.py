"""Corpora are recognised by their folders and read as they are asked for."""

import re
from collections import Counter
from pathlib import Path

import pytest

from genrst.corpora.corpus import CORPORA, Corpus, load_corpus
from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusNotFoundError, CorpusWarning, UsageError
from genrst.formats.files import write
from tests.miniatures import (
    right_branching,
    write_amalgum,
    write_disrpt,
    write_gcdt,
    write_gum,
    write_pcc,
    write_prstc,
    write_rrt,
    write_rstdt,
)


def write_files(folder: Path) -> Path:
    for name in ("train/b.json", "train/a.rs3", "dev/c.dis", "d.rs4"):
        write(Document.from_edus(Path(name).stem, ["x", "y"], right_branching(2)), folder / name)
    return folder


WRITERS = {
    "gum": write_gum,
    "rstdt": write_rstdt,
    "amalgum": write_amalgum,
    "pcc": write_pcc,
    "gcdt": write_gcdt,
    "rrt": write_rrt,
    "prstc": write_prstc,
    "disrpt": write_disrpt,
    "files": write_files,
}


@pytest.mark.parametrize("name", CORPORA)
def test_corpora_are_recognised(tmp_path: Path, name: str):
    folder = WRITERS[name](tmp_path / "corpus")
    corpus = load_corpus(str(folder))
    assert (corpus.name, corpus.split) == (name, None)
    documents = list(corpus)
    assert documents == list(corpus)
    assert all(count == 1 for count in Counter(document.id for document in documents).values())
    assert all(document.tree is not None for document in documents) == (name != "disrpt")
    assert list(load_corpus(folder, name)) == documents


@pytest.mark.parametrize("name", CORPORA)
def test_splits_are_parts_of_the_whole(tmp_path: Path, name: str):
    folder = WRITERS[name](tmp_path / "corpus")
    splits = {"amalgum": ["train"], "files": ["train", "dev"], "disrpt": ["train", "dev"]}.get(
        name, ["train", "dev", "test"]
    )
    parts = [document.id for split in splits for document in load_corpus(folder, split=split)]
    whole = [document.id for document in load_corpus(folder)]
    assert sorted(parts) == sorted(id for id in whole if id != "d")


def test_plain_folders_and_files(tmp_path: Path):
    folder = write_files(tmp_path / "corpus")
    assert [document.id for document in load_corpus(folder)] == ["d", "c", "a", "b"]
    assert [document.id for document in load_corpus(folder / "d.rs4")] == ["d"]
    assert [document.id for document in load_corpus(folder, split="train")] == ["a", "b"]
    with pytest.raises(
        CorpusNotFoundError, match="test: no such folder; a split of a plain folder is a subfolder of that name"
    ):
        load_corpus(folder, split="test")
    with pytest.raises(CorpusNotFoundError, match="train: no such folder; a split of a plain folder"):
        load_corpus(folder / "d.rs4", split="train")


def test_documents_are_read_when_asked_for(tmp_path: Path):
    folder = write_files(tmp_path / "corpus")
    (folder / "z.json").write_text("broken", encoding="utf-8")
    corpus = load_corpus(folder)
    assert len(corpus) == 5
    documents = iter(corpus)
    assert [next(documents).id for _ in range(4)] == ["d", "c", "a", "b"]
    with pytest.raises(CorpusFormatError, match=r"z\.json:1: invalid JSON"):
        next(documents)


def test_files_that_cannot_be_read_are_skipped_on_request(tmp_path: Path):
    folder = write_files(tmp_path / "corpus")
    (folder / "aa.json").write_text("broken", encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"aa\.json:1: "):
        list(load_corpus(folder, "files"))
    with pytest.warns(CorpusWarning, match=r"aa\.json:1: invalid JSON.*; skipped"):
        assert [document.id for document in load_corpus(folder, skip_bad=True)] == ["d", "c", "a", "b"]


def test_documents_in_several_formats_count_once(tmp_path: Path):
    folder = write_files(tmp_path / "corpus")
    for name in ("dis/a.dis", "json/a.json", "dis/b.dis", "copy/a.rs3"):
        write(Document.from_edus(Path(name).stem, ["x", "y"], right_branching(2)), folder / name)
    with pytest.warns(CorpusWarning, match="corpus/: 3 files were left out: dis/a.dis, json/a.json, train/b.json"):
        corpus = load_corpus(folder)
    assert sorted(str(source.args[0].relative_to(folder)) for source in corpus.sources) == [  # type: ignore[attr-defined]
        *("copy/a.rs3", "d.rs4", "dev/c.dis", "dis/b.dis", "train/a.rs3")
    ]


def test_a_length_counts_files():
    corpus = Corpus("files", None, (lambda: [], lambda: [Document.from_edus("a", ["x"])] * 3))
    assert (len(corpus), len(list(corpus))) == (2, 3)


def test_roots_are_passed_on(tmp_path: Path):
    places = ('id="1" parent="2" relname="x"', 'id="2"', 'id="3"')
    segments = "".join(f"<segment {place}>a</segment>" for place in places)
    path = tmp_path / "two.rs3"
    path.write_text(f"<rst><header/><body>{segments}</body></rst>", encoding="utf-8")
    with pytest.raises(CorpusFormatError, match=r"two\.rs3"):
        list(load_corpus(path))
    (document,) = load_corpus(path, roots="join")
    assert document.tree is not None


def test_what_is_no_corpus(tmp_path: Path):
    with pytest.raises(CorpusNotFoundError, match="nowhere: no such file or folder"):
        load_corpus(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=f"a corpus must be one of {', '.join(CORPORA)}, got 'ptb'"):
        load_corpus(tmp_path, "ptb")
    with pytest.raises(CorpusNotFoundError, match="the folder has no files with trees"):
        load_corpus(tmp_path)
    with pytest.raises(
        CorpusNotFoundError, match="not a folder of gum; it must have rst/rstweb and dep or rs4 and conllu"
    ):
        load_corpus(tmp_path, "gum")


def test_splits_without_documents(tmp_path: Path):
    folder = write_rstdt(tmp_path / "corpus", n_training=9, n_test=1)
    with pytest.raises(CorpusNotFoundError, match="rstdt has no documents in split 'dev'"):
        load_corpus(folder, split="dev")
    folder = write_gum(tmp_path / "gum")
    (folder / "splits.tsv").write_text("doc\tsplit\ttext\n", encoding="utf-8")
    with pytest.raises(CorpusNotFoundError, match=re.escape(f"{folder}: gum has no documents in split None")):
        load_corpus(folder)
