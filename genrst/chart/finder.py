"""The tree finder of charts: from documents to distributions over their trees, and to the trees themselves.

One network, or several whose probabilities are averaged. What a chart knows besides its best trees is in a
`Distribution`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, TypeAlias

import numpy as np

from genrst.allowance import check_edus
from genrst.chart.calibration import Calibration
from genrst.chart.examples import FloatArray, LabelledUnit, tree_of
from genrst.chart.labels import Labels
from genrst.chart.posterior import Posterior, infer
from genrst.chart.scorer import Scorer
from genrst.chart.scoring import Member, ScoringContext
from genrst.chart.signals.signaller import Signaller
from genrst.chart.texts import EncodedText, EncoderCache, encode_texts, piece_starts
from genrst.document import Document, constraints_of
from genrst.encoder.memory import in_batches
from genrst.encoder.onnx import in_threads
from genrst.errors import ConfigError, UsageError
from genrst.io import stage
from genrst.trees.constraints import Constraint, KeepWhole, Label, ResolvedConstraints
from genrst.trees.node import Certainty, Tree, units

MOST_EDUS = 2000
"""How many EDUs are read at once, unless a document has more: memory grows with them."""
EDU_CHARACTERS = 50
"""Typical EDU length, in characters."""


@dataclass(frozen=True)
class ChartSettings:
    """How trees are chosen and named."""

    labels: Labels
    name: str | None = None
    """What parsed documents say about their origin."""
    search: Literal["mbr", "best"] = "mbr"
    """Minimum Bayes risk: the tree whose units are expected to be right most often; or the most probable tree."""
    keep_whole: KeepWhole = "sentences"
    relations: Literal["fine", "coarse"] = "fine"
    temperature: float = 1.0
    calibration: Calibration | None = None
    """How the probabilities that trees carry are corrected."""

    @cached_property
    def shown(self) -> Labels:
        """The labels that trees have: all of them, or their groups."""
        return self.labels if self.relations == "fine" else self.labels.coarse()

    def constraints(self, document: Document) -> ResolvedConstraints:
        """The constraints on a document's trees; where relations are coarse, fine ones count as their class."""
        classes = self.labels.class_of
        if self.relations == "coarse":
            given = [
                replace(one, relation=classes.get(one.relation or "", one.relation)) for one in document.constraints
            ]
            document = replace(document, constraints=tuple(given))
        return constraints_of(document, self.shown.pairs, self.keep_whole, classes)

    def with_tree(self, document: Document, tree: Tree, logp: float | None) -> Document:
        """A document with a tree that was found for it, and its log-probability."""
        return replace(document, log_probability=logp, tree=tree, model=self.name, signals=(), secondary_edges=())


Mark: TypeAlias = Callable[[Document], Document] | None
"""Adds the signals of its tree to a document."""


class ChartFinder:
    """Finds the trees of documents in charts; see `genrst.parser.finder.TreeFinder`."""

    def __init__(
        self, scorers: Sequence[tuple[Scorer, float]], settings: ChartSettings, signaller: Signaller | None = None
    ) -> None:
        """Each scorer has a weight; the signaller, if signals are wanted, reads the states of the first one."""
        if settings.search == "best" and len(scorers) > 1:
            raise UsageError("the search of several charts must be mbr, got best")
        if len({scorer.labels for scorer, _ in scorers}) > 1:
            raise ConfigError("charts that choose together must have the same labels")
        self.scorers, self.settings, self.signaller = scorers, settings, signaller
        self.labels: Sequence[Label] = settings.labels.groups
        self.fine: Mapping[str, str] = dict(settings.labels.classes)
        self.has_distributions = True
        self.device = scorers[0][0].device
        self._caches = [EncoderCache() for _ in scorers]

    def prepare(self, documents: Sequence[Document]) -> list[Document]:
        """The documents as they are: a chart reads texts itself."""
        return list(documents)

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Documents with EDUs and sentences, where they have none."""
        (scorer, _), cache = self.scorers[0], self._caches[0]
        batches = in_batches(documents, _likely_edus, MOST_EDUS)
        return [text.document for batch in batches for text in _checked(encode_texts(scorer, batch, cache))]

    def find(self, documents: Sequence[Document], n: int = 1) -> list[list[Document]]:
        """Each document with its n best trees, the best first; fewer if there are fewer."""
        return [one.documents(n) for one in self.distributions(documents)]

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """A document with trees drawn from their distribution, which is exact and needs no particles."""
        del particles
        (distribution,) = self.distributions([document])
        trees = distribution.sample(n, seed)
        distinct = list(dict.fromkeys(trees))
        logp = dict(zip(distinct, distribution.log_probabilities(distinct), strict=True))
        return [self.settings.with_tree(distribution.document, tree, logp[tree]) for tree in trees]

    def distributions(
        self, documents: Sequence[Document], settings: ChartSettings | None = None
    ) -> Iterator["Distribution"]:
        """The distribution over the trees of each document, with these settings or its own."""
        settings = settings or self.settings
        total = sum(weight for _, weight in self.scorers)
        for batch in in_batches(documents, _likely_edus, MOST_EDUS):
            members: list[list[Member]] = [[] for _ in batch]
            marks: list[Mark] = []
            for (scorer, weight), cache in zip(self.scorers, self._caches, strict=True):
                with stage("reading the text"):
                    texts = _checked(encode_texts(scorer, batch, cache))
                marks = marks or [self._mark(text) for text in texts]
                batch = [text.document for text in texts]  # segmented by the first one
                for own, text in zip(members, texts, strict=True):
                    own.append(Member(scorer, weight / total, text.edus))
            # Each document by itself: its trees do not depend on those beside it.
            contexts = [
                ScoringContext(
                    document.id,
                    own,
                    text.kinds,
                    settings.shown,
                    settings.constraints(document),
                    settings.temperature,
                )
                for document, own, text in zip(batch, members, texts, strict=True)
            ]
            with stage("finding the tree"):
                posteriors = in_threads(infer, contexts)
            for text, posterior, mark in zip(texts, posteriors, marks, strict=True):
                yield Distribution(text.document, posterior, settings, text.border_p, mark)

    def mark(self, documents: Sequence[Document]) -> Iterator[Document]:
        """Documents with the signals of the trees that they have."""
        for batch in in_batches(documents, _likely_edus, MOST_EDUS):
            for document, text in zip(batch, encode_texts(self.scorers[0][0], batch, self._caches[0]), strict=True):
                mark = self._mark(text)
                if mark is None:
                    raise UsageError("a parser must be loaded with signals=True to find signals, got without")
                yield mark(document)

    def _mark(self, text: EncodedText) -> "Mark":
        """What adds signals to the trees of a text, if they are wanted."""
        if self.signaller is None:
            return None
        starts = piece_starts(text, self.scorers[0][0].tokenizer)
        states = text.states if isinstance(text.states, np.ndarray) else text.states.float().cpu().numpy()
        read = self.signaller.read(text.document, starts, states, text.kinds, text.edus)
        return partial(self.signaller.add, read=read)

    def free_distribution(self, document: Document) -> "Distribution":
        """The distribution over all trees of a document: without constraints, with coarse relations."""
        free = replace(self.settings, keep_whole="nothing", relations="coarse")
        return next(self.distributions([replace(document, constraints=())], free))


def _checked(texts: list[EncodedText]) -> list[EncodedText]:
    """Texts whose EDUs are known now; an error if one has too many for a service."""
    for text in texts:
        check_edus(text.document.id, len(text.document.edus))
    return texts


def _likely_edus(document: Document) -> int:
    """How many EDUs a document has, or probably will have."""
    return len(document.edus) if document.is_segmented else len(document.text or "") // EDU_CHARACTERS


class Distribution:
    """The distribution over the labelled trees of a document that a chart gives.

    EDUs are numbered from 0, and `stop` is one more than the number of a unit's last EDU.
    """

    def __init__(
        self,
        document: Document,
        posterior: Posterior,
        settings: ChartSettings,
        border_p: FloatArray | None = None,
        mark: Mark = None,
    ) -> None:
        """`border_p` are the probabilities of the borders of EDUs, if the chart found them; `mark` adds signals."""
        self.document, self._posterior, self._settings, self._border_p = document, posterior, settings, border_p
        self._mark = mark
        given = {one.span for one in document.constraints}
        self._assumed = {*posterior.context.constraints.forced} - given - {(0, posterior.n_edus)}
        self.labels = settings.shown.pairs

    @property
    def border_p(self) -> FloatArray | None:
        """The probability that each EDU starts where it does, if the chart found them. Shape: (EDUs + 1)"""
        return self._border_p

    def given(self, constraints: Sequence[Constraint]) -> "Distribution":
        """The distribution given other constraints than before: quick, for the text is not read again."""
        document = replace(self.document, constraints=tuple(constraints))
        posterior = self._posterior.given(self._settings.constraints(document))
        return Distribution(document, posterior, self._settings, self._border_p, self._mark)

    def documents(self, n: int = 1) -> list[Document]:
        """The document with its n best trees, the best first; one tree is found as the parser's settings say."""
        is_best = n > 1 or self._settings.search == "best"
        found = self.best(n) if is_best else [self.mbr()]
        documents = [self._settings.with_tree(self.document, *pair) for pair in found]
        return documents if self._mark is None else [self._mark(document) for document in documents]

    def mbr(self) -> tuple[Tree, float | None]:
        """The minimum Bayes risk tree, whose units are expected to be right most often, and its log-probability.

        If several charts are averaged, trees as a whole have no probability.
        """
        return self._trees([self._posterior.mbr()])[0], self._posterior.mbr_logp

    def best(self, k: int = 1) -> list[tuple[Tree, float]]:
        """The k most probable trees and their log-probabilities, the best first; fewer if there are fewer."""
        found, logps = zip(*self._posterior.k_best(k), strict=True)
        return list(zip(self._trees(found), logps, strict=True))

    def sample(self, n: int, seed: int) -> list[Tree]:
        """Trees drawn from the distribution."""
        return self._trees(self._posterior.sample(n, seed))

    def log_probability(self, tree: Tree) -> float:
        """Of a binary tree; −inf if constraints rule it out. Where relations are coarse, fine ones count as theirs."""
        return self.log_probabilities([tree])[0]

    def log_probabilities(self, trees: Sequence[Tree]) -> list[float]:
        """Of several trees, much faster than one by one."""
        return self._posterior.log_probabilities([self._numbered(tree) for tree in trees])

    def _numbered(self, tree: Tree) -> list[LabelledUnit]:
        numbers = {label: number for number, label in enumerate(self.labels)}
        classes = self._settings.labels.class_of if self._settings.relations == "coarse" else {}
        found = []
        for unit in units(tree):
            label = classes.get(unit.relation, unit.relation), unit.nuclearity
            if label not in numbers or (tree.start, tree.stop) != (0, self._posterior.n_edus):
                raise UsageError(f"a tree must be binary, of this document and with its labels, got {label}")
            found.append(LabelledUnit(unit.start, unit.children[1].start, unit.stop, numbers[label]))
        return found

    def _certainty(self, unit: LabelledUnit) -> Certainty:
        """How probable a unit and its label are, corrected by the calibration, and whether it is assumed."""
        span, is_fine = (unit.start, unit.stop), self._settings.relations == "fine"
        p, label_p = self._posterior.span_probability(*span), self._posterior.label_probability(unit)
        is_assumed, calibration = span in self._assumed, self._settings.calibration
        if calibration is None:
            return p, label_p, is_assumed
        border_p = None if self._border_p is None else float(self._border_p[unit.start] * self._border_p[unit.stop])
        is_sure = span == (0, self._posterior.n_edus) or (p == 1 and not is_assumed)
        if not is_sure:
            p = calibration.unit_p(p, unit.stop - unit.start, is_assumed=is_assumed, border_p=border_p)
        return p, calibration.label_p(label_p, is_fine=is_fine), is_assumed

    @property
    def entropy(self) -> float:
        """In nats: 0 if only one tree is possible."""
        return self._posterior.entropy

    def probability(self, start: int, stop: int) -> float:
        """The probability that these EDUs are a unit, as the chart has it: exact, and not corrected."""
        return self._posterior.span_probability(start, stop)

    def label_probabilities(self, start: int, stop: int) -> dict[Label, float]:
        """The probability of each relation and nuclearity of these EDUs, given that they are a unit."""
        return dict(zip(self.labels, self._posterior.label_probabilities(start, stop), strict=True))

    def _trees(self, found: Sequence[Sequence[LabelledUnit]]) -> list[Tree]:
        return [tree_of(chosen, self._settings.shown, [*map(self._certainty, chosen)]) for chosen in found]
