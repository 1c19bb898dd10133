"""Every exception that genrst raises on purpose.

GenrstError
├── TreeError               a tree or document would be malformed
├── CorpusFormatError       a file breaks its format; carries the path and the line
├── InputError              an input file or folder is missing or cannot be read
│   ├── CorpusNotFoundError a corpus or split is not where it was looked for
│   └── ModelNotFoundError  a model, an encoder or one of their files is not where it was looked for
├── OutputError             a file or folder cannot be written
├── MissingDependencyError  a library or model is not installed; says how to get it
├── UnknownLabelError       a tree has a label that a model was not trained with
├── ConfigError             a configuration has an unknown key or a wrong value
├── TrainingError           training cannot go on: the loss is not a number
└── UsageError              options that do not fit together
    └── ConstraintError     no tree of a document can be as it is demanded

A repaired oddity in a file is no exception but a `CorpusWarning`; what makes a tree worse is a `ParserWarning`, what
makes a score worth less an `EvaluationWarning`.
"""

from collections.abc import Iterable
from pathlib import Path


class GenrstError(Exception):
    """The base of all errors of this package; its message is one line that a user can act on."""


class TreeError(GenrstError, ValueError):
    """A tree or document would break an invariant: gaps, wrong nuclearity, EDUs that do not fit."""


class CorpusFormatError(GenrstError, ValueError):
    """A file breaks its format. The message reads `FILE:LINE: rule, got X`."""

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = path
        self.line = line
        place = ":".join(str(part) for part in (path, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)

    def __reduce__(self) -> tuple[type, tuple[str, Path | str | None, int | None]]:
        return type(self), (self.message, self.path, self.line)


class InputError(GenrstError, FileNotFoundError):
    """An input file or folder is missing or cannot be read."""


class CorpusNotFoundError(InputError):
    """A corpus or split is not where it was looked for."""


class ModelNotFoundError(InputError):
    """A model, an encoder or one of their files is not where it was looked for; or it is not a regular file."""


class OutputError(GenrstError, OSError):
    """A file or folder cannot be written."""


class MissingDependencyError(GenrstError, ImportError):
    """A library or a model is not installed; the message says how to get it."""


class UnknownLabelError(GenrstError, ValueError):
    """A tree has a label that the model was not trained with."""

    def __init__(self, label: object, document: str) -> None:
        super().__init__(f"{document}: the label {label} does not occur in the training trees")


class ConfigError(GenrstError, ValueError):
    """A configuration has an unknown key, or a value of the wrong type or range."""


class TrainingError(GenrstError, RuntimeError):
    """Training went wrong and cannot go on."""


class UsageError(GenrstError, ValueError):
    """Options or arguments that do not fit together."""


class ConstraintError(UsageError):
    """What is demanded of the tree of a document contradicts itself, or the document."""


class CorpusWarning(UserWarning):
    """An oddity in a file was repaired; the message names the file and the node."""


class EvaluationWarning(UserWarning):
    """A score says less than it seems to; the message says why."""


class ParserWarning(UserWarning):
    """A tree may be worse than it could be; the message says why."""


def guess(word: object, known: Iterable[object]) -> str:
    """What might have been meant, to go after a message."""
    from difflib import get_close_matches

    found = get_close_matches(str(word), map(str, known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
