"""Word-level beam search with candidate fast-tracking (Fried et al. 2017; Stern et al. 2017; section 4 of the paper).

A document has a beam for its current EDU and one for the next. At each step, all successors of the current beam
compete: the k_s best that generate the next EDU go straight to the next beam. Of the rest, the k best are kept: those
that generate in the next beam, those that reduce in the current one. When the next beam has k_w hypotheses, or nothing
is left to reduce, it is pruned to k_w hypotheses and becomes the current one.

This differs from Algorithm 1 as printed in the paper, where successors do not compete: all that generate enter the next
beam, and the k best reductions the current one. A beam of k hypotheses then fills the next one before anything is
reduced, so trees branch to the right. But the trees in the paper's figures branch to the left, as ours do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from genrst.allowance import checkpoint
from genrst.errors import UsageError
from genrst.rnng.search.hypotheses import Beams, Forest, join_slots, start, where
from genrst.rnng.search.results import Completed, SearchResult
from genrst.rnng.search.scorer import Constrained, Scorer, sync_is_free
from genrst.rnng.search.successors import Chosen, Sources, Successors, build, choose, chosen_from, expand
from genrst.rnng.transitions.actions import GENERATE
from genrst.trees.constraints import ResolvedConstraints

LOOK_STEPS = 16
"""On a GPU, the number of steps between two checks whether a search is over."""


@dataclass(frozen=True, slots=True)
class WordOptions:
    """The options of a word-level search. The paper found k_w = k and k_s = k/10 to be best."""

    beam: int = 10
    """k, the number of successors to keep at each step."""
    word_beam: int | None = None
    """k_w, the number of hypotheses for the next EDU; `beam` if None."""
    fast_beam: int | None = None
    """k_s, the number of fast-tracked hypotheses; a tenth of `beam`, at least 1, if None."""
    word_weight: float = 1.0

    def __post_init__(self) -> None:
        beam, word_beam, fast_beam = self.sizes
        if min(beam, word_beam) < 1 or fast_beam < 0:
            raise UsageError(f"a beam must have at least one slot, got {beam}, {word_beam} and {fast_beam}")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """k, k_w and k_s."""
        fast = max(1, self.beam // 10) if self.fast_beam is None else self.fast_beam
        return self.beam, self.beam if self.word_beam is None else self.word_beam, fast


@torch.inference_mode()
def search_words(
    scorer: Scorer,
    options: WordOptions,
    generator: torch.Generator | None = None,
    constraints: Sequence[ResolvedConstraints] | None = None,
) -> list[SearchResult]:
    """Parse all documents of a scorer, each at its own pace, with optional constraints on the trees of each."""
    if not scorer.n_edus:
        return []
    scorer = scorer if constraints is None else Constrained(scorer, constraints)
    search = _Search(scorer, options, generator)
    while search.goes_on():
        checkpoint()
        search.step()
    search.forest.check()
    results = search.completed.results(search.forest, options.word_weight, None)
    for result in results:
        del result.parses[options.beam :]
    return results


class _Search:
    """The state of a search: the current beam and the next beam of each document."""

    def __init__(self, scorer: Scorer, options: WordOptions, generator: torch.Generator | None) -> None:
        self.forest = Forest(scorer)
        self.completed = Completed()
        self._options, self._generator = options, generator
        self._current = start(scorer)
        self._next = self._current.keep(torch.zeros_like(self._current.is_alive))
        self._n_complete = torch.zeros_like(self._current.documents)
        self._step = 0

    def goes_on(self) -> bool:
        """Whether any document has hypotheses left; on a GPU, whether one had at the last check."""
        if sync_is_free(self.forest.device) or self._step % LOOK_STEPS == 0:
            return bool(self._current.is_alive.any())
        return True

    def step(self) -> None:
        """Take an action of every hypothesis in a current beam."""
        after, is_generate = self._expand()
        is_complete = (after.sizes == 1) & (after.n_generated == self.forest.n_edus[after.documents][:, None])
        done, others = after.keep(is_complete), after.keep(~is_complete)
        self.completed.add(done)
        self._n_complete += done.is_alive.sum(dim=1)
        # A document with k complete trees is done.
        is_wanted = (self._n_complete < self._options.beam)[:, None]
        self._swap(others.keep(~is_generate & is_wanted), others.keep(is_generate))
        self._step += 1
        if self.forest.is_full:
            stacks = torch.cat([self._current.stacks.flatten(), self._next.stacks.flatten()])
            self.forest.collect(stacks, min(self._step, max(self.forest.scorer.n_edus)))

    def _expand(self) -> tuple[Beams, Tensor]:
        """Return the successors of the current beams that are kept, and whether each of them generates."""
        beams = self._current
        successors = expand(self.forest, beams, self._options.word_weight)
        # The source of each document's beam is the beam itself.
        rows = torch.arange(len(beams.documents), device=beams.documents.device)
        sources = Sources(beams.documents, rows, rows)
        kept = self._pruned(successors)
        parts = [chosen_from(offered, columns, sources, successors) for offered, columns in kept]
        chosen = Chosen(*(torch.cat(columns, dim=1) for columns in zip(*parts, strict=True)))
        return build(self.forest, beams, successors, beams.documents, chosen), chosen.actions == GENERATE

    def _pruned(self, successors: Successors) -> list[tuple[Tensor, Tensor]]:
        """Return scores, and which of them are kept: the fast-tracked ones, then the best of the others."""
        beam, _, fast_beam = self._options.sizes
        scores = torch.cat([successors.generate_scores, successors.reduce_scores.flatten(1)], dim=1)
        fast = choose(successors.generate_scores, fast_beam, self._generator)[:, :fast_beam]
        without_fast = scores.scatter(1, fast, -torch.inf)
        return [(successors.generate_scores, fast), (without_fast, choose(without_fast, beam, self._generator))]

    def _swap(self, reduced: Beams, generated: Beams) -> None:
        """Advance the documents whose next beam is full, or that have nothing left to reduce, to the next EDU."""
        _, word_beam, _ = self._options.sizes
        waiting = join_slots(self._next, generated)
        is_full = waiting.is_alive.sum(dim=1, keepdim=True) >= word_beam
        goes_on = is_full | ~reduced.is_alive.any(dim=1, keepdim=True)
        waiting = waiting.slots(choose(waiting.scores(self._options.word_weight), word_beam, self._generator))
        self._current = where(goes_on, waiting, reduced)
        self._next = waiting.keep(~goes_on)
