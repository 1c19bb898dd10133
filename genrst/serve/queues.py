"""The queue of a worker: jobs of several clients, which are served in turn.

A client with many jobs delays only itself. If the queue is full, the client with the most jobs loses its newest one to
a client with fewer. The queue belongs to the event loop, so it needs no lock.
"""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network
from typing import Generic, TypeVar

from starlette.requests import Request

Content = TypeVar("Content")
Result = TypeVar("Result")


@dataclass(eq=False, slots=True)
class Job(Generic[Content, Result]):
    """A job. Jobs of the same group may run in one batch; the size is roughly the number of EDUs."""

    content: Content
    group: Hashable
    size: int
    client: Hashable
    result: "asyncio.Future[Result | Exception]"

    @property
    def is_abandoned(self) -> bool:
        """Whether no client waits for the result any more."""
        return self.result.cancelled()


class FairQueue(Generic[Content, Result]):
    """Jobs by client, in the order of their turns."""

    def __init__(self) -> None:
        self._clients: dict[Hashable, deque[Job[Content, Result]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def __contains__(self, job: Job[Content, Result]) -> bool:
        return job in self._clients.get(job.client, ())

    def add(self, job: Job[Content, Result]) -> None:
        """Append a job to the jobs of its client."""
        self._clients.setdefault(job.client, deque()).append(job)

    def remove(self, job: Job[Content, Result]) -> None:
        """Remove a job."""
        own = self._clients[job.client]
        own.remove(job)
        if not own:
            del self._clients[job.client]

    def make_room(self, client: Hashable) -> Job[Content, Result] | None:
        """Remove and return the newest job of the busiest client, unless `client` would have as many jobs."""
        if not self._clients:
            return None
        busiest = max(self._clients.values(), key=len)
        if len(busiest) <= len(self._clients.get(client, ())) + 1:
            return None
        job = busiest[-1]
        self.remove(job)
        return job

    def take_batch(self, most: int, most_size: int) -> list[Job[Content, Result]]:
        """Take the first job and, within the limits, others of its group, one client after the other."""
        batch: list[Job[Content, Result]] = []
        for job in list(self._in_turn()):
            fits = len(batch) < most and sum(one.size for one in batch) + job.size <= most_size
            if not batch or (fits and job.group == batch[0].group):
                batch.append(job)
                self.remove(job)
        for client in dict.fromkeys(job.client for job in batch):  # clients that were served move to the end
            if client in self._clients:
                self._clients[client] = self._clients.pop(client)
        return batch

    def _in_turn(self) -> Iterator[Job[Content, Result]]:
        """Yield the first job of each client, then the second of each, and so on."""
        waiting = [iter(own) for own in self._clients.values()]
        while waiting:
            going_on = []
            for own in waiting:
                if job := next(own, None):
                    yield job
                    going_on.append(own)
            waiting = going_on


def client_of(request: Request | None) -> str:
    """Return the address of the client: for IPv6 its /64 network, for the service's own jobs an empty string."""
    host = request.client.host if request is not None and request.client is not None else ""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))
