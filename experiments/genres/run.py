"""Which genre is it? Features of trees against bags of words, by cross-validation over the documents of GUM.

    python -m experiments.genres.run --data GUM --models en --output runs/genres

The second word of a document's name is its genre. Documents without text are left out. Every classifier is a logistic
regression; how much it is regularised is chosen inside each training part, and so is how much features count beside
words. All see the same folds, several times over (`--seeds`). The vectors of features and of words have length 1.

    lengths        counts of words, EDUs, sentences and paragraphs, and their ratios, which need no tree
    features       all of `genrst.features`, standardised
    words          a bag of words, by tf-idf
    both           features and words

Features are those of the gold trees and, for each model, of the trees that it finds in the raw text, with their
entropy. Accuracy is in percent: the mean and the spread over seeds. p-values are two-sided, by swapping the results of
two classifiers document by document, each the mean over seeds. `unseen` is the accuracy on the documents outside
`--seen-split` of the genres that the model was trained on.
"""

import argparse
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler, normalize

from experiments.command import Rows, count, read_environment, run_command, start_parser
from experiments.genres.trees import ENTROPY, parse_once
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.io import progress
from genrst.outputs.features import feature_rows

Matrix: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.str_]

LENGTHS = ("n_edus", "n_words", "n_sentences", "n_paragraphs")
RATIOS = ("edus_per_sentence", "words_per_edu", "characters_per_edu")
STRENGTHS = (1, 10, 100, 1000)
"""What the inverse of the regularisation is chosen from."""
WEIGHTS = (0.25, 0.5, 1.0)
"""What the weight of features beside words is chosen from."""


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each classifier."""
    parser = start_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of GUM")
    parser.add_argument("--models", nargs="*", default=["en"])
    parser.add_argument("--seen-split", default="train", help="what the models were trained on, in some genres")
    parser.add_argument("--seen-genres", nargs="*", default=SEEN, metavar="GENRE")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--folds", type=count, default=10)
    parser.add_argument("--draws", type=count, default=10_000, help="of the test")
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


SEEN = ("academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""The genres of GUM that `en` was trained on."""


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    documents = [document for document in load_corpus(arguments.data) if document.text]
    genres = np.array([genre_of(document) for document in documents])
    seen = {document.id for document in load_corpus(arguments.data, split=arguments.seen_split)}
    unseen = np.array([one.id not in seen or genre_of(one) not in arguments.seen_genres for one in documents])
    texts = [document.text or "" for document in documents]
    right, predicted = dict[str, Matrix](), dict[str, list[Labels]]()
    for name, (matrix, has_words) in classifiers(documents, arguments).items():
        found = [
            cross_validate(matrix, texts if has_words else None, genres, arguments.folds, seed)
            for seed in progress(arguments.seeds, name)
        ]
        predicted[name] = found
        right[name] = np.array([one == genres for one in found], float)
    common = {"documents": len(documents), "genres": len(set(genres)), "folds": arguments.folds}
    rows = Rows(read_environment(torch.device("cpu")), common | {"seeds": arguments.seeds})
    rows.add(
        classifier="the largest genre", accuracy=percent(max(np.unique(genres, return_counts=True)[1]), genres.size)
    )
    for name, of_seeds in right.items():
        rows.add(classifier=name, **scores(of_seeds, predicted[name], genres, unseen), **tests(name, right, arguments))
    rows.write(arguments.output / "results.jsonl")


def genre_of(document: Document) -> str:
    """The second word of the document's name."""
    return document.id.split("_")[1]


def classifiers(documents: Sequence[Document], arguments: argparse.Namespace) -> dict[str, tuple[Matrix | None, bool]]:
    """By name: the numbers that a classifier is given, and whether it is also given words."""
    rows = list(feature_rows(documents, "gum"))
    found: dict[str, tuple[Matrix | None, bool]] = {
        "lengths": (matrix_of(rows, (*LENGTHS, *RATIOS)), False),
        "words": (None, True),
        "gold features": (matrix_of(rows), False),
        "gold both": (matrix_of(rows), True),
    }
    for model in arguments.models:
        parsed = parse_once(documents, model, arguments.output / "trees" / model)
        matrix = matrix_of(feature_rows(parsed, "gum", ask=lambda one: {"entropy": float(one.metadata[ENTROPY])}))
        found |= {f"{model} features": (matrix, False), f"{model} both": (matrix, True)}
    return found


def matrix_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> Matrix:
    """The numbers of documents, those in the columns or all; what is unknown is 0. Shape: (documents, features)"""
    return np.array(
        [[row[name] or 0.0 for name in columns or row if name != "document"] for row in rows], dtype=np.float64
    )


def cross_validate(
    matrix: Matrix | None, texts: Sequence[str] | None, genres: Labels, n_folds: int, seed: int
) -> Labels:
    """The genre of each document, by a classifier that has not seen it."""
    predicted = np.empty_like(genres)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # a fold may be without it
        parts = list(folds.split(genres, genres))
    for train, test in parts:
        best = -1.0
        for weight in WEIGHTS if matrix is not None and texts is not None else (1.0,):
            vectors = vectors_of(matrix, texts, train, weight)
            inner = StratifiedKFold(3, shuffle=True, random_state=seed)
            classifier = GridSearchCV(LogisticRegression(max_iter=2000), {"C": STRENGTHS}, cv=inner)
            classifier.fit(vectors[train], genres[train])
            if classifier.best_score_ > best:
                best, predicted[test] = classifier.best_score_, classifier.predict(vectors[test])
    return predicted


def vectors_of(
    matrix: Matrix | None, texts: Sequence[str] | None, train: NDArray[np.int64], weight: float = 1.0
) -> Matrix:
    """A vector per document, of which nothing but the training part was used to scale it.

    There are more dimensions than documents, so the vectors are rotated into the space that they span: the classifier
    is the same, for its penalty does not change, and it is fitted much faster.
    """
    parts = []
    if matrix is not None:
        parts.append(weight * normalize(StandardScaler().fit(matrix[train]).transform(matrix)))
    if texts is not None:
        words = TfidfVectorizer(sublinear_tf=True).fit([texts[number] for number in train])
        parts.append(normalize(words.transform(texts)).toarray())
    left, sizes, _ = np.linalg.svd(np.hstack(parts), full_matrices=False)
    rotated: Matrix = left * sizes
    return rotated


def scores(right: Matrix, predicted: Sequence[Labels], genres: Labels, unseen: NDArray[np.bool_]) -> dict[str, float]:
    """Accuracy, its spread over seeds, and F1 as a mean over genres, in percent.

    Shape of `right`: (seeds, documents)
    """
    of_seeds = right.mean(axis=1)
    return {
        "accuracy": percent(of_seeds.mean(), 1),
        "spread": percent(of_seeds.std(), 1),
        "macro_f1": percent(np.mean([f1_score(genres, one, average="macro", zero_division=0) for one in predicted]), 1),
        "unseen": percent(right[:, unseen].mean(), 1) if unseen.any() else 0.0,
    }


def percent(part: float, whole: float) -> float:
    """Rounded for a row."""
    return round(100 * float(part) / whole, 1)


def tests(name: str, right: Mapping[str, Matrix], arguments: argparse.Namespace) -> dict[str, float]:
    """The p-value against words and, where words were added to features, also against these."""
    others = {"words", *({name.replace("both", "features")} if name.endswith("both") else ())} - {name}
    return {f"p_{other}": p_value(right[name], right[other], arguments.draws) for other in sorted(others)}


def p_value(first: Matrix, second: Matrix, draws: int) -> float:
    """By approximate randomisation over documents."""
    differences = first.mean(axis=0) - second.mean(axis=0)
    signs = np.random.default_rng(1).choice([-1, 1], (draws, differences.size))
    n_extreme = int((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).sum())
    return round((n_extreme + 1) / (draws + 1), 4)


if __name__ == "__main__":
    main()
