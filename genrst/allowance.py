"""Limits on a piece of work, set by its caller: the number of EDUs of a document, and a check between steps.

The work calls `check_edus` as soon as the EDUs are known, and `checkpoint` between its steps. The check may wait, or
stop the work by raising an exception. Without an allowance, both functions do nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from genrst.errors import UsageError

_MOST_EDUS: ContextVar[int | None] = ContextVar("most_edus", default=None)
_CHECK: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


class SizeError(UsageError):
    """A document has more EDUs than allowed."""

    def __init__(self, message: str, n_edus: int) -> None:
        self.n_edus = n_edus
        super().__init__(message)


@contextmanager
def allowance(max_edus: int | None = None, check: Callable[[], object] | None = None) -> Iterator[None]:
    """Limit the work inside the context. A limit that is not given is inherited from the enclosing context."""
    most, own = _MOST_EDUS.set(max_edus or _MOST_EDUS.get()), _CHECK.set(check or _CHECK.get())
    try:
        yield
    finally:
        _MOST_EDUS.reset(most)
        _CHECK.reset(own)


def checkpoint() -> None:
    """Mark a point at which long work can be paused or stopped."""
    if check := _CHECK.get():
        check()


def check_edus(name: str, n_edus: int) -> None:
    """Raise a `SizeError` if a document has more EDUs than the current allowance permits."""
    most = _MOST_EDUS.get()
    if most is not None:
        check_size(name, n_edus, most)


def check_size(name: str, n_edus: int, max_edus: int) -> None:
    """Raise a `SizeError` if a document has more than `max_edus` EDUs."""
    if n_edus > max_edus:
        raise SizeError(f"{name}: a document must have at most {max_edus} EDUs, got {n_edus}", n_edus)
