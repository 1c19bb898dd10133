"""Bag-level search on a GPU: two steps are recorded, then replayed (CUDA graphs).

A step is hundreds of small operations, and a GPU finishes each of them before the program has started the next. As a
recording they are started together. A recording always works on the same memory, so here all steps have the same shape:
a beam for every document and size of stack, also for sizes that the document cannot have yet or any more, whose slots
stay empty. After an even number of actions stacks are of even size, after an odd number of odd size: hence two steps.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
import torch

from genrst.rnng.search.hypotheses import EMPTY_STACK, Beams, Forest, stacks_between_collections
from genrst.rnng.search.results import Completed
from genrst.rnng.search.successors import NOWHERE, Sources

Result = TypeVar("Result")

FEWEST_REPLAYS = 6
"""How often a step must be repeated for its recording to pay off."""


class Recorder:
    """Repeats functions that always work on the same memory. On a CPU they are just called.

    The program runs ahead while the GPU still works on earlier recordings, so these are kept; they share their memory,
    as they run one after the other.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graphs: list[torch.cuda.CUDAGraph] = []
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()

    def repeat(self, function: Callable[[], Result], times: int) -> Iterator[Result]:
        """What each call returns; on a GPU the next call overwrites it."""
        if self._device.type != "cuda" or times < FEWEST_REPLAYS:
            yield from (function() for _ in range(times))
            return
        # Once without recording: libraries initialise themselves on first use, which cannot be recorded.
        yield function()
        graph, result = self._record(function)
        for _ in range(times - 1):
            graph.replay()
            yield result

    def _record(self, function: Callable[[], Result]) -> tuple[torch.cuda.CUDAGraph, Result]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._stream):
            graph.capture_begin(self._pool, capture_error_mode="thread_local")
            try:
                result = function()
            except Exception:
                # An aborted recording raises an error of its own, which must not hide the first one.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        self._graphs.append(graph)
        return graph, result


Step = Callable[[Beams, Sources], Beams]
"""From beams to the beams after one more action."""


def replay_search(forest: Forest, completed: Completed, n_slots: int, max_stack: int, step: Step) -> None:
    """Follow all documents to their end.

    After 2m − 1 actions, which is in the middle of its m-th pair of steps, a document is complete.
    """
    n_edus = forest.scorer.n_edus
    sizes = range(0, min(max(n_edus), max_stack) + 1, 2), range(1, min(max(n_edus), max_stack) + 1, 2)
    documents = list(range(len(n_edus)))
    beams = _start(documents, len(sizes[0]), n_slots, forest.device)
    n_pairs = 0
    recorder = Recorder(forest.device)
    while documents:
        rows_per_pair = len(documents) * (len(sizes[0]) + len(sizes[1])) * n_slots
        most = stacks_between_collections(forest.device) // rows_per_pair + 1
        n_more = min(most, _pairs_with_half([n_edus[document] - n_pairs for document in documents]))
        forest.hold(n_more * rows_per_pair)
        pair = _Pair(forest, documents, sizes, beams, step)
        for odd in recorder.repeat(pair.run, n_more):
            n_pairs += 1
            done = [number for number, document in enumerate(documents) if n_edus[document] == n_pairs]
            if done:
                completed.add(odd.rows(torch.tensor(done, device=forest.device) * len(sizes[1])))
        forest.release(n_more * rows_per_pair)
        left = [number for number, document in enumerate(documents) if n_edus[document] > n_pairs]
        documents = [documents[number] for number in left]
        beams = _rows_of(beams, left, len(sizes[0]))
        if documents and forest.is_full:
            forest.collect(beams.stacks.flatten(), max_stack)


def _start(documents: Sequence[int], n_sizes: int, n_slots: int, device: torch.device) -> Beams:
    """Nothing generated, an empty stack, in the first slot of the beam of stacks of no units."""
    of_beams = torch.tensor(documents, device=device).repeat_interleave(n_sizes)
    zeros = torch.zeros(len(of_beams), n_slots, dtype=torch.long, device=device)
    logp = torch.full(zeros.shape, -torch.inf, dtype=torch.double, device=device)
    logp[::n_sizes, 0] = 0
    columns = (zeros + EMPTY_STACK, zeros.clone(), zeros.clone(), logp, torch.zeros_like(logp))
    return Beams(of_beams, *columns)


def _pairs_with_half(n_left: Sequence[int]) -> int:
    """The number of pairs of steps until half of the documents are complete; then those are left out."""
    return sorted(n_left)[len(n_left) // 2]


def _rows_of(beams: Beams, documents: Sequence[int], n_sizes: int) -> Beams:
    first = n_sizes * torch.tensor(documents, dtype=torch.long, device=beams.documents.device)
    return beams.rows((first[:, None] + torch.arange(n_sizes, device=first.device)).flatten())


def level_sources(documents: Sequence[int], sizes: range, sizes_before: range, device: torch.device) -> Sources:
    """A beam for each of these documents and sizes of stacks, whether there are such stacks or not."""
    numbers = np.full((len(documents), max(sizes.stop, sizes_before.stop) + 1), NOWHERE)
    numbers[:, sizes_before] = np.arange(len(documents) * len(sizes_before)).reshape(len(documents), -1)
    below, above = np.array(sizes) - 1, np.array(sizes) + 1
    # There is no stack of −1 units; its number would be that of the last size.
    from_below = np.where(below < 0, NOWHERE, numbers[:, below])
    parts = (np.repeat(documents, len(sizes)), from_below.ravel(), numbers[:, above].ravel())
    return Sources(*torch.from_numpy(np.stack(parts)).to(device, non_blocking=True))


class _Pair:
    """Two steps that end where they began: in the same memory."""

    def __init__(
        self, forest: Forest, documents: Sequence[int], sizes: tuple[range, range], beams: Beams, step: Step
    ) -> None:
        self._beams, self._step, self._n_edus = beams, step, forest.n_edus
        self._to_odd = level_sources(documents, sizes[1], sizes[0], forest.device)
        self._to_even = level_sources(documents, sizes[0], sizes[1], forest.device)

    def run(self) -> Beams:
        """Take both steps; returns the beams between them."""
        odd = self._step(self._beams, self._to_odd)
        is_complete = (odd.sizes == 1) & (odd.n_generated == self._n_edus[odd.documents][:, None])
        even = self._step(odd.keep(~is_complete), self._to_even)
        for column, found in zip(self._beams[1:], even[1:], strict=True):
            column.copy_(found)
        return odd
