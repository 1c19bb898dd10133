"""AMALGUM's compact form: classes of relations, damaged files and records, deep trees, and one genre of the corpus."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from genrst.corpora.amalgum import CLASSES, read_genre
from genrst.corpora.corpus import load_corpus
from genrst.corpora.statistics import count
from genrst.document import Document
from genrst.errors import CorpusFormatError, UsageError
from genrst.trees.measures import depth
from genrst.trees.node import Leaf, Unit
from genrst.trees.relations import load_inventory
from tests.miniatures import AMALGUM_TEXT, amalgum_record, write_amalgum, write_records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_amalgum(tmp_path / "amalgum")


def read(path: Path, *records: object) -> list[Document]:
    write_records(path, records)
    return list(read_genre(path))


def test_a_record_by_hand(folder: Path):
    *_, document = load_corpus(folder)
    assert (document.id, document.text) == ("AMALGUM_news_owl", AMALGUM_TEXT)
    assert document.edu_texts == ["Owl returns", "It left,", "so", "Odd!"]
    assert [token.head for token in document.tokens] == [1, 1, 3, 3, 3, 3, 6, 6]
    assert [token.tag for token in document.tokens][:3] == ["NN", "VBZ", "PRP"]
    sentences = [AMALGUM_TEXT[span.start : span.end] for span in document.sentences]
    assert sentences == ["Owl returns", "It left, so", "Odd!"]
    assert [(span.start, span.end, span.label) for span in document.paragraphs] == [(0, 11, "head"), (13, 29, "p")]
    assert document.metadata == {"genre": "news", "licence": "CC0", "part": "balanced"}


def test_relations_become_classes_of_gum(folder: Path):
    first, second, third = load_corpus(folder)
    nuclei = Unit("restatement", "NNN", (Leaf(1), Leaf(2), Leaf(3)))
    assert second.tree == third.tree == Unit("organization", "SN", (Leaf(0), nuclei))
    restatement = Unit("restatement", "SN", (Leaf(0), Leaf(1)))
    # A name that is not known stays.
    assert first.tree == Unit("unknown", "NS", (restatement, Unit("same-unit", "NN", (Leaf(2), Leaf(3)))))
    assert set(CLASSES.values()) <= set(load_inventory("gum").coarse_relations)


def test_genres_come_in_the_order_of_their_names(folder: Path):
    assert [document.id for document in load_corpus(folder)] == ["AMALGUM_bio_a", "AMALGUM_bio_b", "AMALGUM_news_owl"]
    assert len(load_corpus(folder, split="train")) == 2


def test_silver_trees_are_for_training(folder: Path):
    for split in ("dev", "test", "x"):
        with pytest.raises(UsageError, match=f"a split of amalgum must be one of train, got '{split}'"):
            load_corpus(folder, split=split)


def test_one_edu(tmp_path: Path):
    (document,) = read(tmp_path / "a.jsonl.gz", amalgum_record(edus=[[0, 8]], tree=0))
    assert document.tree == Leaf(0)


@pytest.mark.slow
def test_deep_trees(tmp_path: Path):
    n_edus = 3000
    tree: Any = "0"
    for edu in range(1, n_edus):
        tree = f'["restatement","NS",[{tree},{edu}]]'
    tokens = [[["a", "X", 0, "root", 1]] for _ in range(n_edus)]
    edus = [[edu, edu + 1] for edu in range(n_edus)]
    line = json.dumps(amalgum_record(tokens=tokens, edus=edus, tree="TREE")).replace('"TREE"', tree)
    (document,) = read(tmp_path / "a.jsonl.gz", line)
    assert document.tree is not None
    assert depth(document.tree) == n_edus - 1


@pytest.mark.parametrize("damage", ["truncated", "no gzip", "flipped", "empty"])
def test_damaged_files(folder: Path, damage: str):
    path = folder / "news.jsonl.gz"
    content = gzip.compress(json.dumps(amalgum_record()).encode() * 50)
    flipped = content[:40] + bytes([content[40] ^ 255]) + content[41:]
    damaged = {"truncated": content[:-20], "no gzip": b'{"id": "x"}\n', "flipped": flipped, "empty": b"\x1f\x8b"}
    path.write_bytes(damaged[damage])
    with pytest.raises(CorpusFormatError) as caught:
        list(read_genre(path))
    assert str(caught.value).startswith(f"{path}: the gzip file is damaged: ")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("", "JSONDecodeError"),
        ("not JSON", "JSONDecodeError"),
        ('{"id": NaN}', "a number must be finite"),
        ("[]", "TypeError"),
        ("null", "TypeError"),
        ("{}", "KeyError('paragraphs')"),
        (amalgum_record(tokens=None), "TypeError"),
        (amalgum_record(tokens=[]), "IndexError"),
        (amalgum_record(tokens=[[]]), "a sentence must have words"),
        (amalgum_record(tokens=[*amalgum_record()["tokens"], []]), "a sentence must have words"),
        (amalgum_record(tokens=[[["a", "X", 0, "root"]]]), "not enough values"),
        (amalgum_record(tokens=[[["a", "X", 2, "root", 1]]]), "every head must be one of its"),
        (amalgum_record(tokens=[[["a", "X", -1, "root", 1]]]), "every head must be one of its"),
        (amalgum_record(tokens=[[["a", "X", "1", "root", 1]]]), "TypeError"),
        (amalgum_record(tokens=[[[None, "X", 0, "root", 1]]]), "TypeError"),
        (amalgum_record(tokens=[[["a", "X", 0, 1, 1]]]), "expected a string, got 1"),
        (amalgum_record(paragraph_types=[0, True]), "expected a string, got 0"),
        (amalgum_record(tree=[7, "NNNN", [0, 1, 2, 3]]), "expected a string, got 7"),
        (amalgum_record(paragraphs=[0]), "zip()"),
        (amalgum_record(paragraphs=[0, 3]), "IndexError"),
        (amalgum_record(paragraphs=[0, "x"]), "TypeError"),
        (amalgum_record(edus=[]), "must cover the tokens"),
        (amalgum_record(edus=[[1, 2], [2, 5], [5, 6], [6, 8]]), "must cover the tokens"),
        (amalgum_record(edus=[[0, 2], [2, 4], [5, 6], [6, 8]]), "must cover the tokens"),
        (amalgum_record(edus=[[0, 2], [2, 5], [5, 6], [6, 7]]), "must cover the tokens"),
        (amalgum_record(edus=[[0, 2], [2, 5], [5, 5], [5, 8]]), "TreeError"),
        (amalgum_record(tree=["joint", "NN", [0, 1]]), "the tree must cover the EDUs 0–3"),
        (amalgum_record(tree=["joint", "NN", [0, 2]]), "children must be adjacent"),
        (amalgum_record(tree=["joint", "SS", [0, ["joint", "NNN", [1, 2, 3]]]]), "at least one N"),
        (amalgum_record(tree=["joint", "NNNN"]), "IndexError"),
        (amalgum_record(tree="joint"), "IndexError"),
        (amalgum_record(tree=None), "TypeError"),
        (amalgum_record(tree={"edu": 0}), "KeyError"),
        ({key: value for key, value in amalgum_record().items() if key != "licence"}, "KeyError('licence')"),
    ],
)
def test_malformed_records(tmp_path: Path, record: object, problem: str):
    path = tmp_path / "news.jsonl.gz"
    with pytest.raises(CorpusFormatError) as caught:
        read(path, amalgum_record(), record, amalgum_record())
    assert str(caught.value).startswith(f"{path}:2: the record is malformed: ")
    assert problem in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path):
    path = tmp_path / "news.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xff\xfe\n"))
    with pytest.raises(CorpusFormatError, match=r"news.jsonl.gz:1: .*UnicodeDecodeError"):
        list(read_genre(path))


@pytest.mark.slow
@pytest.mark.corpus
def test_one_genre_of_the_corpus(corpora: Path):
    folder = corpora / "amalgum"
    source = next(source for source in load_corpus(folder).sources if "bio" in str(source))
    statistics = count(source())
    numbers = statistics.as_dict()
    counts = [numbers[name] for name in ("documents", "sentences", "edus", "tokens")]
    assert counts == [593, 23176, 60286, 494512]
    classes = "adversative attribution causal context contingency elaboration evaluation explanation joint mode"
    assert {relation for relation, _ in statistics.relations} <= {
        *classes.split(),
        *("organization", "purpose", "restatement", "same-unit", "topic"),
    }
