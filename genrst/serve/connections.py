"""Connections: closed if a request or response gets stuck, and no more of them than the process has room for.

uvicorn has a time limit for idle connections, and none for a header that arrives byte by byte.
"""

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""How long the header of a request may take to arrive, from the connection or the last response on."""
READ_SECONDS = 60.0
"""How long a client may take to read what fills the buffers."""
MOST_CONNECTIONS = 512
"""Open connections. Where there are more, the client with the most loses the one that has waited longest."""


class Connection(H11Protocol):
    """A connection with a client."""

    header_seconds = HEADER_SECONDS
    most_connections = MOST_CONNECTIONS
    _timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401
        """Expect a request; if there are too many connections, close another one."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._make_room()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._stop_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Expect the client to read."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, because the client has read."""
        self._stop_read_timer()
        super().resume_writing()

    def handle_events(self) -> None:
        """Handle what has arrived; go on expecting the rest of a header."""
        super().handle_events()
        if self._is_waiting:
            self._expect()
        else:
            self._stop_timer()

    @property
    def _is_waiting(self) -> bool:
        """Whether no request has arrived that has no response yet."""
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
        """Close the connection that has waited longest of the client with the most that wait."""
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
