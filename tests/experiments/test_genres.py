"""Which genre is it: features of trees against words."""

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="not installed: scikit-learn")
from experiments.genres import run
from experiments.genres.trees import ENTROPY, parse_once
from genrst.document import Document
from genrst.formats.files import read
from genrst.parser.parser import Parser
from genrst.trees.node import Leaf, Unit


def document(number: int, genre: str) -> Document:
    """Stories have one word and one shape, lists another."""
    joint = Unit("joint-list", "NN", (Leaf(0), Leaf(1)))
    if genre == "lists":
        return Document.from_edus(
            f"GUM_lists_{number}", ["apples", "pears", "plums"], Unit("joint-list", "NN", (joint, Leaf(2)))
        )
    cause = Unit("causal-cause", "SN", (Leaf(0), Unit("joint-sequence", "NN", (Leaf(1), Leaf(2)))))
    return Document.from_edus(f"GUM_stories_{number}", ["it rained", "we stayed", "we sang"], cause)


@pytest.fixture
def documents() -> list[Document]:
    return [document(number, genre) for genre in ("lists", "stories") for number in range(8)]


def test_classifiers_see_features_words_or_both(documents: list[Document]):
    genres = np.array([run.genre_of(one) for one in documents])
    arguments = Namespace(models=[])
    texts = [one.text or "" for one in documents]
    found = run.classifiers(documents, arguments)
    assert list(found) == ["lengths", "words", "gold features", "gold both"]
    for name in ("words", "gold features", "gold both"):
        matrix, has_words = found[name]
        predicted = run.cross_validate(matrix, texts if has_words else None, genres, 4, seed=1)
        assert predicted.tolist() == genres.tolist(), name
    lengths, _ = found["lengths"]
    assert lengths is not None
    assert lengths.shape == (16, 7)
    assert lengths[0, 1] == 3, "words"


def test_a_genre_that_cannot_be_told_is_not_guessed_from_the_test_part(documents: list[Document]):
    genres = np.array([run.genre_of(one) for one in documents])
    nothing = np.zeros((len(documents), 2))
    assert (run.cross_validate(nothing, None, genres, 4, seed=1) == genres).mean() <= 0.5


def test_rotated_vectors_have_the_same_products():
    random = np.random.default_rng(1)
    matrix = random.normal(size=(6, 20))
    texts = ["one two", "two three", "three", "four one", "five", "six one"]
    vectors = run.vectors_of(matrix, texts, np.arange(4), weight=0.5)
    assert vectors.shape[1] <= 6
    assert np.allclose((vectors**2).sum(axis=1)[:4], 1.25), "the features, and the words twice as long"
    assert np.allclose((vectors[4] ** 2).sum(), 0.25), "a word that the training part does not have counts nothing"


def test_p_values():
    better = np.ones((2, 20))
    assert run.p_value(better, better, 1000) == 1
    assert run.p_value(better, np.zeros((2, 20)), 1000) < 0.01
    rights = {"words": better, "gold features": better, "gold both": better}
    found = run.tests("gold both", rights, Namespace(draws=10))
    assert found == {"p_gold features": 1, "p_words": 1}
    assert run.tests("words", rights, Namespace(draws=10)) == {}


def test_scores():
    genres = np.array(["a", "a", "b", "b"])
    guesses = [np.array(["a", "a", "b", "a"]), np.array(["a", "a", "a", "a"])]
    right = np.array([one == genres for one in guesses], float)
    found = run.scores(right, guesses, genres, np.array([False, False, True, True]))
    assert found == {"accuracy": 62.5, "spread": 12.5, "macro_f1": 53.3, "unseen": 25.0}


@pytest.mark.slow
def test_a_text_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: list[Document]):
    from genrst.parser.loading import load
    from tests.parser.samples import write_chart

    folder = write_chart(tmp_path / "chart")
    (parsed,) = parse_once(documents[:1], str(folder), tmp_path / "trees")
    assert parsed.text == documents[0].text
    assert float(parsed.metadata[ENTROPY]) == pytest.approx(
        load(folder, device="cpu").distribution(parsed.text or "").entropy
    )
    monkeypatch.setattr(Parser, "distribution", lambda self, item: pytest.fail("it is there"))
    assert list(parse_once(documents[:1], str(folder), tmp_path / "trees")) == [parsed]
    assert read(tmp_path / "trees" / f"{parsed.id}.json") == parsed


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: list[Document], capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(run, "load_corpus", lambda path, split=None: documents if split is None else documents[:4])
    words = [
        "--data",
        "GUM",
        "--models",
        "--seeds",
        "1",
        "2",
        "--folds",
        "4",
        "--draws",
        "100",
        "--seen-genres",
        "lists",
    ]
    run.main([*words, "--output", str(tmp_path)])
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [row["classifier"] for row in rows] == [
        "the largest genre",
        "lengths",
        "words",
        "gold features",
        "gold both",
    ]
    assert rows[0]["accuracy"] == 50
    assert rows[-1]["accuracy"] == rows[-1]["unseen"] == 100
    assert rows[-1] | {"documents": 16, "genres": 2, "folds": 4, "seeds": [1, 2]} == rows[-1]
    assert capsys.readouterr().out
