"""Progress bars on a terminal, silence in a pipe."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Pass items on, with a bar on standard error if that is a terminal."""
    from tqdm import tqdm

    return iter(tqdm(items, description, total, disable=not sys.stderr.isatty(), leave=False, unit=" documents"))
