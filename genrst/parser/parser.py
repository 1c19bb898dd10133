"""The `Parser` class: from texts to trees.

    >>> import genrst
    >>> parser = genrst.load()                                      # doctest: +SKIP
    >>> document = parser("It rained, so we stayed in.")            # doctest: +SKIP
    >>> print(document.tree)                                        # doctest: +SKIP

A parser takes texts, lists of EDUs and documents in batches, and passes them to the tree finder of its model
(`genrst.parser.finder`). A document that fails does not affect the others. `genrst.parser.loading` makes parsers.
"""

import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from genrst.document import Document
from genrst.errors import GenrstError, MissingDependencyError, ParserWarning, TreeError, UsageError
from genrst.parser import PARTICLES
from genrst.parser.finder import TreeFinder
from genrst.parser.folders import copy_parser
from genrst.parser.options import ParserConfig
from genrst.text.raw import check_words, looks_english, unsegmented
from genrst.trees.constraints import Constraint

if TYPE_CHECKING:
    from genrst.chart.finder import Distribution


@dataclass(frozen=True, slots=True)
class Text:
    """A raw text with a name, which becomes the id of its document."""

    id: str
    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise UsageError(f"{self.id}: a text must be a string, got {type(self.text).__name__}")


@dataclass(frozen=True, slots=True)
class Failure:
    """The result for a document that could not be parsed."""

    id: str
    error: GenrstError


Item: TypeAlias = str | Text | Sequence[str] | Document
"""An input of the parser: a raw text, a list of EDUs, or a document, whose EDUs are kept and whose tree is not."""

Outcome: TypeAlias = Document | Failure
Result = TypeVar("Result")
Context = TypeVar("Context")


@dataclass(eq=False, repr=False)
class Parser:
    """Parses texts into trees; see `load`."""

    finder: TreeFinder
    config: ParserConfig
    folder: Path | None = None
    """The folder that it was loaded from."""
    reload: "Callable[[], Parser] | None" = None
    """A picklable function that makes the same parser in another process."""
    _warned: set[str] = field(default_factory=set, init=False)

    def __repr__(self) -> str:
        beam = "" if self.config.search in ("mbr", "best") else f", beam {self.config.beam}"
        return f"<Parser {self.config.name!r}: {self.config.search} search{beam}>"

    def save(self, folder: str | Path) -> None:
        """Copy the parser's files, with its current settings, to a new self-contained folder."""
        if self.folder is None:
            raise UsageError("only a parser that was loaded from a folder can be saved; this one was made in memory")
        copy_parser(self.folder, self.config, Path(folder))

    def __call__(self, item: Item, constraints: Sequence[Constraint] | None = None, *, id: str = "text") -> Document:
        """Parse a text, a list of EDUs or a document, whose EDUs, tokens, sentences and paragraphs are kept.

        `constraints` restrict the tree (default: the constraints of the document).
        """
        return self.kbest(item, 1, constraints, id=id)[0]

    parse = __call__

    def parse_edus(self, edus: Sequence[str], *, id: str = "text", paragraph_starts: Collection[int] = ()) -> Document:
        """Parse a text that is already segmented; `paragraph_starts` are the EDUs that start a paragraph."""
        return self(from_edus(id, edus, paragraph_starts))

    def kbest(
        self, item: Item, n: int, constraints: Sequence[Constraint] | None = None, *, id: str = "text"
    ) -> list[Document]:
        """Return the document of an item with its n best trees, best first, or fewer if not as many are found.

        For a chart, these are the most probable trees. If n is 1, it is the minimum Bayes risk tree, as in `parse`,
        which can differ from the most probable one: see `Distribution.best`.
        """
        if constraints is not None:
            item = replace(unwrap(to_document(item, id)), constraints=tuple(constraints))
        (outcome,) = self._parse([(item, id)], n)
        return unwrap(outcome)

    def distribution(self, item: Item) -> "Distribution":
        """Return the distribution over all trees of an item; chart parsers only."""
        return unwrap(self.distributions([item])[0])

    def distributions(self, items: Sequence[Item]) -> "list[Distribution | Failure]":
        """Return the distributions of several items, which are processed in one batch."""
        return map_ok(
            self._prepare([(item, "text") for item in items]), lambda one: list(self.finder.distributions(one))
        )

    def sample(self, item: Item, n: int, *, seed: int = 0, particles: int = PARTICLES) -> list[Document]:
        """Return the document of an item with n trees sampled from p(tree | words), given its constraints.

        Samples from a chart are exact, and so are samples from a discriminative model without layout and constraints.
        Others are drawn by a particle filter with at least n particles; more particles approximate the distribution
        better. The metadata of each document has the `effective_sample_size`.
        """
        check_sampling(n, seed, particles)
        (outcome,) = self._prepare([(item, "text")])
        return self.finder.sample(unwrap(outcome), n, seed, particles)

    def segment(self, item: Item, *, id: str = "text") -> Document:
        """Return the document of an item with EDUs and the annotation that the search needs; its own EDUs are kept."""
        (outcome,) = map_ok(self._prepare([(item, id)]), self.finder.segment)
        return unwrap(outcome)

    @overload
    def pipe(
        self, items: Iterable[Item], batch_size: int = ..., *, n_process: int = ..., as_tuples: Literal[False] = ...
    ) -> Iterator[Outcome]: ...

    @overload
    def pipe(
        self,
        items: Iterable[tuple[Item, Context]],
        batch_size: int = ...,
        *,
        n_process: int = ...,
        as_tuples: Literal[True],
    ) -> Iterator[tuple[Outcome, Context]]: ...

    def pipe(
        self, items: Iterable[Any], batch_size: int = 8, *, n_process: int = 1, as_tuples: bool = False
    ) -> Iterator[Any]:
        """Parse a stream of texts, lists of EDUs or documents in batches, in order.

        An item that cannot be parsed yields a `Failure`. Items without a name are numbered: `text-1`. With `n_process`,
        several processes parse a batch each. With `as_tuples`, the input is pairs of an item and any context, and so
        is the output.
        """
        if isinstance(items, str | Text | Document):
            raise UsageError("pipe takes an iterable of texts or documents, got a single one; use parse")
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        if n_process < 1:
            raise UsageError(f"n_process must be at least 1, got {n_process}")
        return self._pairs(items, batch_size, n_process) if as_tuples else self._stream(items, batch_size, n_process)

    def _pairs(
        self, pairs: Iterable[tuple[Item, Context]], batch_size: int, n_process: int
    ) -> Iterator[tuple[Outcome, Context]]:
        contexts: deque[Context] = deque()

        def items() -> Iterator[Item]:
            for item, context in pairs:
                contexts.append(context)
                yield item

        for outcome in self._stream(items(), batch_size, n_process):
            yield outcome, contexts.popleft()

    def _stream(self, items: Iterable[Item], batch_size: int, n_process: int) -> Iterator[Outcome]:
        named = ((item, f"text-{number}") for number, item in enumerate(items, start=1))
        batches = iter(lambda: list(islice(named, batch_size)), [])
        if n_process == 1:
            yield from chain.from_iterable(map(self._parse_batch, batches))
            return
        from genrst.parser.processes import can_fork, work_in_processes

        is_forked = can_fork(self.finder.device)
        if not is_forked and self.reload is None:
            raise UsageError(
                "only a parser that was loaded from a folder can use several processes; this one was made in memory"
            )
        # A forked process shares this parser; a spawned one loads its own.
        reload = None if is_forked else self.reload
        make = partial(_batch_parser, reload) if reload else lambda: self._parse_batch
        yield from chain.from_iterable(work_in_processes(batches, make, n_process, is_forked))

    def _parse_batch(self, batch: list[tuple[Item, str]]) -> list[Outcome]:
        return [one if isinstance(one, Failure) else one[0] for one in self._parse(batch)]

    def parse_annotated(self, documents: Sequence[Document]) -> list[Outcome]:
        """Parse documents without EDUs that have tokens, heads, sentences and entities, for example from spaCy."""
        raw = [replace(document, is_segmented=False) for document in documents]
        found = map_ok(raw, self.finder.find)
        return [one if isinstance(one, Failure) else one[0] for one in found]

    def _parse(self, items: Sequence[tuple[Item, str]], n: int = 1) -> list[list[Document] | Failure]:
        if n < 1 or (n > 1 and self.config.search == "greedy"):
            raise UsageError(f"the number of trees must be at least 1, and exactly 1 for greedy search, got {n}")
        return map_ok(self._prepare(items), lambda documents: self.finder.find(documents, n))

    def _prepare(self, items: Sequence[tuple[Item, str]]) -> list[Outcome]:
        """Return the documents of items, ready for the finder; items without a name get the one beside them."""
        outcomes = [to_document(item, id) for item, id in items]
        for document in outcomes:
            if isinstance(document, Document) and not looks_english(document.text or ""):
                self._warn_once(
                    "language", f"{document.id}: the text does not look like English; its tree is unreliable"
                )
        return map_ok(outcomes, self.finder.prepare)

    def _warn_once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(ParserWarning(message), stacklevel=2)


def _batch_parser(make: Callable[[], Parser]) -> Callable[[list[tuple[Item, str]]], list[Outcome]]:
    return make()._parse_batch


# Converting items to documents.


def to_document(item: Item, id: str) -> Outcome:
    """Return the document of an item, named `id` if it has no name, or a failure if it cannot be parsed."""
    name = item.id if isinstance(item, Text | Document) else id
    try:
        if isinstance(item, str | Text):
            return unsegmented(name, item if isinstance(item, str) else item.text)
        if not isinstance(item, Document):
            return from_edus(name, item)
        if item.text is not None and not item.text.strip():
            raise TreeError(f"{name}: the document has no words, got {item.text[:30]!r}")
        return item
    except GenrstError as error:
        return Failure(name, error)


def check_sampling(n: int, seed: int, particles: int) -> None:
    """Raise an error if the arguments of sampling are invalid."""
    if min(n, particles) < 1:
        raise UsageError(f"the numbers of samples and particles must be at least 1, got {n} and {particles}")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"the seed must be at least 0 and less than 2^63, got {seed}")


def from_edus(id: str, edus: Sequence[str], paragraph_starts: Collection[int] = ()) -> Document:
    """Make a document from a list of EDUs."""
    rule = f"{id}: the input must be a text, a list of EDUs or a Document"
    if not isinstance(edus, list | tuple):
        raise UsageError(f"{rule}, got {type(edus).__name__}")
    if not edus:
        raise UsageError(f"{rule}, got an empty list; use Parser.pipe for several texts")
    if others := [type(edu).__name__ for edu in edus if not isinstance(edu, str)]:
        raise UsageError(f"{rule}, got a list with {others[0]}; use Parser.pipe for several inputs")
    for number, edu in enumerate(edus):
        check_words(f"{id}: EDU {number}", edu)
    return Document.from_edus(id, edus, paragraph_starts=paragraph_starts)


def map_ok(outcomes: Sequence[Outcome], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """Apply a stage to all documents; failures stay in place."""
    done = iter(_attempt([outcome for outcome in outcomes if isinstance(outcome, Document)], stage))
    return [outcome if isinstance(outcome, Failure) else next(done) for outcome in outcomes]


def _attempt(documents: list[Document], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """Apply a stage to all documents at once or, if that fails, to each one separately."""
    try:
        return list(stage(documents)) if documents else []
    except MissingDependencyError:
        raise  # not the fault of a document
    except GenrstError as error:
        if len(documents) == 1:
            return [Failure(documents[0].id, error)]
    # Outside the handler, where the error would keep the memory of the failed attempt alive.
    return [result for document in documents for result in _attempt([document], stage)]


def unwrap(outcome: Result | Failure) -> Result:
    """Return a result, or raise the error of a failure."""
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome
