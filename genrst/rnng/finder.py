"""The tree finder of the paper's model, which builds trees step by step with one model or an ensemble.

The search algorithms are in `genrst.rnng.search`. A chart parser finds the EDUs of raw text; spaCy provides tokens,
syntax and entities.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn, Protocol, TypeAlias, TypeVar

import torch

from genrst.allowance import check_edus
from genrst.document import EFFECTIVE_SIZE, Document, constraints_of
from genrst.encoder.device import check_process
from genrst.encoder.memory import in_batches
from genrst.encoder.model import Model, load_model
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.errors import ConfigError, ConstraintError, GenrstError, ParserWarning, UsageError
from genrst.rnng.config import RnngConfig, Symbols
from genrst.rnng.examples import Example, prepare
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.particles import sample_trees
from genrst.rnng.search.results import Parse, SearchResult
from genrst.rnng.search.scorer import Ensemble, Scorer
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.transitions.actions import tree_of
from genrst.rnng.transitions.legal import LegalActions
from genrst.text.annotate import annotate, load_pipeline
from genrst.trees.constraints import UNCONSTRAINED, KeepWhole, Label, ResolvedConstraints

MOST_EDUS = 2000
"""The number of EDUs to search at once, which limits memory. A longer document is searched by itself."""

# spaCy cannot read surrogates. Their replacement has the same length, so that offsets stay valid.
_SURROGATES = re.compile("[\ud800-\udfff]")

Found = TypeVar("Found")
RnngModel: TypeAlias = Model[Network, Symbols]


def make_network(config: RnngConfig, symbols: Symbols, pretrained: PretrainedEncoder | None = None) -> Network:
    """Build an untrained network for a set of symbols, with a pretrained encoder if one is given."""
    return Network(config, len(symbols.words), len(symbols.deprels), len(symbols.actions.labels), pretrained)


def load_rnng(folder: Path, device: str = "cpu", precision: str = "auto", overlap: float | None = None) -> RnngModel:
    """Load a model of this kind; see `genrst.encoder.model.load_model`."""
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    return load_model(folder, RnngConfig, Symbols, make_network, device, dtype, overlap)


class Segmenter(Protocol):
    """Finds the EDUs of documents."""

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Add EDUs and sentences to documents that have none."""


@dataclass(frozen=True, slots=True)
class Member:
    """A model with the weight of its scores in an ensemble."""

    model: RnngModel
    weight: float = 1.0
    lowercase: bool = False

    def prepare(self, document: Document) -> Example:
        """Encode a document as numbers."""
        return prepare(document, self.model.symbols, None, self.lowercase, self.model.tokenizer)


@dataclass(frozen=True, slots=True)
class RnngSettings:
    """Settings for annotation and search."""

    name: str | None = None
    """The model name to store in parsed documents."""
    search: Literal["bag", "word", "action", "greedy"] = "bag"
    beam: int = 10
    word_weight: float = 0.5
    max_stack: int | None = 40
    """The largest stack that the search explores. Word-level search has no limit."""
    keep_whole: KeepWhole = "nothing"
    pipeline: str | None = None
    """The name of a spaCy pipeline; by default, the best one installed."""


class RnngFinder:
    """Finds the best trees of documents step by step; see `genrst.parser.finder.TreeFinder`."""

    def __init__(
        self, members: Sequence[Member], settings: RnngSettings, load_segmenter: Callable[[], Segmenter] | None = None
    ) -> None:
        """Prepare the finder. The segmenter is loaded with the first raw text."""
        if len({member.model.symbols.actions for member in members}) > 1:
            raise ConfigError("the models of an ensemble must have the same labels")
        self.members, self.settings = members, settings
        self._load_segmenter = load_segmenter
        self._segmenter: Segmenter | None = None
        self.labels: Sequence[Label] = members[0].model.symbols.actions.pairs
        self.fine: Mapping[str, str] = {}
        self.has_distributions = False
        self._processor = members[0].model.network.embeddings.weight.device
        self.device = self._processor.type
        # A weighted sum of log-probabilities is not a log-probability, and words with weight 0 are not scored.
        self._is_single = len(members) == 1 and members[0].weight == 1
        scores_words = settings.search != "greedy" and settings.word_weight > 0
        is_complete = scores_words or members[0].model.network.config.kind == "discriminative"
        self._gives_logp = self._is_single and is_complete
        # Report wrong options before the first document.
        self._options(settings.beam)

    def prepare(self, documents: Sequence[Document]) -> list[Document]:
        """Find EDUs if they are unknown, then annotate with spaCy. The text itself is not changed."""
        segmented = self.segment(documents)
        readable = [replace(one, text=one.text and _SURROGATES.sub("\ufffd", one.text)) for one in segmented]
        annotated = annotate(readable, load_pipeline(self.settings.pipeline))
        return [replace(new, text=old.text) for new, old in zip(annotated, segmented, strict=True)]

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Add EDUs and sentences with the segmenter. Documents with EDUs stay as they are."""
        raw = [document for document in documents if not document.is_segmented]
        if not raw:
            return _checked(documents)
        if self._segmenter is None:
            if self._load_segmenter is None:
                raise UsageError(f"{raw[0].id}: a model in memory has no segmenter; pass documents with EDUs")
            self._segmenter = self._load_segmenter()
        found = iter(self._segmenter.segment(raw))
        return _checked([document if document.is_segmented else next(found) for document in documents])

    def find(self, documents: Sequence[Document], n: int = 1) -> list[list[Document]]:
        """Return each document with its n best trees, best first; fewer if no more are found."""
        check_process(self._processor)
        documents, results = self.segment(documents), []
        constraints = [self.constraints(document) for document in documents]
        examples = self.make_examples(documents)
        for group in in_batches(range(len(documents)), lambda number: len(documents[number].edus), MOST_EDUS):
            own_examples = [[own[number] for number in group] for own in examples]
            beam = max(n, self.settings.beam)
            found = self.search(own_examples, beam, [constraints[number] for number in group])
            for document, one in zip((documents[number] for number in group), found, strict=True):
                if one.is_bounded:
                    fact = f"{document.id}: the best tree fills the stack of {self.settings.max_stack} units"
                    warnings.warn(ParserWarning(f"{fact}; a larger stack may give a better tree"), stacklevel=2)
                results.append([self._with_tree(document, parse, self._gives_logp) for parse in one.parses[:n]])
        return results

    def make_examples(self, documents: Sequence[Document]) -> list[list[Example]]:
        """Encode documents as numbers, once for each model."""
        return [[one.prepare(document) for document in documents] for one in self.members]

    def constraints(self, document: Document) -> ResolvedConstraints:
        """Return the constraints on a document's trees. Raises an error if no tree satisfies them."""
        constraints = constraints_of(document, self.labels, self.settings.keep_whole)
        if constraints.forbidden:
            try:
                LegalActions(len(document.edus), constraints)
            except ConstraintError as error:
                raise ConstraintError(f"{document.id}: {error}") from error
        return constraints

    def search(
        self, examples: Sequence[Sequence[Example]], beam: int, constraints: Sequence[ResolvedConstraints] = ()
    ) -> list[SearchResult]:
        """Return the best derivations of documents, encoded by `make_examples`, under optional constraints."""
        return self._in_memory(examples, lambda: self._search(examples, self._options(beam), constraints))

    def distributions(self, documents: Sequence[Document]) -> NoReturn:
        """Raise an error, because only a chart parser has a distribution over all trees."""
        del documents
        raise UsageError(f"distributions need a chart parser, which {self.settings.name!r} is not")

    def free_distribution(self, document: Document) -> NoReturn:
        """Raise an error, as `distributions` does."""
        self.distributions([document])

    def _in_memory(self, examples: Sequence[Sequence[Example]], find: Callable[[], Found]) -> Found:
        """Return the result of `find`, or raise a one-line error if memory runs out."""
        try:
            return find()
        except (MemoryError, RuntimeError) as error:
            # On a CPU, PyTorch raises a plain RuntimeError.
            if not (isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)):
                raise
        # Raised outside the handler, because the original exception would keep the memory of the search alive.
        n_edus = sum(example.n_edus for example in examples[0])
        raise GenrstError(f"{examples[0][0].id}: not enough memory for {n_edus} EDUs at once")

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """Return a document with trees drawn from p(tree | words), with words at full weight.

        If particles need no weights, samples are exact, and no extra particles are used. See
        `genrst.rnng.search.particles`.
        """
        check_process(self._processor)
        constraints = self.constraints(document)
        own = constraints if constraints != UNCONSTRAINED else None
        config = self.members[0].model.network.config
        # A model with layout generates the layout, regardless of its kind.
        has_weights = config.kind == "generative" or config.layout_size is not None
        is_exact = self._is_single and own is None and not has_weights
        examples, generator = self.make_examples([document]), torch.Generator().manual_seed(seed)
        n_particles = n if is_exact else particles
        found = self._in_memory(examples, lambda: sample_trees(self._scorer(examples), n, generator, own, n_particles))
        size = {} if is_exact else {EFFECTIVE_SIZE: f"{found.effective_size:.1f}"}
        drawn = replace(document, metadata=document.metadata | size)
        return [self._with_tree(drawn, parse, self._is_single) for parse in found.parses]

    def _search(
        self,
        examples: Sequence[Sequence[Example]],
        options: BeamOptions | WordOptions,
        constraints: Sequence[ResolvedConstraints],
    ) -> list[SearchResult]:
        scorer, own = self._scorer(examples), constraints if any(one != UNCONSTRAINED for one in constraints) else None
        if isinstance(options, WordOptions):
            return search_words(scorer, options, constraints=own)
        return search_beams(scorer, options, constraints=own)

    def _scorer(self, examples: Sequence[Sequence[Example]]) -> Scorer:
        scorers = [
            NetworkScorer(one.model.network, own, one.model.symbols.nucleus_is_right)
            for one, own in zip(self.members, examples, strict=True)
        ]
        return scorers[0] if self._is_single else Ensemble(scorers, [one.weight for one in self.members])

    def _options(self, beam: int) -> BeamOptions | WordOptions:
        settings = self.settings
        if settings.search == "word":
            return WordOptions(beam, word_weight=settings.word_weight)
        if settings.search == "greedy":
            return BeamOptions(1, "action", settings.max_stack, word_weight=0.0)
        level: Literal["bag", "action"] = "action" if settings.search == "action" else "bag"
        return BeamOptions(beam, level, settings.max_stack, settings.word_weight)

    def _with_tree(self, document: Document, parse: Parse, gives_logp: bool) -> Document:
        actions = self.members[0].model.symbols.actions
        return replace(
            document,
            log_probability=parse.logp if gives_logp else None,
            tree=tree_of(actions[action] for action in parse.actions),
            model=self.settings.name,
            signals=(),
            secondary_edges=(),
        )


def _checked(documents: Sequence[Document]) -> list[Document]:
    """Check documents whose EDUs are now known against the current allowance."""
    for document in documents:
        check_edus(document.id, len(document.edus))
    return list(documents)
