"""Completed hypotheses, set aside until a search is over: reading trees off the tables waits for the GPU."""

from itertools import accumulate

import torch
from torch import Tensor

from genrst.search.hypotheses import Forest, Hypotheses, join
from genrst.search.parse import Found, Parse


class Completed:
    """The hypotheses of which all EDUs are generated and one tree is left."""

    def __init__(self, n_edus: Tensor) -> None:
        self._n_edus = n_edus
        self._parts: list[Hypotheses] = []
        self.counts = torch.zeros_like(n_edus)
        """How many each document has."""

    def take(self, hypotheses: Hypotheses) -> Hypotheses:
        """Set the completed ones aside; returns the others."""
        is_complete = (hypotheses.sizes == 1) & (hypotheses.n_generated == self._n_edus[hypotheses.documents])
        rows = is_complete.nonzero()[:, 0]
        if not len(rows):
            return hypotheses
        self._parts.append(hypotheses.rows(rows))
        self.counts += torch.bincount(self._parts[-1].documents, minlength=len(self._n_edus))
        return hypotheses.rows((~is_complete).nonzero()[:, 0])

    def record(self, forest: Forest, found: list[Found], word_weight: float, max_stack: int | None) -> None:
        """Put the parses of each document into its result, the best first."""
        if not self._parts:
            return
        done = join(self._parts)
        logp = (done.action_logp.tolist(), done.word_logp.tolist())
        for document, *parse in zip(done.documents.tolist(), forest.actions(done.stacks), *logp, strict=True):
            found[document].parses.append(Parse(*parse))
        for one in found:
            one.parses.sort(key=lambda parse: -(parse.action_logp + word_weight * parse.word_logp))
            one.is_bounded = max_stack is not None and _comes_up_to(max_stack, one.parses[0])


def _comes_up_to(max_stack: int, parse: Parse) -> bool:
    """Whether a tree needs the largest stack allowed, and a document so long could need a larger one."""
    largest = max(accumulate(1 if action == 0 else -1 for action in parse.actions))
    return largest >= max_stack and parse.actions.count(0) > max_stack
