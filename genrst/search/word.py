"""Word-level beam search with candidate fast-tracking (Fried et al. 2017; Stern et al. 2017; Algorithm 1 of the paper).

A document has a beam for the EDU it has come to and one for the next. At each step all successors of the current beam
compete: the k_s best that generate the next EDU go straight to the next beam; of the rest the k best are kept, those
that generate in the next beam, those that reduce in the current one. When the next beam has k_w hypotheses, or nothing
is left to reduce, it is cut to k_w and becomes the current one.

Read literally, the paper's Algorithm 1 with k_w = k fills the next beam before anything is reduced; this published form
is what gives its figures.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from genrst.errors import UsageError
from genrst.search.beam import COLLECT_STEPS
from genrst.search.completed import Completed
from genrst.search.hypotheses import Forest, Hypotheses, join, start
from genrst.search.parse import Found
from genrst.search.scorer import Scorer
from genrst.search.successors import build, expand, rank


@dataclass(frozen=True, slots=True)
class WordOptions:
    """The three sizes; the paper found k_w = k and k_s = k/10 best."""

    beam: int = 10
    """k, of the successors at each step."""
    word_beam: int | None = None
    """k_w, of hypotheses for the next EDU; as `beam` if None."""
    fast_beam: int | None = None
    """k_s, fast-tracked; a tenth of `beam`, at least 1, if None."""
    word_weight: float = 1.0

    def __post_init__(self) -> None:
        beam, word_beam, fast_beam = self.sizes
        if min(beam, word_beam) < 1 or fast_beam < 0:
            raise UsageError(f"a beam must have a place or more, was: {beam}, {word_beam} and {fast_beam}")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """k, k_w and k_s."""
        fast = max(1, self.beam // 10) if self.fast_beam is None else self.fast_beam
        return self.beam, self.beam if self.word_beam is None else self.word_beam, fast


def search_words(scorer: Scorer, options: WordOptions, generator: torch.Generator | None = None) -> list[Found]:
    """Parse all documents of a scorer, each at its own pace."""
    forest = Forest(scorer)
    n_edus = torch.tensor(scorer.n_edus, device=scorer.device)
    completed = Completed(n_edus)
    current = start(scorer)
    waiting = current.rows(torch.zeros(0, dtype=torch.long, device=scorer.device))
    step = 0
    while len(current):
        generated, reduced = _step(forest, current, n_edus, options, generator)
        reduced = completed.take(reduced)
        # A document with k complete trees is done.
        reduced = reduced.rows((completed.counts[reduced.documents] < options.beam).nonzero()[:, 0])
        waiting = join([waiting, completed.take(generated)])
        current, waiting = _swap(reduced, waiting, len(n_edus), options, generator)
        step += 1
        if step % COLLECT_STEPS == 0 and len(current):
            forest.collect(join([current, waiting]))
    found = [Found([]) for _ in scorer.n_edus]
    completed.record(forest, found, options.word_weight, None)
    for one in found:
        del one.parses[options.beam :]
    return found


def _step(
    forest: Forest, current: Hypotheses, n_edus: Tensor, options: WordOptions, generator: torch.Generator | None
) -> tuple[Hypotheses, Hypotheses]:
    """Expand the current beams; returns what goes to the next beams and what stays in the current ones."""
    beam, _, fast_beam = options.sizes
    candidates = expand(forest, current, n_edus, options.word_weight)
    is_generate = candidates.actions == 0
    # Ranks of GEN successors among themselves: the others are put into groups of their own.
    n_documents = len(n_edus)
    is_fast = is_generate & (
        rank(candidates.documents + n_documents * ~is_generate, candidates.scores, generator) < fast_beam
    )
    others = rank(candidates.documents + n_documents * is_fast, candidates.scores, generator)
    is_kept = is_fast | (others < beam)
    generated = build(forest, current, candidates, (is_kept & is_generate).nonzero()[:, 0])
    reduced = build(forest, current, candidates, (is_kept & ~is_generate).nonzero()[:, 0])
    return generated, reduced


def _swap(
    reduced: Hypotheses, waiting: Hypotheses, n_documents: int, options: WordOptions, generator: torch.Generator | None
) -> tuple[Hypotheses, Hypotheses]:
    """Documents whose next beam is full, or that have nothing left to reduce, go on to the next EDU."""
    _, word_beam, _ = options.sizes
    n_waiting = torch.bincount(waiting.documents, minlength=n_documents)
    n_reduced = torch.bincount(reduced.documents, minlength=n_documents)
    goes_on = (n_waiting >= word_beam) | ((n_reduced == 0) & (n_waiting > 0))
    scores = waiting.action_logp + options.word_weight * waiting.word_logp
    is_next = goes_on[waiting.documents] & (rank(waiting.documents, scores, generator) < word_beam)
    stays = reduced.rows((~goes_on[reduced.documents]).nonzero()[:, 0])
    still_waiting = waiting.rows((~goes_on[waiting.documents]).nonzero()[:, 0])
    return join([stays, waiting.rows(is_next.nonzero()[:, 0])]), still_waiting
