"""Progress bars on a terminal, silence in a pipe."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Pass items on, with a bar on standard error if that is a terminal."""
    from tqdm import tqdm

    has_terminal = sys.stderr is not None and sys.stderr.isatty()
    return iter(tqdm(items, description, total, disable=not has_terminal, leave=False, unit=" documents"))
