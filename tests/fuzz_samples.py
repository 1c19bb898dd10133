"""Targets that fail in every way, for the tests of the fuzzer."""

import os
import signal
import time
from collections.abc import Callable

from fuzz.targets import Target
from genrst.errors import GenrstError


def refuse(_: bytes) -> None:
    raise GenrstError("as it should")


def crash(_: bytes) -> None:
    raise KeyError("not as it should")


def hang(_: bytes) -> None:
    time.sleep(60)


def eat(_: bytes) -> None:
    bytearray(1 << 34)


def die(_: bytes) -> None:
    os.abort()


def block(_: bytes) -> None:
    """No signal interrupts it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(60)


CHECKS: list[Callable[[bytes], None]] = [refuse, crash, hang, eat, die, block]
TARGETS = {check.__name__: Target(lambda chance: chance.randbytes(3), check) for check in CHECKS}
