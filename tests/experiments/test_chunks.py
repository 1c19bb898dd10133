"""Chunks for retrieval: ways to cut, where answers are found, and the ends of chunks; on texts made for it."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import genrst
from experiments.chunks import methods, retrieval, run
from experiments.chunks.borders import n_inside, regions
from experiments.chunks.questions import Question, Span, parse_all, read_articles
from experiments.chunks.retrieval import Found
from genrst.document import Document
from genrst.document import Span as Part
from genrst.errors import UsageError
from genrst.parser.parser import Text
from genrst.trees.node import Leaf, Tree, Unit
from tests.experiments.errors import ends_in_one_line
from tests.miniatures import write_gum

TOPICS = [
    ["The ferry leaves at six.", "It is red, and it is old.", "Snow fell in May.", "The roof broke."],
    ["Bees dance for their sisters.", "A dance shows where flowers are.", "Bread needs salt.", "Ovens must be hot."],
]
"""Articles with two sentences in each of two paragraphs."""
WAYS: dict[str, methods.Cut] = {
    "fixed": methods.fixed,
    "sentences": methods.sentences,
    "paragraphs": methods.paragraphs,
    "discourse": methods.discourse,
    "semantic": methods.Semantic(lambda texts: by_length(texts)),
}


def by_length(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors that differ more, the more texts differ in length."""
    angles = np.array([len(text) for text in texts], dtype=np.float32) / 100
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def article(number: int) -> Document:
    """With a tree over sentences, in which paragraphs are units."""
    first, second, third, fourth = TOPICS[number]
    text = f"{first} {second}\n\n{third} {fourth}"
    starts = [text.index(sentence) for sentence in TOPICS[number]]
    ends = [start + len(sentence) for start, sentence in zip(starts, TOPICS[number], strict=True)]
    halves: list[Tree] = [Unit("joint", "NN", (Leaf(0), Leaf(1))), Unit("list", "NN", (Leaf(2), Leaf(3)))]
    tree = Unit("elaboration", "NS", tuple(halves))
    spans = tuple(map(Part, starts, ends))
    paragraphs = (Part(0, ends[1], "p"), Part(starts[2], ends[3], "p"))
    return Document(f"{number:03}", text, spans, tree, sentences=spans, paragraphs=paragraphs)


def write_questions(folder: Path) -> None:
    """Two questions about each article, one about each paragraph."""
    asked = [("When does the ferry leave?", "at six"), ("When did snow fall?", "May"),
             ("Who are bees dancing for?", "their sisters"), ("What does bread need?", "salt")]  # fmt: skip
    data = []
    for number in range(2):
        paragraphs = []
        for context in (article(number).text or "").split("\n\n"):
            text, answer = asked.pop(0)
            answers = [{"text": answer, "answer_start": context.index(answer)}]
            paragraphs.append({"context": context, "qas": [{"id": "q", "question": text, "answers": answers}]})
        data.append({"title": str(number), "paragraphs": paragraphs})
    folder.mkdir(exist_ok=True)
    (folder / "squad.json").write_text(json.dumps({"data": data}), encoding="utf-8")


def by_shared_words(questions: Sequence[str], chunks: Sequence[str]) -> retrieval.Scores:
    """How many words a question shares with a chunk."""
    words = [[set(text.lower().strip("?.").split()) for text in texts] for texts in (questions, chunks)]
    return np.array([[len(one & other) for other in words[1]] for one in words[0]], dtype=np.float32)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", [1, 5, 9, 100])
def test_every_word_is_in_one_chunk(way: str, budget: int):
    document = article(0)
    text = document.text or ""
    spans = WAYS[way](document, budget)
    assert [word for start, end in spans for word in text[start:end].split()] == text.split()
    assert all(left[1] <= right[0] for left, right in pairwise(spans))


def texts_of(document: Document, spans: Sequence[Span]) -> list[str]:
    return [(document.text or "")[start:end] for start, end in spans]


def test_what_each_way_keeps_whole():
    document = article(0)
    assert texts_of(document, methods.fixed(document, 7))[0] == "The ferry leaves at six. It is"
    assert texts_of(document, methods.sentences(document, 14))[0] == " ".join(TOPICS[0][:2])
    packed = texts_of(document, methods.sentences(document, 16))
    assert packed == ["The ferry leaves at six. It is red, and it is old.\n\nSnow fell in May.", "The roof broke."]
    assert texts_of(document, methods.paragraphs(document, 16)) == (document.text or "").split("\n\n")
    assert texts_of(document, methods.paragraphs(document, 8)) == [*TOPICS[0][:2], " ".join(TOPICS[0][2:])]
    assert texts_of(document, methods.discourse(document, 16)) == (document.text or "").split("\n\n")


def test_semantic_chunks_end_at_the_largest_difference():
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.extend(texts)
        return np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=np.float32)

    cut = methods.Semantic(embed)
    assert texts_of(article(0), cut(article(0), 10))[1] == TOPICS[0][3]
    assert len(cut(article(0), 100)) == 1
    assert asked[0] == " ".join(TOPICS[0][:2]), "with a neighbour, and only once"
    assert len(asked) == 4


@pytest.mark.parametrize("target", [4, 7, 10])
def test_budgets_give_the_mean_size(target: int):
    text = " ".join(f"w{number}" for number in range(400))
    document = Document("long", text, (Part(0, len(text)),))
    budget, found = methods.tune([document], methods.fixed, target)
    assert budget == target
    assert methods.sizes([document], found).mean() == pytest.approx(target, rel=0.02)


def test_langchain_cuts_at_paragraphs_first():
    pytest.importorskip("langchain_text_splitters")
    document = article(0)
    assert texts_of(document, methods.recursive(document, 13)) == (document.text or "").split("\n\n")
    assert texts_of(document, methods.recursive(document, 8))[0] == "The ferry leaves at six. It is red,"


def test_bm25_finds_rare_words():
    pytest.importorskip("bm25s")
    scores = retrieval.bm25(["Which ferry?", "of the"], ["bees and bread", "a red ferry", "bread and salt"])
    assert scores.shape == (2, 3)
    assert scores[0].argmax() == 1
    assert not scores[1].any(), "stop words only"


def test_where_answers_are_found():
    texts = ["one two three four", "five six"]
    spans = [[(0, 7), (8, 18)], [(0, 8)]]
    asked = [Question(0, "?", (8, 13)), Question(0, "?", (4, 13)), Question(1, "?", (5, 8))]
    scores = np.array([[1, 1, 2], [1, 1, 1], [3, 0, 3]], dtype=np.float32)
    found = retrieval.search(scores, asked, texts, spans)
    assert found["within"] == [Found(0, 2, 3), Found(0, 0, 0), Found(1, 1, 2)]
    assert found["all"] == [Found(0, 3, 5), Found(0, 0, 0), Found(1, 2, 4)]


def test_measures():
    found = [Found(0, 1, 5), Found(0, 2, 40), Found(1, 0, 0), Found(1, 6, 20)]
    values = retrieval.measures(found, 10)
    assert [float(values[name].sum()) for name in ("recall_1", "recall_3", "recall_5", "in_words")] == [1, 2, 2, 2]
    assert values["ndcg"].tolist() == pytest.approx([1, 1 / math.log2(3), 0, 1 / math.log2(7)])
    by_article = retrieval.counts(found, values["recall_3"])
    assert [count.f1 for count in by_article] == [1, 0]


def test_ends_inside_what_should_be_whole():
    text = 'He said "stay here". Then:\n\none thing\n\nanother thing\n\nThe end.'
    starts = [0, 21, 28, 39, 54]
    ends = [20, 26, 37, 52, 62]
    parts = tuple(map(Part, starts, ends))
    labels = ["p", "item", "item", "p"]
    paragraphs = tuple(
        Part(start, end, label) for start, end, label in zip([0, *starts[2:]], ends[1:], labels, strict=True)
    )
    whole = regions(Document("list", text, parts, sentences=parts, paragraphs=paragraphs))
    assert whole["quotation"] == [(8, 19)]
    assert whole["list"] == [(28, 52)]
    spans = [(0, 13), (14, 26), (28, 37), (39, 52), (54, 62)]
    assert {kind: n_inside(spans, whole[kind]) for kind in whole} == {"sentence": 1, "quotation": 1, "list": 1}


def test_articles_are_read_with_their_answers(tmp_path: Path):
    write_questions(tmp_path)
    for gap in ("\n\n", " "):
        articles = read_articles(tmp_path, gap)
        answers = [articles.texts[one.article].text[slice(*one.answer)] for one in articles.questions]
        assert answers == ["at six", "May", "their sisters", "salt"]
        assert gap.join(" ".join(TOPICS[0][at : at + 2]) for at in (0, 2)) == articles.texts[0].text
    assert [one.article for one in articles.of_split("dev")] == [0, 0]
    assert [one.article for one in articles.of_split("test")] == [1, 1]


def test_an_answer_that_is_not_there_is_an_error(tmp_path: Path):
    write_questions(tmp_path)
    path = tmp_path / "squad.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"at six"', '"at ten"'), encoding="utf-8")
    with pytest.raises(UsageError, match=r"must be in the format of SQuAD: .*no answer at the offset of q"):
        read_articles(tmp_path)


def test_a_tree_of_another_text_is_an_error(tmp_path: Path):
    genrst.write(article(0), tmp_path / "000.json")
    with pytest.raises(UsageError, match="the tree must be of the same text"):
        parse_all([Text("000", "Another text.")], "en", tmp_path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    write_questions(tmp_path / "questions")
    write_gum(tmp_path / "GUM")
    for number in range(2):
        genrst.write(article(number), tmp_path / "out" / "trees" / "en" / "paragraphs" / f"{number:03}.json")
    for split in ("dev", "test"):
        for document in genrst.load_corpus(tmp_path / "GUM", split=split):
            genrst.write(document, tmp_path / "out" / "trees" / "en" / "gum" / f"{document.id}.json")
    n_asked: list[int] = []

    def retriever(questions: Sequence[str], chunks: Sequence[str]) -> retrieval.Scores:
        n_asked.append(len(questions))
        return by_shared_words(questions, chunks)

    monkeypatch.setattr(run, "bm25", retriever)
    words = [str(tmp_path / "questions"), "--split", "test", "--retrievers", "bm25", "--sizes", "7", "10"]
    words += ["--methods", "fixed", "paragraphs", "discourse", "--gum", str(tmp_path / "GUM")]
    run.main([*words, "--output", str(tmp_path / "out")])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {(row["size"], row["method"], row["scope"]): row for row in rows if "scope" in row}
    assert len(found) == 2 * 3 * 2
    assert found[10, "discourse", "within"]["recall_1"] == 100
    assert found[10, "discourse", "all"]["cut"] == 0
    assert {"p_recall_1", "p_ndcg"} <= found[10, "fixed", "all"].keys()
    assert "p_ndcg" not in found[10, "discourse", "all"]
    ends = [row for row in rows if "ends" in row]
    assert {(row["method"], row["split"]) for row in ends} == {
        (method, split) for method in ("fixed", "paragraphs", "discourse", "gold") for split in ("dev", "test")
    }
    assert all(0 <= row["in_sentence"] <= 100 for row in ends)
    assert n_asked == [2] * len(n_asked)
    before = len(n_asked)
    run.main([*words, "--output", str(tmp_path / "out")])
    assert len(n_asked) == before, "what was found is read from files"
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert again == rows
    files = {path.name for path in (tmp_path / "out").glob("*.jsonl")}
    assert files == {"test-paragraphs.jsonl", "borders.jsonl"}


def test_a_folder_without_questions_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = [str(tmp_path), "--output", str(tmp_path / "out")]
    ends_in_one_line(lambda: run.main(words), "the folder must have one .json file of questions, got 0", capsys)
