"""The likelihood of a document under a model that builds trees step by step, with its own tree or with any tree.

`score_tree` divides −log p(words, tree) into surprisals, in nats: the contribution of every word and every decision,
given the previous discourse. `score_text` estimates log p(words), a sum over all trees, by importance sampling. A chart
draws trees t with exact probabilities q(t); the mean of p(words, t)/q(t) estimates p(words). The same samples estimate
the probabilities of trees and units given the words.

*Words* stands for everything that the model generates: words, with entities as their types and rare words as `<unk>`;
the ends of EDUs; and the layout, if the model has a `layout_size`. A discriminative model conditions on the words and
generates only the layout. All probabilities are conditioned on the number of EDUs and on the syntax of the generated
EDUs.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from genrst.document import Document, require_tree
from genrst.encoder.device import check_process
from genrst.errors import ParserWarning, UsageError
from genrst.rnng.batch import derive, make_batch
from genrst.rnng.config import EOS
from genrst.rnng.examples import mask_entities, prepare
from genrst.rnng.finder import Member, RnngFinder
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.hypotheses import EMPTY_STACK, Forest
from genrst.rnng.search.results import Parse
from genrst.rnng.search.scorer import Scorer
from genrst.rnng.transitions.actions import GENERATE, actions_of, tree_of
from genrst.trees.binarise import prepare_tree
from genrst.trees.constraints import Label
from genrst.trees.node import Tree, units
from genrst.trees.relations import detect_inventory

AT_ONCE = 100
"""The number of samples to score together, which limits memory."""
FEW = 10
"""Estimates with a smaller effective sample size are unreliable."""


# The likelihood of a tree with its words.


@dataclass(frozen=True, slots=True)
class EduScore:
    """The contribution of an EDU to −log p, in nats."""

    structure: float
    """The surprisal of the actions since the previous EDU: joining units, and generating another EDU (with its kind of
    layout)."""
    words: tuple[tuple[str, float], ...]
    """The words with their surprisals, ending with `<eos>`; empty for a discriminative model."""

    @property
    def surprisal(self) -> float:
        """The total surprisal of the EDU."""
        return self.structure + math.fsum(surprisal for _, surprisal in self.words)


@dataclass(frozen=True, slots=True)
class TreeScore:
    """The parts of −log p(words, tree), in nats."""

    edus: tuple[EduScore, ...]
    closing: float
    """The surprisal of joining units after the last EDU."""

    @property
    def log_probability(self) -> float:
        """log p(words, tree)."""
        return -math.fsum([*(edu.surprisal for edu in self.edus), self.closing])

    @property
    def n_words(self) -> int:
        """The number of words, including the ends of EDUs."""
        return sum(len(edu.words) for edu in self.edus)


@torch.inference_mode()
def score_tree(finder: RnngFinder, document: Document) -> TreeScore:
    """Return the surprisals of a document with its tree, after binarising it and mapping it to coarse relations."""
    one = single_model(finder)
    tree = model_tree(document, one.model.symbols.actions.pairs)
    (document,) = finder.prepare([document])
    example = prepare(document, one.model.symbols, tree, one.lowercase, one.model.tokenizer)
    network = one.model.network
    gold = derive(example, one.model.symbols.nucleus_is_right, network.has_kinds)
    batch = make_batch([example], [gold], network.window_shape).to(network.embeddings.weight.device)
    found = network(batch)
    words = iter([-logp for logp in found.words.double().tolist()])
    edus: list[EduScore] = []
    structure: list[float] = []
    names = [[*own, EOS] for own in mask_entities(document, one.lowercase).edus]
    for action, logp in zip(example.actions, found.actions.double().tolist(), strict=True):
        structure.append(0.0 - logp)
        if action == GENERATE:
            own = names[len(edus)] if network.language_model is not None else []
            edus.append(EduScore(math.fsum(structure), tuple((name, next(words)) for name in own)))
            structure = []
    return TreeScore(tuple(edus), math.fsum(structure))


def single_model(finder: RnngFinder) -> Member:
    """Return the only model of a finder. Raises an error for an ensemble."""
    if len(finder.members) > 1:
        raise UsageError(f"likelihoods need a single model; {finder.settings.name!r} is an ensemble")
    check_process(torch.device(finder.device))
    return finder.members[0]


def model_tree(document: Document, labels: Sequence[Label]) -> Tree:
    """Return the tree of a document in the form that a model with these labels uses: binary, with known relations."""
    return prepare_tree(require_tree(document), detect_inventory(relation for relation, _ in labels))


# The likelihood of words with any tree.


@dataclass(frozen=True)
class TextScore:
    """Trees drawn from a chart, and the estimates of p(words) and p(tree | words) based on them."""

    trees: Sequence[Tree]
    logps: NDArray[np.float64]
    """log p(words, tree) of each tree."""
    proposed_logps: NDArray[np.float64]
    """log q(tree) of each tree, under the chart."""

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of each sample in p(words). The shares sum to one."""
        weights = self.logps - self.proposed_logps
        parts = np.exp(weights - weights.max())
        shares: NDArray[np.float64] = parts / parts.sum()
        return shares

    @cached_property
    def log_probability(self) -> float:
        """The estimate of log p(words).

        The estimate of p(words) is unbiased, so that of its logarithm is too low on average.
        """
        weights = self.logps - self.proposed_logps
        return float(weights.max() + np.log(np.exp(weights - weights.max()).mean()))

    @cached_property
    def effective_size(self) -> float:
        """The effective sample size (Kish), from 1 to the number of samples."""
        return float(1 / (self.shares**2).sum())

    @cached_property
    def standard_error(self) -> float:
        """The standard error of the log-probability, which is the relative standard error of p(words)."""
        n = len(self.shares)
        return math.sqrt(max((1 / self.effective_size - 1 / n) * n / (n - 1), 0.0))

    def distribution(self) -> dict[Tree, float]:
        """Return the trees and their probabilities given the words, most probable first."""
        found: dict[Tree, float] = defaultdict(float)
        for tree, share in zip(self.trees, self.shares.tolist(), strict=True):
            found[tree] += share
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def unit_probabilities(self) -> dict[tuple[int, int], float]:
        """Return the probability of each unit (start, stop) given the words. Units that are not listed have 0."""
        found: dict[tuple[int, int], float] = defaultdict(float)
        for tree, share in zip(self.trees, self.shares.tolist(), strict=True):
            for unit in units(tree):
                found[unit.start, unit.stop] += share
        return dict(sorted(found.items()))


class Proposal(Protocol):
    """A distribution over the labelled trees of a document, such as that of a chart."""

    @property
    def labels(self) -> Sequence[Label]:
        """The labels that trees may have."""

    def sample(self, n: int, seed: int) -> list[Tree]:
        """Draw trees."""

    def log_probabilities(self, trees: Sequence[Tree]) -> list[float]:
        """Return the log-probability of each tree."""


def score_text(
    finder: RnngFinder, proposal: Proposal, document: Document, n_samples: int = 100, seed: int = 1
) -> TextScore:
    """Estimate log p(words) with trees drawn from a proposal, whose labels must be among those of the model.

    The proposal must give every tree a probability above zero, so it must not keep sentences whole. Trees with labels
    that the proposal does not have are left out of the sum, with a warning.
    """
    model = single_model(finder).model
    if n_samples < 2:
        raise UsageError(f"the number of samples must be 2 or more, got {n_samples}")
    _compare_labels(set(model.symbols.actions.pairs), set(proposal.labels))
    # Rebuilt without the proposal's probabilities of units.
    trees = [tree_of(actions_of(tree)) for tree in proposal.sample(n_samples, seed)]
    logps = [parse.logp for parse in score_trees(finder, document, trees)]
    found = TextScore(trees, np.array(logps), np.array(proposal.log_probabilities(trees)))
    if found.effective_size < min(FEW, n_samples):
        fact = f"{document.id}: the effective size of {n_samples} samples is only {found.effective_size:.1f}"
        warnings.warn(ParserWarning(f"{fact}; log p(words) is probably higher"), stacklevel=2)
    return found


def _compare_labels(known: set[Label], drawn: set[Label]) -> None:
    if unknown := drawn - known:
        raise UsageError(f"the model must have all labels of its proposal, but lacks {' '.join(min(unknown))}")
    if missing := sorted(known - drawn):
        labels = ", ".join(map(" ".join, missing))
        fact = f"the proposal never draws {labels}; log p(words) leaves out the trees with these labels"
        warnings.warn(ParserWarning(fact), stacklevel=3)


def score_trees(finder: RnngFinder, document: Document, trees: Sequence[Tree]) -> list[Parse]:
    """Return log p(words, tree) and its parts for each of several binary trees of a document, scored together."""
    one = single_model(finder)
    numbers = one.model.symbols.actions.numbers()
    derivations = [tuple(numbers[action] for action in actions_of(tree)) for tree in trees]
    example = one.prepare(finder.prepare([document])[0])
    scorer = NetworkScorer(one.model.network, [example], one.model.symbols.nucleus_is_right)
    distinct = list(dict.fromkeys(derivations))
    found: dict[tuple[int, ...], Parse] = {}
    for first in range(0, len(distinct), AT_ONCE):
        part = score_derivations(scorer, distinct[first : first + AT_ONCE])
        found |= {parse.actions: parse for parse in part}
    return [found[derivation] for derivation in derivations]


@torch.inference_mode()
def score_derivations(scorer: Scorer, derivations: Sequence[tuple[int, ...]]) -> list[Parse]:
    """Score complete derivations of a scorer's only document together, one action at a time."""
    forest = Forest(scorer)
    documents = torch.zeros(len(derivations), dtype=torch.long, device=scorer.device)
    stacks, n_generated = documents + EMPTY_STACK, documents
    logps = torch.zeros(2, len(derivations), dtype=torch.double, device=scorer.device)
    for actions in torch.tensor(derivations, device=scorer.device).T:
        # A scorer expects the derivations that generate first.
        order = torch.argsort(actions, stable=True)
        n_words = int((actions == GENERATE).sum())
        action_logp, word_logp = scorer.score(forest.states(documents, stacks[order], n_generated[order]), n_words)
        forest.watch(action_logp, word_logp)
        logps[0, order] += action_logp.double().gather(1, actions[order, None])[:, 0]
        logps[1, order[:n_words]] += word_logp.double()
        stacks = forest.advance(documents, stacks, n_generated, actions)
        n_generated = n_generated + (actions == GENERATE)
    forest.check()
    return [Parse(*row) for row in zip(derivations, *logps.tolist(), strict=True)]
