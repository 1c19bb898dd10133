"""Long jobs stand beside short ones, and not in their way."""

import asyncio
import time
from itertools import count
from threading import Event, Thread
from typing import Any

import pytest

from genrst.allowance import check_size, checkpoint
from genrst.errors import SizeError
from genrst.serve.lanes import SHARE, Lanes, Turns
from genrst.serve.worker import Limits

STEP = 0.01


class Texts:
    """Short jobs are over at once, long ones after many steps."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.has_begun = Event()

    def run_short(self, sizes: list[int]) -> list[int]:
        for size in sizes:
            check_size("text", size, 10)
        time.sleep(STEP)
        return sizes

    def run_long(self, sizes: list[int]) -> list[int]:
        self.has_begun.set()
        for _ in range(sum(sizes)):
            checkpoint()
            self.steps.append(time.perf_counter())
            time.sleep(STEP)
        return sizes


def lanes(texts: Texts, limits: Limits = Limits()) -> Lanes[Any, Any]:  # noqa: B008
    return Lanes(limits, 10, texts.run_short, texts.run_long)


def test_a_long_job_does_not_hold_up_short_ones():
    async def scene() -> None:
        texts = Texts()
        both = lanes(texts)
        long = asyncio.create_task(both.submit(None, 2000, size=2000))
        await asyncio.to_thread(texts.has_begun.wait, 20)
        assert [await both.submit(None, 3, size=3) for _ in range(5)] == [3] * 5
        assert not long.done()
        long.cancel()
        await both.close()
        assert len(texts.steps) < 1000, "nobody waits for it any more"

    asyncio.run(scene())


def test_a_job_that_turns_out_to_be_long_changes_lanes():
    async def scene() -> None:
        texts = Texts()
        both = lanes(texts, Limits(edus=20))
        assert await both.submit(None, 15, size=1) == 15
        assert len(texts.steps) == 15
        assert await both.submit(None, 2, size=1, is_long=True) == 2
        with pytest.raises(SizeError):
            await both.submit(None, 21, size=1)
        assert len(texts.steps) == 17
        assert both.n_waiting == 0
        await both.close()

    asyncio.run(scene())


def test_a_job_is_stopped_when_its_time_is_over():
    async def scene() -> None:
        texts = Texts()
        both = lanes(texts, Limits(seconds=5 * STEP))
        start = time.perf_counter()
        with pytest.raises(Exception, match=r"422: the request takes more than 0\.05 s"):
            await both.submit(None, 10_000, size=2000)
        assert time.perf_counter() - start < 5, "and not 100 s"
        assert await both.submit(None, 1, size=2000) == 1, "the lane is free again"
        await both.close()

    asyncio.run(scene())


def test_long_work_pauses_and_gets_a_share():
    """The clock that counts against its limit stands still meanwhile."""
    turns, steps, has_stopped = Turns(), count(), Event()
    n_steps = 0

    def work() -> None:
        nonlocal n_steps
        with turns.long():
            while not has_stopped.is_set():
                turns.wait()
                n_steps = next(steps)
                time.sleep(STEP / 10)

    thread = Thread(target=work)
    thread.start()
    while not n_steps:
        time.sleep(STEP)
    with turns.short():
        time.sleep(2 * STEP)
        before, clock = n_steps, turns.clock()
        time.sleep(10 * STEP)
        assert turns.clock() == pytest.approx(clock, abs=STEP / 10)
        assert n_steps <= before + 1, "a step that had begun is finished"
    start = time.perf_counter()
    turns.share(20 * STEP)
    assert time.perf_counter() - start >= SHARE * 20 * STEP
    assert n_steps > before
    assert turns.clock() > clock
    has_stopped.set()
    thread.join()
    start = time.perf_counter()
    turns.share(1000.0)
    assert time.perf_counter() - start < 1, "without long work, nothing is left to it"
