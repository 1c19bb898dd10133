"""Long jobs stand beside short ones, and not in their way."""

import asyncio
import time
from threading import Event, Thread
from typing import Any

import pytest

from genrst.allowance import SizeError, check_size, checkpoint
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


@pytest.mark.slow
def test_long_work_pauses_unless_it_has_credit():
    """The clock that counts against its limit stands still meanwhile."""
    turns, has_paid = Turns(), Event()
    clocks: list[float] = []

    def work() -> None:
        turns.pause()
        use_processor(0.02)
        clocks.append(turns.clock())
        has_paid.set()
        turns.pause()
        clocks.append(turns.clock())

    with turns.short():
        use_processor(0.03 / SHARE)
    with turns.short():
        thread = Thread(target=work)
        thread.start()
        thread.join(20)
        assert not thread.is_alive(), "it has earned enough"
        has_paid.clear()
        turns._credit = 0.01
        thread = Thread(target=work)
        thread.start()
        assert has_paid.wait(20)
        thread.join(0.3)
        assert thread.is_alive(), "it has to wait now"
    thread.join(20)
    assert clocks[3] - clocks[2] < 0.2, "although it has waited longer"


def use_processor(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
