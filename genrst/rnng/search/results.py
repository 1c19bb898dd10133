"""The results of a search, and the complete hypotheses that they are extracted from."""

from dataclasses import dataclass
from itertools import accumulate

import torch

from genrst.errors import GenrstError
from genrst.rnng.search.hypotheses import Beams, Forest
from genrst.rnng.transitions.actions import GENERATE


@dataclass(frozen=True, slots=True)
class Parse:
    """A complete derivation: its actions by number, and the parts of its log-probability."""

    actions: tuple[int, ...]
    action_logp: float
    word_logp: float

    @property
    def logp(self) -> float:
        """log p(words, tree | number of EDUs)."""
        return self.action_logp + self.word_logp


@dataclass(slots=True)
class SearchResult:
    """The parses of a document."""

    parses: list[Parse]
    """The parses, best first."""
    is_bounded: bool = False
    """Whether the best tree reaches the limit on the stack, so that there may be a better one beyond it."""


class Completed:
    """Complete hypotheses: all EDUs are generated, and a single tree is on the stack.

    They are collected until the search is over, because extracting trees forces a GPU to synchronise.
    """

    def __init__(self) -> None:
        self._parts: list[Beams] = []

    def add(self, beams: Beams) -> None:
        """Add beams of complete hypotheses."""
        if len(beams.documents):
            self._parts.append(beams)

    def results(self, forest: Forest, word_weight: float, max_stack: int | None) -> list[SearchResult]:
        """Return the parses of each document, best first."""
        is_alive = torch.cat([part.is_alive.flatten() for part in self._parts])
        documents = torch.cat([part.documents.repeat_interleave(part.shape[1]) for part in self._parts])[is_alive]
        stacks, actions, words = (
            torch.cat([getattr(part, name).flatten() for part in self._parts])[is_alive]
            for name in ("stacks", "action_logp", "word_logp")
        )
        results = [SearchResult([]) for _ in forest.scorer.n_edus]
        rows = (documents.tolist(), forest.actions(stacks), actions.tolist(), words.tolist())
        for document, *parse in zip(*rows, strict=True):
            results[document].parses.append(Parse(*parse))
        for result in results:
            if not result.parses:
                raise GenrstError("every tree in the beam has a probability of zero")
            result.parses.sort(key=lambda parse: -(parse.action_logp + word_weight * parse.word_logp))
            result.is_bounded = max_stack is not None and _reaches(max_stack, result.parses[0])
        return results


def _reaches(max_stack: int, parse: Parse) -> bool:
    """Whether a tree needs the largest allowed stack, and its document is long enough for an even larger one."""
    largest = max(accumulate(1 if action == GENERATE else -1 for action in parse.actions))
    return largest >= max_stack and parse.actions.count(GENERATE) > max_stack
