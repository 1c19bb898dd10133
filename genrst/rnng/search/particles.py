"""Sample trees of a document by sequential Monte Carlo (a particle filter; not in the paper).

A particle is a hypothesis whose actions are drawn one by one from the legal ones. If the model generates neither words
nor layout, and there are no constraints, the resulting trees are independent, exact samples. Otherwise, particles have
weights: the probability of the words of each EDU, and the total probability of all actions that are legal and fit the
layout. Particles are synchronised at every EDU, and resampled by weight if few of them carry most of the weight. With
more particles, the weighted trees approach p(tree | words, constraints).

See Doucet and Johansen (2009), A tutorial on particle filtering and smoothing, section 3.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from genrst.errors import GenrstError, UsageError
from genrst.rnng.search.hypotheses import Beams, Forest, start, where
from genrst.rnng.search.results import Parse
from genrst.rnng.search.scorer import Constrained, Scorer
from genrst.rnng.search.successors import Chosen, build, expand
from genrst.rnng.transitions.actions import GENERATE
from genrst.trees.constraints import ResolvedConstraints


@dataclass(frozen=True, slots=True)
class Samples:
    """Trees drawn for a document."""

    parses: list[Parse]
    effective_size: float
    """The smallest effective sample size of the particles at any EDU."""
    log_total: float
    """An estimate of the log of the total probability of all trees: of log p(words), if there are no constraints."""


@torch.inference_mode()
def sample_trees(
    scorer: Scorer,
    n_samples: int,
    generator: torch.Generator,
    constraints: ResolvedConstraints | None = None,
    n_particles: int = 1,
) -> Samples:
    """Draw trees of a scorer's only document, with at least as many particles as samples."""
    if n_samples < 1:
        raise UsageError(f"the number of samples must be 1 or more, got {n_samples}")
    particles = _Particles(
        scorer if constraints is None else Constrained(scorer, [constraints]), max(n_samples, n_particles), generator
    )
    (n_edus,) = scorer.n_edus
    for edu in range(n_edus):
        particles.step_until(partial(_has_generated, edu + 1))
        particles.weigh()
    particles.step_until(lambda beam: beam.sizes == 1)
    particles.weigh()
    return particles.samples(n_samples)


class _Particles:
    """Hypotheses about a document as the slots of a beam, with their weights."""

    def __init__(self, scorer: Scorer, n: int, generator: torch.Generator) -> None:
        self._forest, self._generator, self._device = Forest(scorer), generator, scorer.device
        self.beam = start(scorer).slots(torch.zeros(1, n, dtype=torch.long, device=self._device))
        self._log_weights = torch.zeros(n, dtype=torch.double, device=self._device)
        self._effective_size, self._log_total = float(n), 0.0

    def step_until(self, is_there: Callable[[Beams], Tensor]) -> None:
        """Take actions until the condition holds for every particle."""
        while bool((acts := self.beam.is_alive & ~is_there(self.beam)).any()):
            self._step(acts)

    def _step(self, acts: Tensor) -> None:
        """Take an action of each particle that acts. Shape: (1, particles)"""
        acting = self.beam.keep(acts)
        successors = expand(self._forest, acting)
        offered = torch.cat([successors.generate_logp[:, :, None], successors.reduce_logp], dim=2)
        offered = offered - self.beam.action_logp[:, :, None]
        # The maximum of log-probabilities with Gumbel noise is a draw from their distribution.
        noise = torch.rand(offered.shape, dtype=torch.double, generator=self._generator).to(self._device)
        actions = (offered - (-noise.log()).log()).argmax(dim=2)
        slots = torch.arange(actions.shape[1], device=self._device)[None]
        after = build(self._forest, acting, successors, acting.documents, Chosen(slots, actions, acts))
        words = torch.where(actions == GENERATE, successors.word_logp - self.beam.word_logp, 0)
        self._log_weights += torch.where(acts, offered.logsumexp(dim=2) + words, 0)[0]
        self.beam = where(acts, after, self.beam)
        if self._forest.is_full:
            self._forest.collect(self.beam.stacks.flatten(), int(self.beam.sizes.max()))

    def weigh(self) -> None:
        """Resample the particles if their effective size is less than half of their number."""
        self._forest.check()
        n, total = len(self._log_weights), self._log_weights.logsumexp(dim=0)
        size = float((2 * total - (2 * self._log_weights).logsumexp(dim=0)).exp())
        self._effective_size = min(self._effective_size, size)
        if size < n / 2:
            self.beam = self.beam.slots(self._draw(n)[None])
            self._log_total += float(total) - math.log(n)
            self._log_weights.zero_()

    def _draw(self, n: int) -> Tensor:
        """Draw particles by systematic resampling: at n equal distances along the cumulative weights."""
        places = (torch.arange(n) + torch.rand((), dtype=torch.double, generator=self._generator)) / n
        shares = self._log_weights.softmax(dim=0).cumsum(dim=0)
        return torch.searchsorted(shares, places.to(self._device)).clamp_max(len(shares) - 1)

    def samples(self, n: int) -> Samples:
        """Draw samples from complete particles."""
        total = float(self._log_weights.logsumexp(dim=0)) - math.log(len(self._log_weights))
        if total == -math.inf:
            raise GenrstError("every tree that was drawn has a probability of zero")
        drawn = self.beam.slots(self._draw(n)[None])
        logp = drawn.action_logp[0].tolist(), drawn.word_logp[0].tolist()
        parses = [Parse(*parse) for parse in zip(self._forest.actions(drawn.stacks[0]), *logp, strict=True)]
        return Samples(parses, self._effective_size, self._log_total + total)


def _has_generated(n_edus: int, beam: Beams) -> Tensor:
    return beam.n_generated >= n_edus
