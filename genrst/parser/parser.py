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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING

from genrst.config import from_mapping
from genrst.document import Document
from genrst.errors import ConfigError, MissingDependencyError, ParserWarning, UsageError
from genrst.parser.packages import (
    ParserConfig,
    Search,
    Whole,
    copy_parser,
    default_search,
    find_model,
    find_segmenter,
    is_chart,
    read_parser_config,
)
from genrst.parser.stages import (
    PARTICLES,
    Failure,
    Item,
    Outcome,
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
from genrst.trees.constraint import Constraint

if TYPE_CHECKING:
    from genrst.parser.chart_search import ChartSearch, Distribution
    from genrst.parser.search import TreeSearch
    from genrst.segmenter.segment import Segmenter


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
) -> "Parser":
    """Load a parser by name (`en` if none is given) or from its folder; what is given replaces its own settings.

    `device` is `auto`, `cpu` or `cuda`; `max_stack` bounds the stacks that search follows, unless it is word-level;
    `whole` is what trees do not cut: `sentences`, `paragraphs` or `nothing`; by default, of a chart as its folder says,
    of other models nothing.
    """
    folder = find_model(name_or_folder)
    config = read_parser_config(folder)
    given = {"pipeline": pipeline, "search": search, "beam": beam, "word_weight": word_weight, "whole": whole}
    try:
        changes = {name: value for name, value in given.items() if value is not None}
        config = from_mapping(ParserConfig, asdict(config) | changes)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    place = find_segmenter(folder)
    _calm_threads()
    try:
        from genrst.chart.storage import load_chart
        from genrst.model.storage import load_model
        from genrst.parser.chart_search import ChartSearch
        from genrst.parser.search import TreeSearch, load_models
        from genrst.segmenter.segment import load_segmenter
    except ImportError as error:
        raise MissingDependencyError("models need PyTorch: pip install 'genrst[model]'") from error
    tree_search: TreeSearch | ChartSearch
    config = replace(config, search=config.search or default_search(folder))
    if is_chart(folder):
        tree_search = ChartSearch(load_models(folder, config, device, load_chart), config)
    else:
        tree_search = TreeSearch(load_models(folder, config, device, load_model), config, max_stack, whole or "nothing")
    segmenter = load_segmenter(place, tree_search.device) if place else None
    return Parser(tree_search, config, segmenter, folder)


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
    segmenter: "Segmenter | None" = None
    """Without one, rules find EDUs."""
    folder: Path | None = None
    """Where it was loaded from."""
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
        from genrst.parser.chart_search import ChartSearch

        if not isinstance(self.search, ChartSearch):
            raise UsageError(f"a distribution must be that of a chart's model, was: {self.config.name!r}")
        (outcome,) = self._find_edus([(item, "text")])
        return next(self.search.distributions([only(outcome)]))

    def sample(self, item: Item, n: int, *, seed: int = 0, particles: int = PARTICLES) -> list[Document]:
        """A text, a list of EDUs or a document with n trees drawn from p(tree | words), given its constraints.

        Samples of a chart are exact, and so are those of a discriminative model without layout and constraints. Others
        are drawn by at least as many particles, and come near the distribution if there are enough of them; how many
        samples they are worth is in the metadata of each document, as `effective_sample_size`.
        """
        check_sampling(n, seed, particles)
        (outcome,) = self._find_edus([(item, "text")])
        return self.search.sample(only(outcome), n, seed, particles)

    def kbest(self, item: Item, n: int) -> list[Document]:
        """A text, a list of EDUs or a document with its n best trees, the best first; fewer if no more are found."""
        (outcome,) = self._parse([(item, "text")], n)
        return only(outcome)

    def segment(self, text: str, *, id: str = "text") -> Document:
        """The annotated document of a raw text, with its EDUs and without a tree."""
        (outcome,) = self._find_edus([(Text(id, text), id)])
        return only(outcome)

    def pipe(self, items: Iterable[Item], batch_size: int = 8) -> Iterator[Outcome]:
        """Parse a stream of texts, lists of EDUs or documents, some at a time; the order stays.

        In the place of one that cannot be parsed comes a `Failure`. What has no name gets one by its place: `text-1`.
        """
        if isinstance(items, str | Text | Document):
            raise UsageError("a stream must be several texts or documents, was: one")
        if batch_size < 1:
            raise UsageError(f"a batch must have an item or more, was: {batch_size}")
        return self._stream(((item, f"text-{number}") for number, item in enumerate(items, start=1)), batch_size)

    def _stream(self, items: Iterator[tuple[Item, str]], batch_size: int) -> Iterator[Outcome]:
        while batch := list(islice(items, batch_size)):
            yield from [one if isinstance(one, Failure) else one[0] for one in self._parse(batch)]

    def parse_annotated(self, documents: Sequence[Document]) -> list[Outcome]:
        """Parse documents with tokens, heads, sentences and entities, for example by spaCy, whose EDUs are unknown."""
        found = through(through(documents, self._segment), self.search)
        return [one if isinstance(one, Failure) else one[0] for one in found]

    def _parse(self, items: Sequence[tuple[Item, str]], n: int = 1) -> list[list[Document] | Failure]:
        if n < 1 or (n > 1 and self.config.search == "greedy"):
            raise UsageError(f"the number of trees must be 1 or more, and 1 with greedy search, was: {n}")
        return through(self._find_edus(items), lambda documents: self.search(documents, n))

    def _find_edus(self, items: Sequence[tuple[Item, str]]) -> list[Outcome]:
        """The annotated documents of items, which have these names if none of their own; EDUs that are given stay."""
        annotated = through([read_item(item, id) for item, id in items], self._annotate)
        is_raw = [isinstance(item, str | Text) for item, _ in items]
        segmented = iter(through(list(compress(annotated, is_raw)), self._segment))
        return [next(segmented) if raw else outcome for outcome, raw in zip(annotated, is_raw, strict=True)]

    def _annotate(self, documents: list[Document]) -> list[Document]:
        annotated = annotate_texts(documents, self.config.pipeline)
        for document in documents:
            if not looks_english(document.text or ""):
                self._warn_once("language", f"{document.id}: the text does not look English; its tree will mean little")
        return annotated

    def _segment(self, documents: list[Document]) -> list[Document]:
        if self.segmenter is None:
            self._warn_once("segmenter", f"the model {self.config.name!r} has no segmenter; EDUs are found by rules")
        return segment_texts(documents, self.segmenter)

    def _warn_once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(ParserWarning(message), stacklevel=2)
