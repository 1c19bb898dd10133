"""Successors of hypotheses: scored first, chosen by a search, and only then built.

Nothing is composed before it has entered a beam, so labels that do not cost nothing but their score.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from genrst.errors import GenrstError
from genrst.search.hypotheses import Forest, Hypotheses, join


@dataclass(frozen=True, slots=True)
class Candidates:
    """Successors that are not built yet: the hypothesis they come from, the action, and what they would be."""

    parents: Tensor
    actions: Tensor
    documents: Tensor
    sizes: Tensor
    n_generated: Tensor
    action_logp: Tensor
    word_logp: Tensor
    scores: Tensor
    """What they are compared by: actions and weighted words."""

    def __len__(self) -> int:
        return len(self.parents)


def expand(
    forest: Forest, hypotheses: Hypotheses, n_edus: Tensor, word_weight: float = 1.0, max_stack: int | None = None
) -> Candidates:
    """All successors of hypotheses: GEN where an EDU is left and the stack has room, RE with every label."""
    scorer = forest.scorer
    can_generate = hypotheses.n_generated < n_edus[hypotheses.documents]
    if max_stack is not None:
        can_generate &= hypotheses.sizes < max_stack
    needs_words = can_generate if word_weight else torch.zeros_like(can_generate)
    where = (hypotheses.documents, hypotheses.stacks, *forest.tops(hypotheses), hypotheses.n_generated)
    action_logp, word_logp = (logp.double() for logp in scorer.score(*where, needs_words))
    _check_numbers(action_logp, word_logp)
    generating, reducing = can_generate.nonzero()[:, 0], (hypotheses.sizes >= 2).nonzero()[:, 0]
    labels = torch.arange(1, scorer.n_labels + 1, device=scorer.device).repeat(len(reducing))
    parents = torch.cat([generating, reducing.repeat_interleave(scorer.n_labels)])
    actions = torch.cat([torch.zeros_like(generating), labels])
    is_generate = actions == 0
    of_actions = hypotheses.action_logp[parents] + action_logp[parents, actions]
    of_words = hypotheses.word_logp[parents] + torch.where(is_generate, word_logp[parents], 0.0)
    return Candidates(
        parents,
        actions,
        hypotheses.documents[parents],
        hypotheses.sizes[parents] + torch.where(is_generate, 1, -1),
        hypotheses.n_generated[parents] + is_generate,
        of_actions,
        of_words,
        of_actions + word_weight * of_words,
    )


def _check_numbers(action_logp: Tensor, word_logp: Tensor) -> None:
    """A broken model gives scores that are no numbers, with which a search could go on for ever.

    Neither is ∞ one, which comes from words whose scores are too large for the factorised softmax.
    """
    if bool((action_logp < torch.inf).all() & (word_logp < torch.inf).all()):
        return
    was = "nan" if bool(torch.isnan(action_logp).any() | torch.isnan(word_logp).any()) else "inf"
    raise GenrstError(f"the log-probability of an action must be a number, was: {was}")


def build(forest: Forest, hypotheses: Hypotheses, candidates: Candidates, chosen: Tensor) -> Hypotheses:
    """The chosen successors as hypotheses."""
    is_generate = candidates.actions[chosen] == 0
    parts = []
    for rows, generates in ((chosen[is_generate], True), (chosen[~is_generate], False)):
        if not len(rows):
            continue
        before = hypotheses.rows(candidates.parents[rows])
        stacks = forest.generate(before) if generates else forest.reduce(before, candidates.actions[rows] - 1)
        columns = (candidates.sizes, candidates.n_generated, candidates.action_logp, candidates.word_logp)
        parts.append(Hypotheses(candidates.documents[rows], stacks, *(column[rows] for column in columns)))
    return join(parts) if parts else hypotheses.rows(chosen)


def rank(groups: Tensor, scores: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """The place of each row among those of its group, the best score first.

    Equal scores keep their order, or come in a random one if a generator is given.
    """
    order = torch.arange(len(scores), device=scores.device)
    if generator is not None:
        order = torch.randperm(len(order), generator=generator).to(order.device)
    order = order[torch.argsort(scores[order], descending=True, stable=True)]
    order = order[torch.argsort(groups[order], stable=True)]
    sorted_groups = groups[order]
    places = torch.arange(len(order), device=scores.device)
    is_first = torch.ones_like(sorted_groups, dtype=torch.bool)
    is_first[1:] = sorted_groups[1:] != sorted_groups[:-1]
    ranks = torch.empty_like(places)
    ranks[order] = places - torch.where(is_first, places, 0).cummax(0).values
    return ranks
