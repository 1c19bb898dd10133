"""Scores on development documents: the likelihood of their gold trees, and Parseval of the trees that search finds."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from genrst.document import Document, Span, unplaced_edus
from genrst.evaluation.parseval import ASPECTS
from genrst.evaluation.report import Evaluation, evaluate
from genrst.rnng.batch import make_batch
from genrst.rnng.examples import Derivation, Example
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, in_groups, search_beams, search_greedily
from genrst.rnng.symbols import Symbols
from genrst.rnng.transitions.oracle import tree_of
from genrst.trees.relations import OPEN

MAX_STACK = 40
"""The bound on stacks that makes bag-level search fast; no gold tree of GUM needs it."""
MOST_EDUS = 2000
"""How many EDUs are searched at once, unless a document has more: memory grows with them."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Negative log-likelihoods of the actions and of the words of some EDUs, and how many EDUs and words there were."""

    action_nll: float = 0.0
    n_edus: int = 0
    word_nll: float = 0.0
    n_words: int = 0

    def __add__(self, other: "Likelihood") -> "Likelihood":
        return Likelihood(
            self.action_nll + other.action_nll,
            self.n_edus + other.n_edus,
            self.word_nll + other.word_nll,
            self.n_words + other.n_words,
        )

    @property
    def loss(self) -> float:
        """That of actions and words, per EDU."""
        return (self.action_nll + self.word_nll) / self.n_edus

    @property
    def action_loss(self) -> float:
        """That of actions alone, per EDU."""
        return self.action_nll / self.n_edus

    @property
    def perplexity(self) -> float | None:
        """Of the words; None if there are none, as in a discriminative model."""
        return math.exp(min(self.word_nll / self.n_words, 700)) if self.n_words else None


def gold_likelihood(
    network: Network, examples: Sequence[Example], gold: Sequence[Derivation], batch_documents: int
) -> Likelihood:
    """The likelihood of gold trees and their words."""
    device = network.embeddings.weight.device
    total = Likelihood()
    with torch.inference_mode():
        for first in range(0, len(examples), batch_documents):
            part = slice(first, first + batch_documents)
            batch = make_batch(examples[part], gold[part], network.window_shape)
            found = network(batch.to(device))
            total += Likelihood(
                -float(found.actions.sum()), sum(batch.n_edus), -float(found.words.sum()), len(found.words)
            )
    return total


def evaluate_greedily(network: Network, symbols: Symbols, examples: Sequence[Example]) -> Evaluation:
    """The trees of greedy search against the gold ones, on gold EDUs."""
    parses = search_greedily(NetworkScorer(network, examples, symbols.nucleus_is_right))
    return evaluate_parses(examples, [parse.actions for parse in parses], symbols)


def evaluate_bags(network: Network, symbols: Symbols, examples: Sequence[Example], beam: int) -> Evaluation:
    """The likeliest trees with words, by bag-level search, against the gold ones."""
    options = BeamOptions(beam, "bag", MAX_STACK)
    found = [
        result.parses[0].actions
        for group in in_groups(examples, lambda example: example.n_edus, MOST_EDUS)
        for result in search_beams(NetworkScorer(network, group, symbols.nucleus_is_right), options)
    ]
    return evaluate_parses(examples, found, symbols)


def evaluate_parses(examples: Sequence[Example], derivations: Sequence[Sequence[int]], symbols: Symbols) -> Evaluation:
    """The trees of some derivations, given as numbers of actions, against the gold ones."""
    gold = list(_documents(examples, [example.actions for example in examples], symbols))
    found = list(_documents(examples, derivations, symbols))
    return evaluate(gold, found, labels="fine", inventory=OPEN)


def parseval_f1(evaluation: Evaluation) -> dict[str, float]:
    """S, N, R, F by Parseval, in percent."""
    scores = evaluation.micro("parseval")
    return {aspect: 100 * scores[aspect].f1 for aspect in ASPECTS}


def _documents(
    examples: Sequence[Example], derivations: Sequence[Sequence[int]], symbols: Symbols
) -> Iterator[Document]:
    """Documents without text, of which only the number of EDUs counts."""
    for example, actions in zip(examples, derivations, strict=True):
        tree = tree_of(symbols.actions[action] for action in actions)
        sentences, paragraphs = (_spans(part) for part in (example.syntax.sentences, example.syntax.paragraphs))
        edus = unplaced_edus(example.n_edus)
        yield Document(example.id, None, edus, tree, sentences=sentences, paragraphs=paragraphs)


def _spans(numbers: Sequence[int]) -> tuple[Span, ...]:
    """The spans of sentences or paragraphs, from the number that each EDU has."""
    starts = [edu for edu in range(len(numbers)) if edu == 0 or numbers[edu] != numbers[edu - 1]]
    return tuple(Span(2 * start, 2 * stop - 1) for start, stop in pairwise([*starts, len(numbers)]))
