"""Do trees help to summarise? Extracts of equal length against the summaries that people wrote for GUM.

    python -m experiments.summaries.run GUM --summaries GUM/summaries.tsv --split dev --models en en-generative \\
        --sentence-encoder MPNET --output runs/summaries

Every method orders the same sentences of a document (`genrst.outputs.passages`), and its extract is cut after as many
words as the summaries by people have on average. ROUGE 1, 2 and L (F1, stemmed) against each of these summaries, means
over summaries and then over documents; p-values by a paired bootstrap over documents, against the lead.

    lead        sentences in the order of the text
    random      in a random order
    centroid    nearest to the mean of all sentence vectors of a pretrained encoder
    textrank    by the TextRank of `summa`
    gold        by nuclearity in the gold tree, with gold EDUs
    MODEL       by nuclearity in the tree of a model, from raw text

Needs `pip install rouge-score summa`, and for the centroid a folder of all-mpnet-base-v2.
"""

import argparse
import csv
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np

from experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.io import progress
from genrst.outputs.passages import reading_order
from genrst.parser.loading import load
from genrst.parser.parser import Text, unwrap

METRICS = ("rouge1", "rouge2", "rougeL")
Order: TypeAlias = Callable[[Document], list[str]]
"""Orders the sentences of a document, the first to be taken first."""


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each method."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--summaries", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--models", nargs="*", default=["en"])
    parser.add_argument("--sentence-encoder", metavar="FOLDER", help="for the centroid, which is left out otherwise")
    parser.add_argument("--draws", type=count, default=10_000, help="of the bootstrap")
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    documents = [document for document in load_corpus(arguments.corpus, split=arguments.split) if document.text]
    summaries = read_summaries(arguments.summaries)
    scores = {}
    for name, order in methods(arguments, documents).items():
        found = [rouge(extract(order(one), summaries[one.id]), summaries[one.id]) for one in progress(documents, name)]
        scores[name] = np.array(found)
    rows = Rows(read_environment("cpu"), {"split": arguments.split, "documents": len(documents)})
    for name, found in scores.items():
        means = dict(zip(METRICS, (100 * found.mean(axis=0)).round(2).tolist(), strict=True))
        p = {
            f"p_{metric}": p_value(found[:, i], scores["lead"][:, i], arguments.draws)
            for i, metric in enumerate(METRICS)
        }
        rows.add(method=name, **means, **({} if name == "lead" else p))
    rows.write(arguments.output / f"{arguments.split}.jsonl")


def read_summaries(path: Path) -> dict[str, list[str]]:
    """The summaries that people wrote, by document."""
    found = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["author"].startswith("human"):
                found[row["doc"]].append(row["summary"].replace("\\n", " "))
    return found


def methods(arguments: argparse.Namespace, documents: Sequence[Document]) -> dict[str, Order]:
    """Every method that was asked for."""
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
        parsed = {one.id: unwrap(one) for one in parser.pipe(Text(one.id, one.text or "") for one in documents)}
        found[name] = lambda document, parsed=parsed: by_nuclearity(parsed[document.id])
        of_gold = {
            one.id: unwrap(parsed_one) for one, parsed_one in zip(documents, parser.pipe(documents), strict=True)
        }
        found[f"{name}, gold EDUs"] = lambda document, parsed=of_gold: by_nuclearity(parsed[document.id])
    return found


def by_nuclearity(document: Document) -> list[str]:
    """As `genrst.summary` takes them."""
    return [document.slice(one.start, one.stop) or "" for one in reading_order(document)]


def sentences(document: Document) -> list[str]:
    """The same sentences in the order of the text."""
    order = sorted(reading_order(document), key=lambda one: one.start)
    return [document.slice(one.start, one.stop) or "" for one in order]


def by_textrank(document: Document) -> list[str]:
    """By TextRank; what it cannot rank comes last."""
    from summa.summarizer import summarize

    every = [" ".join(one.split()) for one in sentences(document)]
    ranked = summarize("\n".join(every), ratio=1.0, scores=True, split=True)
    best = dict[str, float]()
    for text, score in ranked:
        best[" ".join(text.split())] = score
    return sorted(every, key=lambda one: -max((score for text, score in best.items() if text in one), default=-1.0))


class Centroid:
    """Orders sentences by the cosine of their vectors with the mean of all."""

    def __init__(self, folder: str) -> None:
        import transformers

        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.network = transformers.AutoModel.from_pretrained(folder).eval()

    def __call__(self, document: Document) -> list[str]:
        """The sentences of a document, the most central first."""
        import torch

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
    """The first sentences, cut after as many words as the summaries have on average."""
    n_words = round(fmean(len(one.split()) for one in summaries))
    return " ".join(" ".join(ordered).split()[:n_words])


def rouge(text: str, summaries: Sequence[str]) -> list[float]:
    """F1 of each metric, the mean over summaries."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(METRICS, use_stemmer=True)
    found = [scorer.score(summary, text) for summary in summaries]
    return [fmean(one[metric].fmeasure for one in found) for metric in METRICS]


def p_value(first: "np.ndarray[Any, Any]", second: "np.ndarray[Any, Any]", draws: int) -> float:
    """Two-sided, by a paired bootstrap over documents."""
    draw = np.random.default_rng(1)
    differences = first - second
    means = differences[draw.integers(0, len(differences), (draws, len(differences)))].mean(axis=1)
    return round(float(2 * min((means <= 0).mean(), (means >= 0).mean(), 0.5)), 4)


if __name__ == "__main__":
    main()
