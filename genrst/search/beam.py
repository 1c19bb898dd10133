"""Documents that are searched at once: as many as memory bears, which they need by their EDUs.

Beam search over computations of equal length: bag-level (Algorithm 2 of the paper) and action-level.

After t actions the cells (i, j) with i + j = t hold all hypotheses, and both kinds of successors lie on t + 1: so one
step scores an anti-diagonal of cells, of all documents, at once, and only that one is kept. The bag-level search keeps
the k best of each cell, the action-level search the k best of a document.

A cell holds exactly the computations whose stack has i − j units. Real trees never need large stacks, so a bound on
them makes the search linear in the length of the document; where the best tree comes up to it, the result says so.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from torch import Tensor

from genrst.errors import UsageError
from genrst.search.cuda import replay_search
from genrst.search.diagonals import Diagonal, Sources, action_diagonals, bag_diagonals
from genrst.search.hypotheses import Beams, Forest, start
from genrst.search.results import Completed, Found, Parse
from genrst.search.scorer import Scorer, can_wait
from genrst.search.successors import Chosen, Successors, build, choose, chosen_from, expand
from genrst.search.trace import trace_successors

Item = TypeVar("Item")


def in_groups(items: Iterable[Item], n_edus: Callable[[Item], int], most_edus: int) -> Iterator[list[Item]]:
    """Items in order, in groups with no more EDUs than that, unless one alone has more."""
    group: list[Item] = []
    size = 0
    for item in items:
        size += n_edus(item)
        if group and size > most_edus:
            yield group
            group, size = [], n_edus(item)
        group.append(item)
    if group:
        yield group


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


@torch.inference_mode()
def search_beams(scorer: Scorer, options: BeamOptions, generator: torch.Generator | None = None) -> list[Found]:
    """Parse all documents of a scorer. Ties at the end of a beam are broken at random if a generator is given."""
    found = [Found([]) for _ in scorer.n_edus]
    if not found:
        return found
    forest, completed = Forest(scorer), Completed()
    if (
        options.level == "bag"
        and options.max_stack
        and not (can_wait(scorer.device) or generator or options.with_trace)
    ):
        replay_search(forest, completed, options.beam, options.max_stack, lambda *state: _step(forest, options, *state))
    else:
        _search(forest, completed, options, generator, found)
    forest.check()
    completed.record(forest, found, options.word_weight, options.max_stack)
    return found


def _search(
    forest: Forest, completed: Completed, options: BeamOptions, generator: torch.Generator | None, found: list[Found]
) -> None:
    beams, n_generating = start(forest.scorer), len(found)
    for step, diagonal in enumerate(_diagonals(forest.scorer, options), start=1):
        beams = _step(forest, options, beams, diagonal, n_generating, generator, found)
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
    found: list[Found] | None = None,
) -> Beams:
    """The beams after one more action."""
    is_level = options.level == "bag"
    successors = expand(forest, beams, options.word_weight, options.max_stack, n_generating, is_level)
    scores = _offered(successors, sources)
    best = choose(scores, options.beam, generator)
    if options.with_trace and found is not None:
        every = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
        offered = _chosen(scores, every, sources, successors)
        trace_successors(found, sources.documents, scores, best, beams, offered)
    chosen = _chosen(scores, best, sources, successors)
    return build(forest, beams, successors, sources.documents, chosen)


def search_greedily(scorer: Scorer) -> list[Parse]:
    """In every document the best structural action at every step.

    GEN competes with RE by p_trans alone: the words of an EDU are never likelier than 1, so if they counted, GEN would
    always come last and every tree would branch to the left.
    """
    options = BeamOptions(beam=1, level="action", max_stack=None, word_weight=0.0)
    return [found.parses[0] for found in search_beams(scorer, options)]


def _diagonals(scorer: Scorer, options: BeamOptions) -> Iterator[Diagonal]:
    if options.level == "bag":
        return bag_diagonals(scorer.n_edus, options.max_stack, scorer.device)
    return action_diagonals(scorer.n_edus, scorer.device)


def _offered(successors: Successors, sources: Sources) -> Tensor:
    """The scores of all successors that could enter each beam: those that generate, then those that reduce.

    Shape: (beams, places · (1 + labels))
    """
    generates = _from(successors.generate_scores, sources.generates_from)
    reduces = _from(successors.reduce_scores.flatten(1), sources.reduces_from)
    return torch.cat([generates, reduces], dim=1)


def _from(scores: Tensor, sources: Tensor) -> Tensor:
    """The scores of some beams, −∞ for those of nowhere, the last row."""
    return torch.cat([scores, torch.full_like(scores[:1], -torch.inf)])[sources]


def _chosen(scores: Tensor, columns: Tensor, sources: Sources, successors: Successors) -> Chosen:
    return chosen_from(scores, columns, sources.generates_from, sources.reduces_from, successors)
