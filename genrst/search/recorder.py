"""Recording what a function starts on a GPU, to start it again all at once (a CUDA graph)."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import torch

Result = TypeVar("Result")

FEWEST_REPLAYS = 6
"""How often a recording must be needed to be worth it."""


class Recorder:
    """Repeats functions that always work on the same memory. On a CPU they are just called.

    The program goes on while the GPU is still at work on earlier recordings, so these are kept; they share their
    memory, for they are done one after the other.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graphs: list[torch.cuda.CUDAGraph] = []
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()

    def repeat(self, function: Callable[[], Result], times: int) -> Iterator[Result]:
        """What the function returns, each time; on a GPU it is overwritten by the next."""
        if self._device.type != "cuda" or times < FEWEST_REPLAYS:
            yield from (function() for _ in range(times))
            return
        # Once without recording: libraries get ready when they are first used, which cannot be recorded.
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
                # A recording that was broken off has an error of its own, which must not hide the first one.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        self._graphs.append(graph)
        return graph, result
