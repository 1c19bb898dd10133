"""What a search returns.

Completed hypotheses, set aside until a search is over: reading trees off the tables waits for the GPU.
"""

from dataclasses import dataclass, field
from itertools import accumulate

import torch

from genrst.errors import GenrstError
from genrst.search.hypotheses import Beams, Forest


@dataclass(frozen=True, slots=True)
class Parse:
    """A completed computation: its actions by number, and the parts of its log-probability."""

    actions: tuple[int, ...]
    action_logp: float
    word_logp: float

    @property
    def logp(self) -> float:
        """log p(words, tree | number of EDUs)."""
        return self.action_logp + self.word_logp


@dataclass(frozen=True, slots=True)
class Fallen:
    """A hypothesis that fell off the beam: after how many EDUs and reductions, its score, and that of the last kept."""

    n_generated: int
    n_reduced: int
    logp: float
    kept_logp: float


@dataclass(slots=True)
class Found:
    """What was found for one document."""

    parses: list[Parse]
    """The best first."""
    is_bounded: bool = False
    """Whether the best tree comes up to the bound on the stack, so that a better one may lie beyond."""
    trace: list[Fallen] = field(default_factory=list)
    """What fell off the beam, if asked for."""


class Completed:
    """The hypotheses of which all EDUs are generated and one tree is left."""

    def __init__(self) -> None:
        self._parts: list[Beams] = []

    def add(self, beams: Beams) -> None:
        """Set beams of completed hypotheses aside."""
        if len(beams.documents):
            self._parts.append(beams)

    def record(self, forest: Forest, found: list[Found], word_weight: float, max_stack: int | None) -> None:
        """Put the parses of each document into its result, the best first."""
        is_alive = torch.cat([part.is_alive.flatten() for part in self._parts])
        documents = torch.cat([part.documents.repeat_interleave(part.shape[1]) for part in self._parts])[is_alive]
        stacks, actions, words = (
            torch.cat([getattr(part, name).flatten() for part in self._parts])[is_alive]
            for name in ("stacks", "action_logp", "word_logp")
        )
        rows = (documents.tolist(), forest.actions(stacks), actions.tolist(), words.tolist())
        for document, *parse in zip(*rows, strict=True):
            found[document].parses.append(Parse(*parse))
        for one in found:
            if not one.parses:
                raise GenrstError("a tree must have a probability above zero, was: none in the beam")
            one.parses.sort(key=lambda parse: -(parse.action_logp + word_weight * parse.word_logp))
            one.is_bounded = max_stack is not None and _comes_up_to(max_stack, one.parses[0])


def _comes_up_to(max_stack: int, parse: Parse) -> bool:
    """Whether a tree needs the largest stack allowed, and a document so long could need a larger one."""
    largest = max(accumulate(1 if action == 0 else -1 for action in parse.actions))
    return largest >= max_stack and parse.actions.count(0) > max_stack
