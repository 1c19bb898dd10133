"""From text to trees: the parser as its users see it.

    >>> import genrst
    >>> parser = genrst.load()                                      # doctest: +SKIP
    >>> document = parser("It rained, so we stayed in.")            # doctest: +SKIP
    >>> print(document.tree)                                        # doctest: +SKIP

Documents go through the stages annotate, segment and search, several at a time. PyTorch is imported when a parser is
loaded, spaCy when the first text is annotated.
"""

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from genrst.config import from_mapping
from genrst.document import Document
from genrst.errors import ConfigError, MissingDependencyError, ParserWarning, UsageError
from genrst.parser.packages import (
    ParserConfig,
    Relations,
    Search,
    Whole,
    copy_parser,
    default_search,
    find_model,
    find_segmenter,
    is_chart,
    read_parser_config,
)
from genrst.parser.processes import can_fork, work_in_processes
from genrst.parser.stages import (
    PARTICLES,
    Failure,
    Item,
    Outcome,
    SegmentsTexts,
    Text,
    annotate_texts,
    check_sampling,
    from_edus,
    only,
    read_item,
    segment_texts,
    through,
)
from genrst.text.raw import looks_english
from genrst.trees.constraints import Constraint

if TYPE_CHECKING:
    import torch

    from genrst.chart.finder import ChartSearch, Distribution
    from genrst.rnng.finder import TreeSearch

Context = TypeVar("Context")


def load(
    name_or_folder: str | Path | None = None,
    *,
    device: str = "auto",
    pipeline: str | None = None,
    search: Search | None = None,
    beam: int | None = None,
    word_weight: float | None = None,
    max_stack: int | None = 40,
    whole: Whole | None = None,
    relations: Relations | None = None,
) -> "Parser":
    """Load a parser by name (`en` if none is given) or from its folder; what is given replaces its own settings.

    `device` is `auto`, `cpu`, `cuda` or `mps`; `max_stack` bounds the stacks that search follows, unless it is
    word-level; `whole` is what trees do not cut: `sentences`, `paragraphs` or `nothing`; by default, of a chart as its
    folder says, of other models nothing. `relations` is `coarse` or `fine`, for a chart that knows fine ones.
    """
    folder = find_model(name_or_folder)
    config = read_parser_config(folder)
    given = {"pipeline": pipeline, "search": search, "beam": beam, "word_weight": word_weight}
    given |= {"whole": whole, "relations": relations}
    try:
        changes = {name: value for name, value in given.items() if value is not None}
        config = from_mapping(ParserConfig, asdict(config) | changes)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    place = find_segmenter(folder)
    config = replace(config, search=config.search or default_search(folder))
    _calm_threads()
    try:
        if is_chart(folder):
            return _load_chart(folder, config, device, place)
        return _load_steps(folder, config, device, place, max_stack, whole or "nothing")
    except MissingDependencyError:
        raise  # it says what is missing
    except ImportError as error:
        raise MissingDependencyError("models need PyTorch: pip install 'genrst[model]'") from error


def _load_chart(folder: Path, config: ParserConfig, device: str, place: Path | None) -> "Parser":
    """A parser with charts; `place` is the folder of its segmenter, if it needs one."""
    from genrst.chart.finder import ChartSearch
    from genrst.chart.storage import load_chart
    from genrst.rnng.finder import load_models

    search = ChartSearch(load_models(folder, config, device, load_chart), config)
    segmenter = search if search.reads_texts else _load_segmenter(place, search.device)
    return Parser(search, config, segmenter, folder)


def _load_steps(
    folder: Path, config: ParserConfig, device: str, place: Path | None, max_stack: int | None, whole: Whole
) -> "Parser":
    """A parser that builds trees step by step."""
    from genrst.rnng.finder import TreeSearch, load_models
    from genrst.rnng.storage import load_model

    search = TreeSearch(load_models(folder, config, device, load_model), config, max_stack, whole)
    return Parser(search, config, _load_segmenter(place, search.device), folder)


def _load_segmenter(place: Path | None, device: "torch.device") -> SegmentsTexts | None:
    from genrst.segmenter.segment import load_segmenter

    return load_segmenter(place, device) if place else None


def _calm_threads() -> None:
    """Let PyTorch's threads wait for each other without keeping a core busy, unless told otherwise.

    A search is many small operations. Where another program needs a core, threads that spin make it ten times slower:
    100 EDUs took 10 to 45 s on two cores with one of them busy, and 2 to 4 s with this; on idle cores it costs about a
    tenth. It has no effect once PyTorch is imported.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = "1000"


def _do_with_one_thread() -> None:
    """In a forked process PyTorch's threads are gone, and it would wait for them for ever; one is always there."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_do_with_one_thread)


@dataclass(eq=False, repr=False)
class Parser:
    """Makes trees of texts; see `load`."""

    search: "TreeSearch | ChartSearch"
    config: ParserConfig
    segmenter: SegmentsTexts | None = None
    """Without one, rules find EDUs."""
    folder: Path | None = None
    """Where it was loaded from."""
    max_edus: int | None = None
    """Documents with more EDUs are refused, for a service; charts that read texts themselves do not know before."""
    _warned: set[str] = field(default_factory=set, init=False)

    def __repr__(self) -> str:
        beam = "" if self.config.search in ("risk", "best") else f", beam {self.config.beam}"
        return f"<Parser {self.config.name!r}: {self.config.search} search{beam}>"

    def save(self, folder: str | Path) -> None:
        """Copy the parser's files, with its settings as they are now, into a new folder that needs no other."""
        if self.folder is None:
            raise UsageError("a parser must be loaded from a folder to be saved, was: made of models in memory")
        copy_parser(self.folder, self.config, Path(folder))

    def __call__(self, text: str, *, id: str = "text") -> Document:
        """Parse a raw text: annotate it, find its EDUs, find its tree."""
        return self.kbest(Text(id, text), 1)[0]

    def parse_edus(self, edus: Sequence[str], *, id: str = "text", paragraph_starts: Collection[int] = ()) -> Document:
        """Parse a text that is segmented already; `paragraph_starts` are the EDUs that start a paragraph."""
        return self.parse(from_edus(id, edus, paragraph_starts))

    def parse(self, document: Document, constraints: Sequence[Constraint] | None = None) -> Document:
        """Parse a document again: it keeps its EDUs, tokens, sentences and paragraphs, and gets another tree.

        Constraints say what the tree has to be like; those of the document if none are given.
        """
        if constraints is not None:
            document = replace(document, constraints=tuple(constraints))
        return self.kbest(document, 1)[0]

    def distribution(self, item: Item) -> "Distribution":
        """All trees of a text, a list of EDUs or a document with their probabilities; only a chart has them."""
        return only(self.distributions([item])[0])

    def distributions(self, items: Sequence[Item]) -> "list[Distribution | Failure]":
        """Those of several texts, lists of EDUs or documents, which are read together."""
        from genrst.chart.finder import ChartSearch

        search = self.search
        if not isinstance(search, ChartSearch):
            raise UsageError(f"a distribution must be that of a chart's model, was: {self.config.name!r}")
        return through(self._read([(item, "text") for item in items]), lambda found: list(search.distributions(found)))

    def annotate(self, item: Item) -> Document:
        """The document of a text, a list of EDUs or a document, with all that search needs; it keeps EDUs and tree."""
        (outcome,) = through(self._read([(item, "text")]), self._segment)
        return only(outcome)

    def sample(self, item: Item, n: int, *, seed: int = 0, particles: int = PARTICLES) -> list[Document]:
        """A text, a list of EDUs or a document with n trees drawn from p(tree | words), given its constraints.

        Samples of a chart are exact, and so are those of a discriminative model without layout and constraints. Others
        are drawn by at least as many particles, and come near the distribution if there are enough of them; how many
        samples they are worth is in the metadata of each document, as `effective_sample_size`.
        """
        check_sampling(n, seed, particles)
        (outcome,) = self._read([(item, "text")])
        return self.search.sample(only(outcome), n, seed, particles)

    def kbest(self, item: Item, n: int) -> list[Document]:
        """A text, a list of EDUs or a document with its n best trees, the best first; fewer if no more are found."""
        (outcome,) = self._parse([(item, "text")], n)
        return only(outcome)

    def segment(self, text: str, *, id: str = "text") -> Document:
        """The annotated document of a raw text, with its EDUs and without a tree."""
        return self.annotate(Text(id, text))

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
            raise UsageError("a stream must be several texts or documents, was: one")
        if batch_size < 1:
            raise UsageError(f"a batch must have an item or more, was: {batch_size}")
        if n_process < 1:
            raise UsageError(f"n_process must be 1 or more, was: {n_process}")
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
        is_forked = can_fork(self.search.device.type)
        make = (lambda: self._parse_batch) if is_forked else partial(_batch_parser, self._load_again())
        yield from chain.from_iterable(work_in_processes(batches, make, n_process, is_forked))

    def _parse_batch(self, batch: list[tuple[Item, str]]) -> list[Outcome]:
        return [one if isinstance(one, Failure) else one[0] for one in self._parse(batch)]

    def _load_again(self) -> "Callable[[], Parser]":
        """What loads the same parser in another process."""
        if self.folder is None:
            raise UsageError("a parser must be loaded from a folder to be used by other processes, was: made in memory")
        config = self.config
        settings: dict[str, Any] = {"pipeline": config.pipeline, "search": config.search, "beam": config.beam}
        settings |= {"word_weight": config.word_weight, "device": str(self.search.device)}
        if is_chart(self.folder):
            settings["whole"] = config.whole
        return partial(load, self.folder, max_stack=getattr(self.search, "max_stack", None), **settings)

    def parse_annotated(self, documents: Sequence[Document]) -> list[Outcome]:
        """Parse documents with tokens, heads, sentences and entities, for example by spaCy, whose EDUs are unknown."""
        raw = [replace(document, is_segmented=False) for document in documents]
        found = through(raw if self.search.reads_texts else through(raw, self._segment), self.search)
        return [one if isinstance(one, Failure) else one[0] for one in found]

    def _parse(self, items: Sequence[tuple[Item, str]], n: int = 1) -> list[list[Document] | Failure]:
        if n < 1 or (n > 1 and self.config.search == "greedy"):
            raise UsageError(f"the number of trees must be 1 or more, and 1 with greedy search, was: {n}")
        return through(self._read(items), lambda documents: self.search(documents, n))

    def _read(self, items: Sequence[tuple[Item, str]]) -> list[Outcome]:
        """The documents of items, as search wants them; they have these names if none of their own."""
        outcomes = [read_item(item, id) for item, id in items]
        for document in outcomes:
            if isinstance(document, Document) and not looks_english(document.text or ""):
                self._warn_once("language", f"{document.id}: the text does not look English; its tree will mean little")
        if not self.search.reads_texts:
            outcomes = through(through(outcomes, self._annotate), self._segment)
        return outcomes if self.max_edus is None else through(outcomes, self._check_sizes)

    def _check_sizes(self, documents: list[Document]) -> list[Document]:
        for document in documents:
            if document.is_segmented and self.max_edus is not None and len(document.edus) > self.max_edus:
                rule = f"{document.id}: a document must have at most {self.max_edus} EDUs"
                raise UsageError(f"{rule}, was: {len(document.edus)}")
        return documents

    def _annotate(self, documents: list[Document]) -> list[Document]:
        return annotate_texts(documents, self.config.pipeline)

    def _segment(self, documents: list[Document]) -> list[Document]:
        """The documents with EDUs; those that they have stay."""
        if self.segmenter is None and not all(document.is_segmented for document in documents):
            self._warn_once("segmenter", f"the model {self.config.name!r} has no segmenter; EDUs are found by rules")
        return segment_texts(documents, self.segmenter)

    def _warn_once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(ParserWarning(message), stacklevel=2)


def _batch_parser(make: "Callable[[], Parser]") -> "Callable[[list[tuple[Item, str]]], list[Outcome]]":
    return make()._parse_batch
