"""Bag-level search on a GPU with CUDA graphs: two steps are captured, then replayed.

A step consists of hundreds of small operations, and a GPU finishes each of them faster than the program can launch the
next. A graph launches all of them together. It always works on the same memory, so all steps must have the same shape:
a beam for every document and stack size. Beams for sizes that a document cannot have at some step stay empty. After an
even number of actions, stacks have an even size, and after an odd number, an odd size, so there are two kinds of steps.
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
"""The minimum number of repetitions for which capturing a step pays off."""


class Recorder:
    """Repeats functions that always work on the same memory. On a CPU, it simply calls them.

    Graphs are kept, because the program runs ahead while the GPU still executes earlier graphs. They share their
    memory, because they run one after the other.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graphs: list[torch.cuda.CUDAGraph] = []
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()

    def repeat(self, function: Callable[[], Result], times: int) -> Iterator[Result]:
        """Yield the result of each call. On a GPU, the next call overwrites it."""
        if self._device.type != "cuda" or times < FEWEST_REPLAYS:
            yield from (function() for _ in range(times))
            return
        # The first call is not captured, because libraries initialise themselves on first use, which cannot be
        # captured.
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
                # An aborted capture raises an error of its own, which must not hide the original one.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        self._graphs.append(graph)
        return graph, result


Step = Callable[[Beams, Sources], Beams]
"""Computes the beams after another action."""


def replay_search(forest: Forest, completed: Completed, n_slots: int, max_stack: int, step: Step) -> None:
    """Search all documents to their end.

    A document is complete after 2m − 1 actions, that is, in the middle of its m-th pair of steps.
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
    """Return the initial beams: an empty stack in the first slot of the beam for stack size 0."""
    of_beams = torch.tensor(documents, device=device).repeat_interleave(n_sizes)
    zeros = torch.zeros(len(of_beams), n_slots, dtype=torch.long, device=device)
    logp = torch.full(zeros.shape, -torch.inf, dtype=torch.double, device=device)
    logp[::n_sizes, 0] = 0
    columns = (zeros + EMPTY_STACK, zeros.clone(), zeros.clone(), logp, torch.zeros_like(logp))
    return Beams(of_beams, *columns)


def _pairs_with_half(n_left: Sequence[int]) -> int:
    """Return the number of pairs of steps until half of the documents are complete and can be dropped."""
    return sorted(n_left)[len(n_left) // 2]


def _rows_of(beams: Beams, documents: Sequence[int], n_sizes: int) -> Beams:
    first = n_sizes * torch.tensor(documents, dtype=torch.long, device=beams.documents.device)
    return beams.rows((first[:, None] + torch.arange(n_sizes, device=first.device)).flatten())


def level_sources(documents: Sequence[int], sizes: range, sizes_before: range, device: torch.device) -> Sources:
    """Return the sources of a beam for each document and stack size, whether such stacks exist or not."""
    numbers = np.full((len(documents), max(sizes.stop, sizes_before.stop) + 1), NOWHERE)
    numbers[:, sizes_before] = np.arange(len(documents) * len(sizes_before)).reshape(len(documents), -1)
    below, above = np.array(sizes) - 1, np.array(sizes) + 1
    # A stack of −1 units does not exist. As an index, −1 would select the last size.
    from_below = np.where(below < 0, NOWHERE, numbers[:, below])
    parts = (np.repeat(documents, len(sizes)), from_below.ravel(), numbers[:, above].ravel())
    return Sources(*torch.from_numpy(np.stack(parts)).to(device, non_blocking=True))


class _Pair:
    """A pair of steps whose result is in the same memory as their input."""

    def __init__(
        self, forest: Forest, documents: Sequence[int], sizes: tuple[range, range], beams: Beams, step: Step
    ) -> None:
        self._beams, self._step, self._n_edus = beams, step, forest.n_edus
        self._to_odd = level_sources(documents, sizes[1], sizes[0], forest.device)
        self._to_even = level_sources(documents, sizes[0], sizes[1], forest.device)

    def run(self) -> Beams:
        """Take both steps. Return the beams between them."""
        odd = self._step(self._beams, self._to_odd)
        is_complete = (odd.sizes == 1) & (odd.n_generated == self._n_edus[odd.documents][:, None])
        even = self._step(odd.keep(~is_complete), self._to_even)
        for column, found in zip(self._beams[1:], even[1:], strict=True):
            column.copy_(found)
        return odd
