"""Successors of hypotheses, which are scored, chosen by a search, and only then built.

A unit is only composed after it has entered a beam, so the cost of a label that does not enter is only its score.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from genrst.rnng.search.hypotheses import EMPTY_STACK, Beams, Forest
from genrst.rnng.search.scorer import sync_is_free
from genrst.rnng.transitions.actions import GENERATE


@dataclass(frozen=True, slots=True)
class Successors:
    """The log-probabilities of beams after another action; −∞ if it is illegal or there is no hypothesis."""

    generate_logp: Tensor
    """Log-probabilities of the actions, including GEN. Shape: (beams, slots)"""
    word_logp: Tensor
    """Log-probabilities of the words, including those of the next EDU. Shape: (beams, slots)"""
    reduce_logp: Tensor
    """Log-probabilities of the actions, including RE with each label. Shape: (beams, slots, labels)"""
    generate_scores: Tensor
    """The scores to compare successors by, with the shapes of `generate_logp` and `reduce_logp`."""
    reduce_scores: Tensor


def expand(
    forest: Forest,
    beams: Beams,
    word_weight: float = 1.0,
    max_stack: int | None = None,
    n_generating: int | None = None,
    is_level: bool = True,
) -> Successors:
    """Score all successors of hypotheses: GEN if an EDU is left and the stack has room, and RE with every label.

    If `n_generating` is known, only the first `n_generating` beams may generate. With `is_level`, all hypotheses of a
    beam have generated the same number of EDUs.
    """
    n_beams, n_slots = beams.shape
    can_generate = beams.n_generated < forest.n_edus[beams.documents][:, None]
    if max_stack is not None:
        can_generate &= beams.sizes < max_stack
    n_words = n_slots * (n_beams if n_generating is None else n_generating) if word_weight else 0
    if sync_is_free(forest.device):
        action_logp, word_logp = _score_needed(forest, beams, can_generate.flatten(), n_words)
    else:
        action_logp, word_logp = _score_all(forest, beams, can_generate.flatten(), n_words, n_slots if is_level else 1)
    forest.watch(action_logp, word_logp)
    action_logp = action_logp.view(n_beams, n_slots, -1) + beams.action_logp[:, :, None]
    generate_logp = action_logp[:, :, GENERATE].masked_fill(~can_generate, -torch.inf)
    word_logp = word_logp.view(n_beams, n_slots) + beams.word_logp
    reduce_logp = action_logp[:, :, 1:]
    reduce_scores = reduce_logp + word_weight * beams.word_logp[:, :, None]
    return Successors(generate_logp, word_logp, reduce_logp, generate_logp + word_weight * word_logp, reduce_scores)


def _score_needed(forest: Forest, beams: Beams, can_generate: Tensor, n_words: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities of all next actions, −∞ if there is no hypothesis, and of the next words.

    Shape: (hypotheses, 1 + n_labels), (hypotheses)
    """
    is_alive = beams.is_alive.flatten()
    generating, others = (is_alive & can_generate).nonzero()[:, 0], (is_alive & ~can_generate).nonzero()[:, 0]
    rows = torch.cat([generating, others])
    states = forest.states(*(column[rows] for column in _columns(beams)))
    some_actions, some_words = forest.scorer.score(states, len(generating) if n_words else 0)
    dtype = beams.word_logp.dtype
    action_logp = some_actions.new_full((len(is_alive), some_actions.shape[1]), -torch.inf, dtype=dtype)
    word_logp = some_actions.new_zeros(len(is_alive), dtype=dtype)
    word_logp[generating[: len(some_words)]] = some_words.to(dtype)
    return action_logp.index_copy_(0, rows, some_actions.to(dtype)), word_logp


def _score_all(forest: Forest, beams: Beams, can_generate: Tensor, n_words: int, n_alike: int) -> tuple[Tensor, Tensor]:
    """Return the same as `_score_needed`, but score every slot and drop the scores of those without a hypothesis."""
    is_alive = beams.is_alive.flatten()
    documents, stacks, n_generated = _columns(beams)
    n_generated = torch.where(is_alive, n_generated, 0)
    if n_alike > 1:
        n_generated = n_generated.view(-1, n_alike).amax(dim=1).repeat_interleave(n_alike)
    all_actions, some_words = forest.scorer.score(forest.states(documents, stacks, n_generated), n_words, n_alike)
    dtype = beams.word_logp.dtype
    word_logp = torch.zeros(len(is_alive), dtype=dtype, device=forest.device)
    word_logp[:n_words] = torch.where((is_alive & can_generate)[:n_words], some_words.to(dtype), 0.0)
    return torch.where(is_alive[:, None], all_actions.to(dtype), -torch.inf), word_logp


def _columns(beams: Beams) -> tuple[Tensor, Tensor, Tensor]:
    """Return the document, the stack and the number of generated EDUs of every slot."""
    return beams.documents.repeat_interleave(beams.shape[1]), beams.stacks.flatten(), beams.n_generated.flatten()


def choose(scores: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
    """Return the columns of the k best scores of each row, best first; fewer if all rows have fewer above −∞.

    Equal scores keep their order, or are shuffled if a generator is given.
    """
    if generator is None:
        best, order = scores.sort(dim=1, descending=True, stable=True)
    else:
        shuffled = torch.rand(scores.shape, generator=generator).argsort(dim=1).to(scores.device)
        best, order = scores.gather(1, shuffled).sort(dim=1, descending=True, stable=True)
        order = shuffled.gather(1, order)
    k = min(k, scores.shape[1])
    if sync_is_free(scores.device):
        k = max(1, int((best[:, :k] > -torch.inf).sum(dim=1).max())) if len(scores) else k
    return order[:, :k]


NOWHERE = -1
"""A source without hypotheses."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The beams that the hypotheses of new beams come from. Shape of all: (beams)"""

    documents: Tensor
    generates_from: Tensor
    """The old beam whose hypotheses generate, or `NOWHERE`."""
    reduces_from: Tensor
    """The old beam whose hypotheses reduce, or `NOWHERE`."""


class Chosen(NamedTuple):
    """Successors that have entered a beam. Shape of all: (beams, slots)"""

    parents: Tensor
    """The slot of the parent, numbered over all beams."""
    actions: Tensor
    is_there: Tensor
    """Whether the slot has a successor."""


def chosen_from(offered: Tensor, columns: Tensor, sources: Sources, successors: Successors) -> Chosen:
    """Decode columns of offered scores: the slots of a beam that generate, then those of a beam that reduce.

    Shape: offered (beams, successors), columns (beams, slots)
    """
    _, n_slots, n_labels = successors.reduce_logp.shape
    is_generate = columns < n_slots
    slot = torch.where(is_generate, columns, (columns - n_slots) // n_labels)
    action = torch.where(is_generate, GENERATE, 1 + (columns - n_slots) % n_labels)
    beam = torch.where(is_generate, sources.generates_from[:, None], sources.reduces_from[:, None])
    return Chosen((beam * n_slots + slot).clamp_min(0), action, offered.gather(1, columns) > -torch.inf)


def build(forest: Forest, beams: Beams, successors: Successors, documents: Tensor, chosen: Chosen) -> Beams:
    """Build the chosen successors as hypotheses of new beams for these documents."""
    parents, labels = chosen.parents.flatten(), (chosen.actions - 1).clamp_min(0).flatten()
    is_generate = chosen.actions.flatten() == GENERATE
    reduced = successors.reduce_logp.flatten(0, 1)[parents, labels]
    action_logp = torch.where(is_generate, successors.generate_logp.flatten()[parents], reduced)
    action_logp = torch.where(chosen.is_there.flatten(), action_logp, -torch.inf)
    words = torch.where(is_generate, successors.word_logp.flatten()[parents], beams.word_logp.flatten()[parents])
    n_generated = beams.n_generated.flatten()[parents]
    before = (documents.repeat_interleave(chosen.actions.shape[1]), beams.stacks.flatten()[parents], n_generated)
    stacks = _advance(forest, (*before, chosen.actions.flatten()), chosen.is_there.flatten())
    sizes = beams.sizes.flatten()[parents] + torch.where(is_generate, 1, -1)
    columns = (stacks, sizes, n_generated + is_generate, action_logp, words)
    return Beams(documents, *(column.view(chosen.actions.shape) for column in columns))


def _advance(forest: Forest, columns: tuple[Tensor, Tensor, Tensor, Tensor], is_alive: Tensor) -> Tensor:
    """Return the stacks of successors; the empty stack if there is no hypothesis."""
    if not sync_is_free(forest.device):
        return torch.where(is_alive, forest.advance(*columns), EMPTY_STACK)
    rows = is_alive.nonzero()[:, 0]
    stacks = torch.full_like(columns[1], EMPTY_STACK)
    stacks[rows] = forest.advance(*(column[rows] for column in columns))
    return stacks
