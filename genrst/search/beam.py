"""Beam search over computations of equal length: bag-level (Algorithm 2 of the paper) and action-level.

After t actions the cells (i, j) with i + j = t hold all hypotheses, and both kinds of successors lie on t + 1: so one
step scores an anti-diagonal of cells, of all documents, at once, and only that one is kept. The bag-level search keeps
the k best of each cell, the action-level search the k best of a document.

A cell holds exactly the computations whose stack has i − j units. Real trees never need large stacks, so a bound on it
makes the search linear in the length of the document; where it cuts something off, the result says so.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from genrst.search.hypotheses import Forest, Hypotheses, join, start
from genrst.search.parse import Fallen, Found, Parse
from genrst.search.scorer import Scorer

COLLECT_STEPS = 64
"""Steps between two collections of what no hypothesis reaches any more."""


@dataclass(frozen=True, slots=True)
class BeamOptions:
    """How a beam search goes about it."""

    beam: int = 10
    """k, the number of hypotheses that are kept of a cell (bag-level) or of a document (action-level)."""
    level: Literal["bag", "action"] = "bag"
    max_stack: int | None = 40
    """The largest stack that is followed; None for no bound."""
    word_weight: float = 1.0
    """The weight of words in comparisons; 1 is the joint probability."""
    with_trace: bool = False
    """Whether to report what fell off the beam."""


def search_beams(scorer: Scorer, options: BeamOptions, generator: torch.Generator | None = None) -> list[Found]:
    """Parse all documents of a scorer. Ties at the end of a beam are broken at random if a generator is given."""
    forest = Forest(scorer)
    n_edus = torch.tensor(scorer.n_edus, device=scorer.device)
    found = [Found([]) for _ in scorer.n_edus]
    hypotheses = start(scorer)
    step = 0
    while len(hypotheses):
        candidates = _expand(forest, hypotheses, n_edus, options, found)
        chosen = _choose(candidates, options, generator, found)
        hypotheses = _advance(forest, hypotheses, candidates, chosen)
        hypotheses = _finish(forest, hypotheses, n_edus, found)
        step += 1
        if step % COLLECT_STEPS == 0 and len(hypotheses):
            forest.collect(hypotheses)
    return found


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Successors before they are built: the hypothesis they come from, the action, and their scores."""

    parents: Tensor
    actions: Tensor
    groups: Tensor
    """Successors of one group compete."""
    documents: Tensor
    sizes: Tensor
    n_generated: Tensor
    action_logp: Tensor
    word_logp: Tensor
    scores: Tensor


def _expand(
    forest: Forest, hypotheses: Hypotheses, n_edus: Tensor, options: BeamOptions, found: list[Found]
) -> _Candidates:
    """Score all successors; nothing is composed yet, so labels that do not enter a beam cost nothing."""
    scorer = forest.scorer
    second, top = forest.tops(hypotheses)
    where = (hypotheses.documents, hypotheses.stacks, second, top, hypotheses.n_generated)
    action_logp = scorer.action_logp(*where).double()
    can_generate = hypotheses.n_generated < n_edus[hypotheses.documents]
    if options.max_stack is not None:
        is_cut = can_generate & (hypotheses.sizes >= options.max_stack)
        can_generate &= ~is_cut
        for document in torch.unique(hypotheses.documents[is_cut]).tolist():
            found[document].is_bounded = True
    generating = can_generate.nonzero()[:, 0]
    word_logp = torch.zeros_like(hypotheses.word_logp)
    if len(generating):
        word_logp[generating] = scorer.word_logp(*(column[generating] for column in where)).double()
    reducing = (hypotheses.sizes >= 2).nonzero()[:, 0]
    n_labels = scorer.n_labels
    parents = torch.cat([generating, reducing.repeat_interleave(n_labels)])
    labels = torch.arange(1, n_labels + 1, device=scorer.device).repeat(len(reducing))
    actions = torch.cat([torch.zeros_like(generating), labels])
    is_generate = actions == 0
    of_actions = hypotheses.action_logp[parents] + action_logp[parents, actions]
    of_words = hypotheses.word_logp[parents] + torch.where(is_generate, word_logp[parents], 0.0)
    documents = hypotheses.documents[parents]
    sizes = hypotheses.sizes[parents] + torch.where(is_generate, 1, -1)
    groups = documents if options.level == "action" else documents * (int(n_edus.max()) + 2) + sizes
    n_generated = hypotheses.n_generated[parents] + is_generate
    scores = of_actions + options.word_weight * of_words
    return _Candidates(parents, actions, groups, documents, sizes, n_generated, of_actions, of_words, scores)


def _choose(
    candidates: _Candidates, options: BeamOptions, generator: torch.Generator | None, found: list[Found]
) -> Tensor:
    """The k best candidates of each group."""
    order = torch.arange(len(candidates.scores), device=candidates.scores.device)
    if generator is not None:
        order = torch.randperm(len(order), generator=generator).to(order.device)
    order = order[torch.argsort(candidates.scores[order], descending=True, stable=True)]
    order = order[torch.argsort(candidates.groups[order], stable=True)]
    groups = candidates.groups[order]
    is_first = torch.ones_like(groups, dtype=torch.bool)
    is_first[1:] = groups[1:] != groups[:-1]
    places = torch.arange(len(groups), device=groups.device)
    first_places = torch.where(is_first, places, 0).cummax(0).values
    ranks = places - first_places
    if options.with_trace:
        _trace(candidates, order, first_places, ranks, options.beam, found)
    return order[ranks < options.beam]


def _trace(
    candidates: _Candidates, order: Tensor, first_places: Tensor, ranks: Tensor, beam: int, found: list[Found]
) -> None:
    for place in (ranks >= beam).nonzero()[:, 0].tolist():
        lost, last = int(order[place]), int(order[int(first_places[place]) + beam - 1])
        n_generated, size = int(candidates.n_generated[lost]), int(candidates.sizes[lost])
        scores = float(candidates.scores[lost]), float(candidates.scores[last])
        found[int(candidates.documents[lost])].trace.append(Fallen(n_generated, n_generated - size, *scores))


def _advance(forest: Forest, hypotheses: Hypotheses, candidates: _Candidates, chosen: Tensor) -> Hypotheses:
    """Build the chosen successors."""
    is_generate = candidates.actions[chosen] == 0
    parts = []
    for rows, build in ((chosen[is_generate], True), (chosen[~is_generate], False)):
        if not len(rows):
            continue
        before = hypotheses.rows(candidates.parents[rows])
        stacks = forest.generate(before) if build else forest.reduce(before, candidates.actions[rows] - 1)
        parts.append(
            Hypotheses(
                candidates.documents[rows],
                stacks,
                candidates.sizes[rows],
                candidates.n_generated[rows],
                candidates.action_logp[rows],
                candidates.word_logp[rows],
            )
        )
    return join(parts) if parts else hypotheses.rows(chosen)


def _finish(forest: Forest, hypotheses: Hypotheses, n_edus: Tensor, found: list[Found]) -> Hypotheses:
    """Take completed hypotheses out, the best of a document first."""
    is_complete = (hypotheses.sizes == 1) & (hypotheses.n_generated == n_edus[hypotheses.documents])
    if bool(is_complete.any()):
        done = hypotheses.rows(is_complete.nonzero()[:, 0])
        columns = (done.documents, done.stacks, done.action_logp, done.word_logp)
        for document, stack, action_logp, word_logp in zip(*(column.tolist() for column in columns), strict=True):
            found[document].parses.append(Parse(forest.actions(stack), action_logp, word_logp))
        hypotheses = hypotheses.rows((~is_complete).nonzero()[:, 0])
    return hypotheses
