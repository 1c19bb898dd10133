"""The exceptions and warnings of genrst.

GenrstError
├── TreeError               a tree or document would be malformed
├── CorpusFormatError       a file violates its format; carries the path and the line
├── InputError              an input file or folder is missing or cannot be read
│   ├── CorpusNotFoundError a corpus or split was not found
│   └── ModelNotFoundError  a model, an encoder or one of their files was not found
├── OutputError             a file or folder cannot be written
├── MissingDependencyError  a library or model is not installed; says how to install it
├── UnknownLabelError       a tree has a label that a model was not trained with
├── ConfigError             a configuration has an unknown key or a wrong value
├── TrainingError           training cannot continue, because the loss is not a number
└── UsageError              options or arguments are invalid or do not fit together
    └── ConstraintError     no tree satisfies the constraints on a document

Problems that are not fatal are warnings: a `CorpusWarning` if a file was repaired, a `ParserWarning` if a tree may be
worse than necessary, an `EvaluationWarning` if a score is less reliable than it seems.
"""

from collections.abc import Iterable
from pathlib import Path


class GenrstError(Exception):
    """The base class of all errors of this package. Its message is a single line that a user can act on."""


class TreeError(GenrstError, ValueError):
    """A tree or document would violate an invariant: it has gaps, a wrong nuclearity or EDUs that do not fit."""


class CorpusFormatError(GenrstError, ValueError):
    """A file violates its format. The message reads `FILE:LINE: rule, got X`."""

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
    """A corpus or split was not found."""


class ModelNotFoundError(InputError):
    """A model, an encoder or one of their files was not found, or is not a regular file."""


class OutputError(GenrstError, OSError):
    """A file or folder cannot be written."""


class MissingDependencyError(GenrstError, ImportError):
    """A library or model is not installed. The message says how to install it."""


class UnknownLabelError(GenrstError, ValueError):
    """A tree has a label that the model was not trained with."""

    def __init__(self, label: object, document: str) -> None:
        super().__init__(f"{document}: the label {label} does not occur in the training trees")


class ConfigError(GenrstError, ValueError):
    """A configuration has an unknown key, or a value of the wrong type or range."""


class TrainingError(GenrstError, RuntimeError):
    """Training failed and cannot continue."""


class UsageError(GenrstError, ValueError):
    """Options or arguments are invalid or do not fit together."""


class ConstraintError(UsageError):
    """The constraints on a document's tree contradict each other or the document."""


class CorpusWarning(UserWarning):
    """A problem in a file was repaired. The message names the file and the place."""


class EvaluationWarning(UserWarning):
    """A score is less reliable than it seems. The message says why."""


class ParserWarning(UserWarning):
    """A tree may be worse than it could be. The message says why."""


def guess(word: object, known: Iterable[object]) -> str:
    """Return a suggestion such as `; did you mean X?` to append to a message; empty if nothing is close."""
    from difflib import get_close_matches

    found = get_close_matches(str(word), map(str, known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
