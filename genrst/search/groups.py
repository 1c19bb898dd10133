"""Documents that are searched at once: as many as memory bears, which they need by their EDUs."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def in_groups(items: Iterable[Item], n_edus: Callable[[Item], int], most_edus: int) -> Iterator[list[Item]]:
    """Items in order, in groups with no more EDUs than that, unless one alone has more."""
    group: list[Item] = []
    size = 0
    for item in items:
        size += n_edus(item)
        if group and size > most_edus:
            yield group
            group, size = [], n_edus(item)
        group.append(item)
    if group:
        yield group
