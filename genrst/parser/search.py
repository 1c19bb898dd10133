"""From documents with EDUs to documents with trees: numbers, scores, search, in groups of bounded size."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from genrst.document import Document
from genrst.errors import GenrstError, ParserWarning
from genrst.model.examples import Example
from genrst.model.scoring.scorer import NetworkScorer
from genrst.parser.ensemble import Member
from genrst.parser.packages import ParserConfig
from genrst.search.beam import BeamOptions, in_groups, search_beams
from genrst.search.ensemble import Ensemble
from genrst.search.results import Parse, SearchResult
from genrst.search.word import WordOptions, search_words
from genrst.transitions.oracle import tree_of

MOST_EDUS = 2000
"""How many EDUs are searched at once, unless a document has more: memory grows with them."""


class TreeSearch:
    """Finds the best trees of annotated documents under a model, or under several that choose together."""

    def __init__(self, members: Sequence[Member], config: ParserConfig, max_stack: int | None = 40) -> None:
        self.members = members
        self.config = config
        self.max_stack = max_stack
        # Wrong options are an error before the first document.
        self._options(config.beam)

    def __call__(self, documents: Iterable[Document], n: int = 1) -> list[list[Document]]:
        """Each document with its n best trees, the best first."""
        groups = in_groups(documents, lambda document: len(document.edus), MOST_EDUS)
        return [trees for group in groups for trees in self._group(group, n)]

    def _group(self, documents: list[Document], n: int) -> list[list[Document]]:
        found = self.find(self.prepare(documents), max(n, self.config.beam))
        for document, one in zip(documents, found, strict=True):
            if one.is_bounded:
                _warn_of_bound(document, self.max_stack)
        return [
            [self._with_tree(document, parse) for parse in one.parses[:n]]
            for document, one in zip(documents, found, strict=True)
        ]

    def prepare(self, documents: Sequence[Document]) -> list[list[Example]]:
        """Documents as numbers, once for each member."""
        return [[member.prepare(document) for document in documents] for member in self.members]

    def find(self, examples: Sequence[Sequence[Example]], beam: int) -> list[SearchResult]:
        """The best computations of documents, which are given as `prepare` gives them."""
        try:
            return self._search(examples, self._options(beam))
        except (MemoryError, RuntimeError) as error:
            if not _is_about_memory(error):
                raise
        # Not in the handler: the cause would hold on to the memory of the search.
        n_edus = sum(example.n_edus for example in examples[0])
        raise GenrstError(f"{examples[0][0].id}: {n_edus} EDUs at once need more memory than there is")

    def _search(self, examples: Sequence[Sequence[Example]], options: BeamOptions | WordOptions) -> list[SearchResult]:
        models = [member.model for member in self.members]
        scorers = [
            NetworkScorer(model.network, own, model.symbols.nucleus_is_right)
            for model, own in zip(models, examples, strict=True)
        ]
        scorer = scorers[0] if self._is_one() else Ensemble(scorers, [member.weight for member in self.members])
        if isinstance(options, WordOptions):
            return search_words(scorer, options)
        return search_beams(scorer, options)

    def _options(self, beam: int) -> BeamOptions | WordOptions:
        config = self.config
        if config.search == "word":
            return WordOptions(beam, word_weight=config.word_weight)
        if config.search == "greedy":
            return BeamOptions(1, "action", self.max_stack, word_weight=0.0)
        return BeamOptions(beam, config.search, self.max_stack, config.word_weight)

    def _with_tree(self, document: Document, parse: Parse) -> Document:
        actions = self.members[0].model.symbols.actions
        return replace(
            document,
            tree=tree_of(actions[action] for action in parse.actions),
            log_probability=parse.logp if self._is_one() and self._scores_words() else None,
            model=self.config.name,
            signals=(),
            secondary_edges=(),
        )

    def _is_one(self) -> bool:
        """Whether scores are log-probabilities: a weighted sum of some is none."""
        return len(self.members) == 1 and self.members[0].weight == 1

    def _scores_words(self) -> bool:
        """Whether log-probabilities are complete: a search that gives words no weight does not score them either."""
        is_weighted = self.config.search != "greedy" and self.config.word_weight > 0
        return is_weighted or self.members[0].model.network.config.kind == "discriminative"


def _is_about_memory(error: Exception) -> bool:
    """On a CPU, PyTorch has no error of its own for it."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _warn_of_bound(document: Document, max_stack: int | None) -> None:
    message = (
        f"{document.id}: the best tree needs all {max_stack} places of the stack; with more there may be a better one"
    )
    warnings.warn(ParserWarning(message), stacklevel=2)
