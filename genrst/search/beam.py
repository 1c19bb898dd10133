"""Beam search over computations of equal length: bag-level (Algorithm 2 of the paper) and action-level.

After t actions the cells (i, j) with i + j = t hold all hypotheses, and both kinds of successors lie on t + 1: so one
step scores an anti-diagonal of cells, of all documents, at once, and only that one is kept. The bag-level search keeps
the k best of each cell, the action-level search the k best of a document.

A cell holds exactly the computations whose stack has i − j units. Real trees never need large stacks, so a bound on
them makes the search linear in the length of the document; where the best tree comes up to it, the result says so.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from genrst.errors import UsageError
from genrst.search.completed import Completed
from genrst.search.hypotheses import Forest, start
from genrst.search.parse import Fallen, Found, Parse
from genrst.search.scorer import Scorer
from genrst.search.successors import Candidates, build, expand, rank

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
    """The weight of words in comparisons; 1 is the joint probability, with 0 they are not scored at all."""
    with_trace: bool = False
    """Whether to report what fell off the beam."""

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise UsageError(f"a beam must have a place or more, was: {self.beam}")
        if self.max_stack is not None and self.max_stack < 2:
            raise UsageError(f"a stack must have room for two units or more, was: {self.max_stack}")


def search_beams(scorer: Scorer, options: BeamOptions, generator: torch.Generator | None = None) -> list[Found]:
    """Parse all documents of a scorer. Ties at the end of a beam are broken at random if a generator is given."""
    forest = Forest(scorer)
    n_edus = torch.tensor(scorer.n_edus, device=scorer.device)
    found = [Found([]) for _ in scorer.n_edus]
    completed = Completed(n_edus)
    hypotheses = start(scorer)
    step = 0
    while len(hypotheses):
        candidates = expand(forest, hypotheses, n_edus, options.word_weight, options.max_stack)
        groups = candidates.documents
        if options.level == "bag":
            groups = groups * (max(scorer.n_edus) + 1) + candidates.sizes
        ranks = rank(groups, candidates.scores, generator)
        if options.with_trace:
            _trace(candidates, groups, ranks, options.beam, found)
        hypotheses = build(forest, hypotheses, candidates, (ranks < options.beam).nonzero()[:, 0])
        hypotheses = completed.take(hypotheses)
        step += 1
        if step % COLLECT_STEPS == 0 and len(hypotheses):
            forest.collect(hypotheses)
    completed.record(forest, found, options.word_weight, options.max_stack)
    return found


def search_greedily(scorer: Scorer) -> list[Parse]:
    """In every document the best structural action at every step.

    GEN competes with RE by p_trans alone: the words of an EDU are never likelier than 1, so if they counted, GEN would
    always come last and every tree would branch to the left.
    """
    options = BeamOptions(beam=1, level="action", max_stack=None, word_weight=0.0)
    return [found.parses[0] for found in search_beams(scorer, options)]


def _trace(candidates: Candidates, groups: Tensor, ranks: Tensor, beam: int, found: list[Found]) -> None:
    """Report the candidates that are not among the k best of their group."""
    last_kept = {
        int(groups[row]): float(candidates.scores[row]) for row in (ranks == beam - 1).nonzero()[:, 0].tolist()
    }
    for row in (ranks >= beam).nonzero()[:, 0].tolist():
        n_generated = int(candidates.n_generated[row])
        fallen = Fallen(
            n_generated,
            n_generated - int(candidates.sizes[row]),
            float(candidates.scores[row]),
            last_kept[int(groups[row])],
        )
        found[int(candidates.documents[row])].trace.append(fallen)
