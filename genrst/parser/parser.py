"""From text to trees: the parser as its users see it.

    >>> import genrst
    >>> parser = genrst.load()                                      # doctest: +SKIP
    >>> document = parser("It rained, so we stayed in.")            # doctest: +SKIP
    >>> print(document.tree)                                        # doctest: +SKIP

A parser takes texts, lists of EDUs and documents, several at a time, and hands them to the tree finder of its model
(`genrst.parser.finder`). A document that fails does not hold up the others. `genrst.parser.loading` makes parsers.
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
    """A raw text with a name, which its document will have."""

    id: str
    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise UsageError(f"{self.id}: a text must be a string, got {type(self.text).__name__}")


@dataclass(frozen=True, slots=True)
class Failure:
    """What stands in the place of a document that could not be parsed."""

    id: str
    error: GenrstError


Item: TypeAlias = str | Text | Sequence[str] | Document
"""What can be parsed: a raw text, the texts of EDUs, or a document, whose EDUs are kept and whose tree is not."""

Outcome: TypeAlias = Document | Failure
Result = TypeVar("Result")
Context = TypeVar("Context")


@dataclass(eq=False, repr=False)
class Parser:
    """Makes trees of texts; see `load`."""

    finder: TreeFinder
    config: ParserConfig
    folder: Path | None = None
    """Where it was loaded from."""
    reload: "Callable[[], Parser] | None" = None
    """What makes the same parser in another process; it can be pickled."""
    _warned: set[str] = field(default_factory=set, init=False)

    def __repr__(self) -> str:
        beam = "" if self.config.search in ("mbr", "best") else f", beam {self.config.beam}"
        return f"<Parser {self.config.name!r}: {self.config.search} search{beam}>"

    def save(self, folder: str | Path) -> None:
        """Copy the parser's files, with its settings as they are now, into a new folder that needs no other."""
        if self.folder is None:
            raise UsageError("a parser must be loaded from a folder to be saved, got made of models in memory")
        copy_parser(self.folder, self.config, Path(folder))

    def __call__(self, item: Item, constraints: Sequence[Constraint] | None = None, *, id: str = "text") -> Document:
        """Parse a text, a list of EDUs or a document, whose EDUs, tokens, sentences and paragraphs are kept.

        Constraints say what the tree has to be like; those of the document if none are given.
        """
        return self.kbest(item, 1, constraints, id=id)[0]

    parse = __call__

    def parse_edus(self, edus: Sequence[str], *, id: str = "text", paragraph_starts: Collection[int] = ()) -> Document:
        """Parse a text that is segmented already; `paragraph_starts` are the EDUs that start a paragraph."""
        return self(from_edus(id, edus, paragraph_starts))

    def kbest(
        self, item: Item, n: int, constraints: Sequence[Constraint] | None = None, *, id: str = "text"
    ) -> list[Document]:
        """The document of an item with its n best trees, the best first; fewer if no more are found.

        Of a chart these are the most probable trees. If n is 1 it is the tree of minimum risk, as in `parse`, which may
        be another: see `Distribution.best`.
        """
        if constraints is not None:
            item = replace(unwrap(to_document(item, id)), constraints=tuple(constraints))
        (outcome,) = self._parse([(item, id)], n)
        return unwrap(outcome)

    def distribution(self, item: Item) -> "Distribution":
        """All trees of an item with their probabilities; only a chart has them."""
        return unwrap(self.distributions([item])[0])

    def distributions(self, items: Sequence[Item]) -> "list[Distribution | Failure]":
        """Those of several items, which are read together."""
        return map_ok(
            self._prepare([(item, "text") for item in items]), lambda one: list(self.finder.distributions(one))
        )

    def sample(self, item: Item, n: int, *, seed: int = 0, particles: int = PARTICLES) -> list[Document]:
        """The document of an item with n trees drawn from p(tree | words), given its constraints.

        Samples of a chart are exact, and so are those of a discriminative model without layout and constraints. Others
        are drawn by at least as many particles, and come near the distribution if there are enough of them; how many
        samples they are worth is in the metadata of each document, as `effective_sample_size`.
        """
        check_sampling(n, seed, particles)
        (outcome,) = self._prepare([(item, "text")])
        return self.finder.sample(unwrap(outcome), n, seed, particles)

    def segment(self, item: Item, *, id: str = "text") -> Document:
        """The document of an item with EDUs and all that search needs; EDUs and a tree that it has are kept."""
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
        """Parse a stream of texts, lists of EDUs or documents, some at a time; the order stays.

        In the place of one that cannot be parsed comes a `Failure`. What has no name gets one by its place: `text-1`.
        Several processes (`n_process`) parse a batch each. With `as_tuples` an item comes in a pair with anything else,
        and so does what is made of it.
        """
        if isinstance(items, str | Text | Document):
            raise UsageError("a stream must be several texts or documents, got one")
        if batch_size < 1:
            raise UsageError(f"a batch must have an item or more, got {batch_size}")
        if n_process < 1:
            raise UsageError(f"n_process must be 1 or more, got {n_process}")
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
            raise UsageError("a parser must be loaded from a folder to be used by other processes, got made in memory")
        # A forked process has this parser; another one makes its own.
        reload = None if is_forked else self.reload
        make = partial(_batch_parser, reload) if reload else lambda: self._parse_batch
        yield from chain.from_iterable(work_in_processes(batches, make, n_process, is_forked))

    def _parse_batch(self, batch: list[tuple[Item, str]]) -> list[Outcome]:
        return [one if isinstance(one, Failure) else one[0] for one in self._parse(batch)]

    def parse_annotated(self, documents: Sequence[Document]) -> list[Outcome]:
        """Parse documents with tokens, heads, sentences and entities, for example by spaCy, whose EDUs are unknown."""
        raw = [replace(document, is_segmented=False) for document in documents]
        found = map_ok(raw, self.finder.find)
        return [one if isinstance(one, Failure) else one[0] for one in found]

    def _parse(self, items: Sequence[tuple[Item, str]], n: int = 1) -> list[list[Document] | Failure]:
        if n < 1 or (n > 1 and self.config.search == "greedy"):
            raise UsageError(f"the number of trees must be 1 or more, and 1 with greedy search, got {n}")
        return map_ok(self._prepare(items), lambda documents: self.finder.find(documents, n))

    def _prepare(self, items: Sequence[tuple[Item, str]]) -> list[Outcome]:
        """The documents of items, ready for the finder; they have these names if none of their own."""
        outcomes = [to_document(item, id) for item, id in items]
        for document in outcomes:
            if isinstance(document, Document) and not looks_english(document.text or ""):
                self._warn_once("language", f"{document.id}: the text does not look English; its tree will mean little")
        return map_ok(outcomes, self.finder.prepare)

    def _warn_once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(ParserWarning(message), stacklevel=2)


def _batch_parser(make: Callable[[], Parser]) -> Callable[[list[tuple[Item, str]]], list[Outcome]]:
    return make()._parse_batch


# Items, and what becomes of them.


def to_document(item: Item, id: str) -> Outcome:
    """The document of an item, which gets this name if it has none; a failure if it cannot be parsed."""
    name = item.id if isinstance(item, Text | Document) else id
    try:
        if isinstance(item, str | Text):
            return unsegmented(name, item if isinstance(item, str) else item.text)
        if not isinstance(item, Document):
            return from_edus(name, item)
        if item.text is not None and not item.text.strip():
            raise TreeError(f"{name}: a document must have a word, got {item.text[:30]!r}")
        return item
    except GenrstError as error:
        return Failure(name, error)


def check_sampling(n: int, seed: int, particles: int) -> None:
    """Raise an error if samples cannot be drawn like that."""
    if min(n, particles) < 1:
        raise UsageError(f"samples and particles must be 1 or more, got {n} and {particles}")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"a seed must be 0 or more and less than 2^63, got {seed}")


def from_edus(id: str, edus: Sequence[str], paragraph_starts: Collection[int] = ()) -> Document:
    """The document of a text that is given as EDUs."""
    rule = f"{id}: it must be a text, a list of EDUs or a Document"
    if not isinstance(edus, list | tuple):
        raise UsageError(f"{rule}, got {type(edus).__name__}")
    if not edus:
        raise UsageError(f"{rule}, got an empty list; Parser.pipe takes lists of texts")
    if others := [type(edu).__name__ for edu in edus if not isinstance(edu, str)]:
        raise UsageError(f"{rule}, got a list with {others[0]}; Parser.pipe takes lists of several")
    for number, edu in enumerate(edus):
        check_words(f"{id}: EDU {number}", edu)
    return Document.from_edus(id, edus, paragraph_starts=paragraph_starts)


def map_ok(outcomes: Sequence[Outcome], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """What a stage makes of all documents; failures stay where they are."""
    done = iter(_attempt([outcome for outcome in outcomes if isinstance(outcome, Document)], stage))
    return [outcome if isinstance(outcome, Failure) else next(done) for outcome in outcomes]


def _attempt(documents: list[Document], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """All documents at once or, where that fails, each by itself."""
    try:
        return list(stage(documents)) if documents else []
    except MissingDependencyError:
        raise  # no document is to blame
    except GenrstError as error:
        if len(documents) == 1:
            return [Failure(documents[0].id, error)]
    # Not in the handler: there the error would hold on to the memory of what failed.
    return [result for document in documents for result in _attempt([document], stage)]


def unwrap(outcome: Result | Failure) -> Result:
    """What was made of the only item; raises the error if it failed."""
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome
