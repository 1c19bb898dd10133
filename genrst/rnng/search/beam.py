"""Beam search over derivations of equal length: bag-level (Algorithm 2 of the paper), action-level and greedy.

Cell (i, j) holds the hypotheses with i EDUs and j reductions. After t actions, all hypotheses are on the anti-diagonal
i + j = t, and their successors on t + 1. So one step scores an anti-diagonal of all documents at once, and only the
latest one is kept. Bag-level search keeps the k best hypotheses of each cell, action-level search the k best of a
document. Word-level search, which compares derivations of different lengths, is in `genrst.rnng.search.word`.

A cell holds exactly the derivations whose stack has i − j units. Because real trees do not need large stacks, a limit
on the stack makes the search linear in the length of the document. The result tells whether the best tree reaches the
limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genrst.allowance import checkpoint
from genrst.encoder.tokenizer import IntArray
from genrst.errors import UsageError
from genrst.rnng.search.cuda import replay_search
from genrst.rnng.search.hypotheses import Beams, Forest, start
from genrst.rnng.search.results import Completed, Parse, SearchResult
from genrst.rnng.search.scorer import Constrained, Scorer, sync_is_free
from genrst.rnng.search.successors import NOWHERE, Sources, Successors, build, choose, chosen_from, expand
from genrst.trees.constraints import ResolvedConstraints


@dataclass(frozen=True, slots=True)
class BeamOptions:
    """The options of a bag-level or action-level search."""

    beam: int = 10
    """k, the number of hypotheses to keep per cell (bag-level) or per document (action-level)."""
    level: Literal["bag", "action"] = "bag"
    max_stack: int | None = 40
    """The largest stack to explore; None for no limit."""
    word_weight: float = 1.0
    """The weight of words in comparisons. 1 gives the joint probability; with 0, words are not scored at all."""

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise UsageError(f"a beam must have at least one slot, got {self.beam}")
        if self.max_stack is not None and self.max_stack < 2:
            raise UsageError(f"a stack must have room for at least two units, got {self.max_stack}")


@torch.inference_mode()
def search_beams(
    scorer: Scorer,
    options: BeamOptions,
    generator: torch.Generator | None = None,
    constraints: Sequence[ResolvedConstraints] | None = None,
) -> list[SearchResult]:
    """Parse all documents of a scorer, with optional constraints on the trees of each.

    Ties at the end of a beam are broken at random if a generator is given.
    """
    if not scorer.n_edus:
        return []
    max_stack = options.max_stack
    if constraints is not None:
        scorer = constrained = Constrained(scorer, constraints, max_stack)
        options = replace(options, max_stack=constrained.max_stack)
    forest, completed = Forest(scorer), Completed()
    # Random draws and constraints need results during the search anyway.
    is_free = sync_is_free(scorer.device) or generator is not None or constraints is not None
    if options.level == "bag" and options.max_stack and not is_free:
        replay_search(forest, completed, options.beam, options.max_stack, lambda *state: _step(forest, options, *state))
    else:
        _search(forest, completed, options, generator)
    forest.check()
    return completed.results(forest, options.word_weight, max_stack)


def search_greedily(scorer: Scorer) -> list[Parse]:
    """Take the best structural action at every step of every document.

    GEN and RE are compared by p_trans alone. The probability of an EDU's words is far below 1, so if words counted, GEN
    would always lose and every tree would branch to the left.
    """
    options = BeamOptions(beam=1, level="action", max_stack=None, word_weight=0.0)
    return [result.parses[0] for result in search_beams(scorer, options)]


def _search(forest: Forest, completed: Completed, options: BeamOptions, generator: torch.Generator | None) -> None:
    n_edus, device = forest.scorer.n_edus, forest.device
    beams, n_generating = start(forest.scorer), len(n_edus)
    is_bag = options.level == "bag"
    diagonals = bag_diagonals(n_edus, options.max_stack, device) if is_bag else action_diagonals(n_edus, device)
    for step, diagonal in enumerate(diagonals, start=1):
        checkpoint()
        beams = _step(forest, options, beams, diagonal, n_generating, generator)
        completed.add(beams.rows(diagonal.complete))
        beams, n_generating = beams.rows(diagonal.going_on), diagonal.n_generating
        if forest.is_full:
            forest.collect(beams.stacks.flatten(), min(step, options.max_stack or step))


def _step(
    forest: Forest,
    options: BeamOptions,
    beams: Beams,
    sources: Sources,
    n_generating: int | None = None,
    generator: torch.Generator | None = None,
) -> Beams:
    """Return the beams after another action."""
    is_level = options.level == "bag"
    successors = expand(forest, beams, options.word_weight, options.max_stack, n_generating, is_level)
    scores = _offered(successors, sources)
    chosen = chosen_from(scores, choose(scores, options.beam, generator), sources, successors)
    return build(forest, beams, successors, sources.documents, chosen)


def _offered(successors: Successors, sources: Sources) -> Tensor:
    """Return the scores of all successors that could enter each beam: those by GEN, then those by RE.

    Shape: (beams, slots · (1 + labels))
    """
    generates = _from(successors.generate_scores, sources.generates_from)
    reduces = _from(successors.reduce_scores.flatten(1), sources.reduces_from)
    return torch.cat([generates, reduces], dim=1)


def _from(scores: Tensor, sources: Tensor) -> Tensor:
    """Return the scores of the source beams; −∞ for `NOWHERE`, which selects the last row."""
    return torch.cat([scores, torch.full_like(scores[:1], -torch.inf)])[sources]


@dataclass(frozen=True, slots=True)
class Diagonal(Sources):
    """The beams after t actions, and the beams that their hypotheses come from.

    All of this follows from the numbers of EDUs, so the CPU can compute it while the search runs on a GPU. In bag-level
    search, each cell (i, j) is a beam, which receives hypotheses by GEN from (i − 1, j) and by RE from (i, j − 1), both
    on t − 1.
    """

    complete: Tensor
    """The beams whose hypotheses are complete trees."""
    going_on: Tensor
    """All other beams. Those that may generate come first."""
    n_generating: int
    """The number of other beams that may generate."""


def bag_diagonals(n_edus: Sequence[int], max_stack: int | None, device: torch.device) -> Iterator[Diagonal]:
    """Yield the diagonals of bag-level search, with a beam per possible stack size."""
    sizes = np.array(n_edus)
    n_sizes = min(max(n_edus), max_stack or max(n_edus)) + 2
    units = np.arange(n_sizes)
    numbers = np.full((len(sizes), n_sizes), NOWHERE)
    numbers[:, 0] = np.arange(len(sizes))
    for t in range(1, 2 * max(n_edus)):
        largest = np.minimum(np.minimum(t, 2 * sizes - t), n_sizes - 2)
        is_there = (units >= 1) & (units % 2 == t % 2) & (units <= largest[:, None])
        documents, size = is_there.nonzero()
        may_generate = ((t + size) // 2 < sizes[documents]) & (size < n_sizes - 2)
        order = np.argsort(~may_generate, kind="stable")
        documents, size = documents[order], size[order]
        sources = numbers[documents, size - 1], numbers[documents, size + 1]
        is_complete = 2 * sizes[documents] - 1 == t
        yield _diagonal(documents, *sources, is_complete, int(may_generate.sum()), device)
        numbers[:] = NOWHERE
        numbers[documents[~is_complete], size[~is_complete]] = np.arange(int((~is_complete).sum()))


def action_diagonals(n_edus: Sequence[int], device: torch.device) -> Iterator[Diagonal]:
    """Yield the diagonals of action-level search, with a beam per document."""
    sizes = np.array(n_edus)
    documents = np.arange(len(sizes))
    for t in range(1, 2 * max(n_edus)):
        sources = np.arange(len(documents))
        is_complete = 2 * sizes[documents] - 1 == t
        yield _diagonal(documents, sources, sources, is_complete, int((~is_complete).sum()), device)
        documents = documents[~is_complete]


def _diagonal(
    documents: IntArray,
    generates_from: IntArray,
    reduces_from: IntArray,
    is_complete: NDArray[np.bool_],
    n_generating: int,
    device: torch.device,
) -> Diagonal:
    parts = (documents, generates_from, reduces_from, is_complete.nonzero()[0], (~is_complete).nonzero()[0])
    # A single transfer for all parts.
    moved = torch.from_numpy(np.concatenate(parts)).to(device, non_blocking=True)
    columns = torch.split(moved, [len(part) for part in parts])
    return Diagonal(columns[0], columns[1], columns[2], columns[3], columns[4], n_generating)
