"""Evaluate extractive summaries by trees against GUM's human summaries, at equal length.

    python -m experiments.summaries.run GUM --summaries GUM/summaries.tsv --split dev --models en en-generative \\
        --sentence-encoder MPNET --output runs/summaries

Every method orders the same sentences of a document (`genrst.outputs.passages`), and its extract is cut to the average
length of the human summaries in words. The scores are ROUGE 1, 2 and L (F1, stemmed), averaged over the summaries of a
document and then over documents; p-values are from a paired bootstrap over documents, against the lead.

    lead        sentences in the order of the text
    random      sentences in random order
    centroid    closest to the mean sentence vector of a pretrained encoder
    textrank    by TextRank (`summa`)
    gold        by nuclearity in the gold tree, with gold EDUs
    MODEL       by nuclearity in the tree of a model, from raw text

Needs `pip install rouge-score summa`, and a folder with all-mpnet-base-v2 for the centroid.
"""

import argparse
import csv
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.io import progress
from genrst.outputs.passages import reading_order
from genrst.parser.loading import load
from genrst.parser.parser import Text, unwrap

METRICS = ("rouge1", "rouge2", "rougeL")
Scores: TypeAlias = NDArray[np.float64]
"""The scores of each document (rows) by each metric (columns)."""
Order: TypeAlias = Callable[[Document], list[str]]
"""A function that ranks the sentences of a document."""


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each method."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--summaries", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--models", nargs="*", default=["en"])
    parser.add_argument(
        "--sentence-encoder", metavar="FOLDER", help="encoder for the centroid method, which is skipped without it"
    )
    parser.add_argument("--draws", type=count, default=10_000, help="number of bootstrap samples (default: 10000)")
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment."""
    documents = [document for document in load_corpus(arguments.corpus, split=arguments.split) if document.text]
    summaries = read_summaries(arguments.summaries)
    scores: dict[str, Scores] = {}
    for name, order in methods(arguments, documents).items():
        rows_of = [
            rouge(extract(order(one), summaries[one.id]), summaries[one.id]) for one in progress(documents, name)
        ]
        scores[name] = np.array(rows_of)
    rows = Rows(read_environment(torch.device("cpu")), {"split": arguments.split, "documents": len(documents)})
    for name, of_documents in scores.items():
        means = dict(zip(METRICS, (100 * of_documents.mean(axis=0)).round(2).tolist(), strict=True))
        p = {
            f"p_{metric}": p_value(of_documents[:, i], scores["lead"][:, i], arguments.draws)
            for i, metric in enumerate(METRICS)
        }
        rows.add(method=name, **means, **({} if name == "lead" else p))
    rows.write(arguments.output / f"{arguments.split}.jsonl")


def read_summaries(path: Path) -> dict[str, list[str]]:
    """Read the human summaries, by document."""
    found = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["author"].startswith("human"):
                found[row["doc"]].append(row["summary"].replace("\\n", " "))
    return found


def methods(arguments: argparse.Namespace, documents: Sequence[Document]) -> dict[str, Order]:
    """Return the methods that the arguments choose."""
    draw = random.Random(1)
    found: dict[str, Order] = {
        "lead": sentences,
        "random": lambda document: draw.sample(every := sentences(document), len(every)),
        "textrank": by_textrank,
        "gold": by_nuclearity,
    }
    if arguments.sentence_encoder:
        found["centroid"] = Centroid(arguments.sentence_encoder)
    for name in arguments.models:
        parser = load(name, device="cpu")
        raw = parser.pipe(Text(one.id, one.text or "") for one in documents)
        found[name] = partial(by_tree, dict(zip((one.id for one in documents), map(unwrap, raw), strict=True)))
        segmented = parser.pipe(documents)
        trees = dict(zip((one.id for one in documents), map(unwrap, segmented), strict=True))
        found[f"{name}, gold EDUs"] = partial(by_tree, trees)
    return found


def by_nuclearity(document: Document) -> list[str]:
    """Return the sentences in the order in which `genrst.summary` takes them."""
    return [document.slice(one.start, one.stop) or "" for one in reading_order(document)]


def by_tree(parsed: Mapping[str, Document], document: Document) -> list[str]:
    """Return the sentences in the order in which `genrst.summary` takes them from a predicted tree."""
    return by_nuclearity(parsed[document.id])


def sentences(document: Document) -> list[str]:
    """Return the same sentences in text order."""
    order = sorted(reading_order(document), key=lambda one: one.start)
    return [document.slice(one.start, one.stop) or "" for one in order]


def by_textrank(document: Document) -> list[str]:
    """Rank sentences by TextRank; unranked sentences come last."""
    from summa.summarizer import summarize

    every = [" ".join(one.split()) for one in sentences(document)]
    ranked = summarize("\n".join(every), ratio=1.0, scores=True, split=True)
    best = dict[str, float]()
    for text, score in ranked:
        best[" ".join(text.split())] = score
    return sorted(every, key=lambda one: -max((score for text, score in best.items() if text in one), default=-1.0))


class Centroid:
    """Ranks sentences by the cosine similarity of their vectors to the mean vector."""

    def __init__(self, folder: str) -> None:
        import transformers

        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.network = transformers.AutoModel.from_pretrained(folder).eval()

    def __call__(self, document: Document) -> list[str]:
        """Return the sentences of a document, most central first."""
        every, vectors = sentences(document), []
        for start in range(0, len(every), 32):
            batch: Any = self.tokenizer(every[start : start + 32], return_tensors="pt", padding=True, truncation=True)
            with torch.inference_mode():
                states = self.network(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None]
            vectors.append(torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1))
        found = torch.cat(vectors)
        nearness = (found @ found.mean(0)).tolist()
        return [every[number] for number in sorted(range(len(every)), key=lambda number: -nearness[number])]


def extract(ordered: Sequence[str], summaries: Sequence[str]) -> str:
    """Return the first sentences, cut to the average length of the summaries in words."""
    n_words = round(fmean(len(one.split()) for one in summaries))
    return " ".join(" ".join(ordered).split()[:n_words])


def rouge(text: str, summaries: Sequence[str]) -> list[float]:
    """Return the F1 of each metric, averaged over summaries."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(METRICS, use_stemmer=True)
    found = [scorer.score(summary, text) for summary in summaries]
    return [fmean(one[metric].fmeasure for one in found) for metric in METRICS]


def p_value(first: Scores, second: Scores, draws: int) -> float:
    """Return the two-sided p-value of a paired bootstrap over documents."""
    draw = np.random.default_rng(1)
    differences = first - second
    means = differences[draw.integers(0, len(differences), (draws, len(differences)))].mean(axis=1)
    return round(float(2 * min((means <= 0).mean(), (means >= 0).mean(), 0.5)), 4)


if __name__ == "__main__":
    main()
