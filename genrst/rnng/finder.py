"""From documents with EDUs to documents with trees: the models that are asked, and the search that asks them.

A parser asks for trees in one way only: `search(documents, n)`, each document with its n best trees. Here trees are
built step by step, by the searches in `genrst.rnng.search`; those of charts are `genrst.chart.finder`'s.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import torch

from genrst.document import Document
from genrst.encoder.device import check_process, choose_device, computes_bfloat16
from genrst.errors import ConfigError, ConstraintError, GenrstError, ParserWarning, UsageError
from genrst.parser.packages import ParserConfig, Whole, read_models, read_parser_config
from genrst.parser.stages import EFFECTIVE_SIZE
from genrst.rnng.examples import Example, prepare
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, in_groups, search_beams
from genrst.rnng.search.ensemble import Ensemble
from genrst.rnng.search.particles import sample_trees
from genrst.rnng.search.results import Parse, SearchResult
from genrst.rnng.search.scorer import Scorer
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.storage import Model
from genrst.rnng.transitions.legal import LegalActions
from genrst.rnng.transitions.oracle import tree_of
from genrst.trees.constraints import NOTHING, ResolvedConstraints, Label, resolve_constraints

if TYPE_CHECKING:
    from genrst.chart.storage import ChartModel

MOST_EDUS = 2000
"""How many EDUs are searched at once, unless a document has more: memory grows with them."""

Found = TypeVar("Found")
AnyModel = TypeVar("AnyModel", Model, "ChartModel")


@dataclass(frozen=True, slots=True)
class WeightedModel(Generic[AnyModel]):
    """A model, the weight of its scores, and how documents are prepared for it."""

    model: AnyModel
    weight: float = 1.0
    lowercase: bool = False

    def prepare(self, document: Document) -> Example:
        """A document as numbers."""
        return prepare(document, self.model.symbols, None, self.lowercase, self.model.tokenizer)


def load_models(
    folder: Path, config: ParserConfig, device_name: str, load: Callable[..., AnyModel]
) -> list[WeightedModel[AnyModel]]:
    """The model of a folder, or those of an ensemble; `config` is that of the parser, `load` reads one model."""
    models: list[WeightedModel[AnyModel]] = []
    loaded: dict[Path, AnyModel] = {}
    places = read_models(folder)
    device = choose_device(device_name)
    for place, weight in places:
        own = config if place == folder else read_parser_config(place)
        # What an ensemble's settings say about encoders holds for all of its models.
        precision = own.encoder_precision if config.encoder_precision == "auto" else config.encoder_precision
        overlap = own.encoder_overlap if config.encoder_overlap is None else config.encoder_overlap
        is_half = precision == "bfloat16" or (precision == "auto" and computes_bfloat16(device))
        # A folder that is named twice takes its memory once.
        if place not in loaded:
            loaded[place] = load(place, device, torch.bfloat16 if is_half else torch.float32, overlap)
        models.append(WeightedModel(loaded[place], weight, own.lowercase))
    check_labels(models, [str(place) for place, _ in places])
    return models


def check_labels(models: Sequence[WeightedModel[AnyModel]], names: Sequence[str]) -> None:
    """Raise an error if models, which have these names, cannot choose together."""
    for one, name in zip(models, names, strict=True):
        if one.model.symbols.actions != models[0].model.symbols.actions:
            raise ConfigError(f"{names[0]} and {name}: models that choose together must have the same labels")


def demands_on(document: Document, labels: Sequence[Label], whole: Whole) -> ResolvedConstraints:
    """What is demanded of a document's trees: its constraints, and what is whole."""
    groups = {
        "nothing": [],
        "sentences": [document.sentence_of_edus()],
        "paragraphs": [document.paragraph_of_edus(), document.sentence_of_edus()],
    }[whole]
    try:
        return resolve_constraints(len(document.edus), document.constraints, labels, groups)
    except ConstraintError as error:
        raise ConstraintError(f"{document.id}: {error}") from error


class TreeSearch:
    """Finds the best trees of annotated documents under a model, or under several that choose together."""

    def __init__(
        self,
        models: Sequence[WeightedModel[Model]],
        config: ParserConfig,
        max_stack: int | None = 40,
        whole: Whole = "nothing",
    ) -> None:
        if config.search in ("risk", "best"):
            raise UsageError(f"the search of this model must be bag, word, action or greedy, was: {config.search}")
        self.models = models
        self.config = config
        self.reads_texts = False
        """Whether it finds EDUs itself; this one needs annotated documents."""
        self.max_stack = max_stack
        self.whole = whole
        self.labels = models[0].model.symbols.actions.pairs
        self.device = models[0].model.network.embeddings.weight.device
        # A weighted sum of log-probabilities is none, and words without a weight are not scored at all.
        self._is_single = len(models) == 1 and models[0].weight == 1
        scores_words = config.search != "greedy" and config.word_weight > 0
        is_complete = scores_words or models[0].model.network.config.kind == "discriminative"
        self._gives_logp = self._is_single and is_complete
        # Wrong options are an error before the first document.
        self._options(config.beam)

    def __call__(self, documents: Iterable[Document], n: int = 1) -> list[list[Document]]:
        """Each document with its n best trees, the best first; fewer if no more are found."""
        check_process(self.device)
        documents, results = list(documents), []
        demands = [self.demands(document) for document in documents]
        examples = self.prepare(documents)
        for group in in_groups(range(len(documents)), lambda number: len(documents[number].edus), MOST_EDUS):
            own_examples = [[own[number] for number in group] for own in examples]
            found = self.find(own_examples, max(n, self.config.beam), [demands[number] for number in group])
            for document, one in zip((documents[number] for number in group), found, strict=True):
                if one.is_bounded:
                    fact = f"{document.id}: the best tree needs all {self.max_stack} places of the stack"
                    warnings.warn(ParserWarning(f"{fact}; with more there may be a better one"), stacklevel=2)
                results.append([self._with_tree(document, parse, self._gives_logp) for parse in one.parses[:n]])
        return results

    def prepare(self, documents: Sequence[Document]) -> list[list[Example]]:
        """Documents as numbers, once for each model."""
        return [[one.prepare(document) for document in documents] for one in self.models]

    def demands(self, document: Document) -> ResolvedConstraints:
        """What is demanded of a document's trees; at least one must be so."""
        demands = demands_on(document, self.labels, self.whole)
        if demands.forbidden:
            try:
                LegalActions(len(document.edus), demands)
            except ConstraintError as error:
                raise ConstraintError(f"{document.id}: {error}") from error
        return demands

    def find(
        self, examples: Sequence[Sequence[Example]], beam: int, demands: Sequence[ResolvedConstraints] = ()
    ) -> list[SearchResult]:
        """The best derivations of documents, given as numbers by `prepare`, perhaps with demands on each."""
        return self._in_memory(examples, lambda: self._search(examples, self._options(beam), demands))

    def _in_memory(self, examples: Sequence[Sequence[Example]], find: Callable[[], Found]) -> Found:
        """What is found, or an error of one line if there is not memory enough for it."""
        try:
            return find()
        except (MemoryError, RuntimeError) as error:
            # On a CPU, PyTorch has no error of its own for it.
            if not (isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)):
                raise
        # Not in the handler: the cause would hold on to the memory of the search.
        n_edus = sum(example.n_edus for example in examples[0])
        raise GenrstError(f"{examples[0][0].id}: {n_edus} EDUs at once need more memory than there is")

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """A document with trees drawn from p(tree | words), words at full weight; see `genrst.rnng.search.particles`.

        Where nothing has a weight, samples are exact and there are no more particles than samples.
        """
        check_process(self.device)
        demands = self.demands(document)
        own = demands if demands != NOTHING else None
        config = self.models[0].model.network.config
        # A model with layout generates that, too, whatever its kind.
        has_weights = config.kind == "generative" or config.layout_size is not None
        is_exact = self._is_single and own is None and not has_weights
        examples, generator = self.prepare([document]), torch.Generator().manual_seed(seed)
        n_particles = n if is_exact else particles
        found = self._in_memory(examples, lambda: sample_trees(self._scorer(examples), n, generator, own, n_particles))
        size = {} if is_exact else {EFFECTIVE_SIZE: f"{found.effective_size:.1f}"}
        drawn = replace(document, metadata=document.metadata | size)
        return [self._with_tree(drawn, parse, self._is_single) for parse in found.parses]

    def _search(
        self,
        examples: Sequence[Sequence[Example]],
        options: BeamOptions | WordOptions,
        demands: Sequence[ResolvedConstraints],
    ) -> list[SearchResult]:
        scorer, own = self._scorer(examples), demands if any(one != NOTHING for one in demands) else None
        if isinstance(options, WordOptions):
            return search_words(scorer, options, demands=own)
        return search_beams(scorer, options, demands=own)

    def _scorer(self, examples: Sequence[Sequence[Example]]) -> Scorer:
        scorers = [
            NetworkScorer(one.model.network, own, one.model.symbols.nucleus_is_right)
            for one, own in zip(self.models, examples, strict=True)
        ]
        return scorers[0] if self._is_single else Ensemble(scorers, [one.weight for one in self.models])

    def _options(self, beam: int) -> BeamOptions | WordOptions:
        config = self.config
        if config.search == "word":
            return WordOptions(beam, word_weight=config.word_weight)
        if config.search == "greedy":
            return BeamOptions(1, "action", self.max_stack, word_weight=0.0)
        level: Literal["bag", "action"] = "action" if config.search == "action" else "bag"
        return BeamOptions(beam, level, self.max_stack, config.word_weight)

    def _with_tree(self, document: Document, parse: Parse, gives_logp: bool) -> Document:
        actions = self.models[0].model.symbols.actions
        return replace(
            document,
            log_probability=parse.logp if gives_logp else None,
            tree=tree_of(actions[action] for action in parse.actions),
            model=self.config.name,
            signals=(),
            secondary_edges=(),
        )
