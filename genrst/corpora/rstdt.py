"""RST-DT in the folder layout of the LDC: `RSTtrees-WSJ-main-1.0/TRAINING` and `TEST`, `.out` beside `.out.dis`.

The corpus has no development set; as in the paper, 25 training documents are held out, always the same ones.
"""

import random
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from genrst.document import Document
from genrst.errors import UsageError
from genrst.formats.files import read_file

SPLITS = ("train", "dev", "test")
N_DEV = 25
_MAIN = "RSTtrees-WSJ-main-1.0"
_DEV_SEED = 2019


def find_main(path: Path) -> Path | None:
    """The folder that holds TRAINING and TEST: the given one, or one below the root of the release."""
    candidates = [path, path / _MAIN, path / "data" / _MAIN, path / "rst_discourse_treebank" / "data" / _MAIN]
    return next(
        (folder for folder in candidates if (folder / "TRAINING").is_dir() and (folder / "TEST").is_dir()), None
    )


def sources(path: Path, split: str | None) -> list[Callable[[], Iterable[Document]]]:
    """A reader per document of a split (or of all), sorted by name."""
    if split not in (None, *SPLITS):
        raise UsageError(f"a split of RST-DT must be one of {', '.join(SPLITS)}, was: {split!r}")
    main = find_main(path)
    if main is None:
        raise UsageError(f"{path}: RST-DT must have folders TRAINING and TEST, here or in {_MAIN}")
    train, dev = split_training(sorted((main / "TRAINING").glob("*.dis")))
    test = sorted((main / "TEST").glob("*.dis"))
    chosen = {"train": train, "dev": dev, "test": test, None: sorted(train + dev) + test}[split]
    return [partial(read_file, file) for file in chosen]


def split_training(files: list[Path]) -> tuple[list[Path], list[Path]]:
    """Training and development files: 25 of them, or a tenth of a small collection, drawn with a fixed seed."""
    n_dev = min(N_DEV, len(files) // 10)
    dev = set(random.Random(_DEV_SEED).sample(files, n_dev))
    return [file for file in files if file not in dev], sorted(dev)
