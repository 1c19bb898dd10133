"""Client connections: a limit on their number, and timeouts for stuck requests and responses.

uvicorn has a timeout for idle connections, but none for a header that arrives byte by byte.
"""

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Seconds within which a request header must arrive, counted from the connection or the last response."""
READ_SECONDS = 60.0
"""Seconds within which a client must read what fills the buffers."""
MOST_CONNECTIONS = 512
"""Limit on open connections. Above it, the client with the most connections loses its longest idle one."""


class Connection(H11Protocol):
    """A connection with a client."""

    header_seconds = HEADER_SECONDS
    most_connections = MOST_CONNECTIONS
    _timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401
        """Start the timer for a request; if there are too many connections, close another one."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._make_room()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timer for the client to read."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the client has read."""
        self._stop_read_timer()
        super().resume_writing()

    def handle_events(self) -> None:
        """Handle the data that has arrived; keep the timer running if a header is incomplete."""
        super().handle_events()
        if self._is_waiting:
            self._expect()
        else:
            self._stop_timer()

    @property
    def _is_waiting(self) -> bool:
        """Whether every request so far has been answered."""
        return self.cycle is None or self.cycle.response_complete

    def _expect(self) -> None:
        """Close the connection unless a header arrives in time."""
        if self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _make_room(self) -> None:
        """Close the longest idle connection of the client with the most idle connections."""
        waiting = [one for one in self.connections if isinstance(one, Connection) and one is not self and one._timer]
        if not waiting:
            self.transport.abort()
            return
        n_waiting = Counter(one.client and one.client[0] for one in waiting)

        def patience(one: Connection) -> tuple[int, float]:
            return n_waiting[one.client and one.client[0]], -one._timer.when() if one._timer else 0.0

        victim = max(waiting, key=patience)
        victim._stop_timer()
        victim.transport.abort()
