"""The tree finder of charts: from documents to distributions over their trees, and to the trees themselves.

The finder has one network, or several whose probabilities are averaged. A `Distribution` gives access to everything
that a chart computes besides its best trees.
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
"""The maximum number of EDUs in a batch, unless a single document has more, because memory grows with it."""
EDU_CHARACTERS = 50
"""Typical EDU length, in characters."""


@dataclass(frozen=True)
class ChartSettings:
    """How trees are chosen and labelled."""

    labels: Labels
    name: str | None = None
    """The name that parsed documents record as their model."""
    search: Literal["mbr", "best"] = "mbr"
    """`mbr`: the minimum Bayes risk tree (highest expected number of correct units); `best`: the most probable."""
    keep_whole: KeepWhole = "sentences"
    relations: Literal["fine", "coarse"] = "fine"
    temperature: float = 1.0
    calibration: Calibration | None = None
    """The calibration of the probabilities in trees."""

    @cached_property
    def shown(self) -> Labels:
        """The labels of output trees: all labels, or their groups."""
        return self.labels if self.relations == "fine" else self.labels.coarse()

    def constraints(self, document: Document) -> ResolvedConstraints:
        """Resolve the constraints on a document's trees; if relations are coarse, fine ones count as their class."""
        classes = self.labels.class_of
        if self.relations == "coarse":
            given = [
                replace(one, relation=classes.get(one.relation or "", one.relation)) for one in document.constraints
            ]
            document = replace(document, constraints=tuple(given))
        return constraints_of(document, self.shown.pairs, self.keep_whole, classes)

    def with_tree(self, document: Document, tree: Tree, logp: float | None) -> Document:
        """Return the document with a tree and its log-probability."""
        return replace(document, log_probability=logp, tree=tree, model=self.name, signals=(), secondary_edges=())


Mark: TypeAlias = Callable[[Document], Document] | None
"""A function that adds the signals of its tree to a document."""


class ChartFinder:
    """Finds the trees of documents in charts; see `genrst.parser.finder.TreeFinder`."""

    def __init__(
        self, scorers: Sequence[tuple[Scorer, float]], settings: ChartSettings, signaller: Signaller | None = None
    ) -> None:
        """Each scorer has a weight; the signaller, if given, uses the states of the first scorer."""
        if settings.search == "best" and len(scorers) > 1:
            raise UsageError("an ensemble of charts supports only the search mbr, got best")
        if len({scorer.labels for scorer, _ in scorers}) > 1:
            raise ConfigError("the charts of an ensemble must have the same labels")
        self.scorers, self.settings, self.signaller = scorers, settings, signaller
        self.labels: Sequence[Label] = settings.labels.groups
        self.fine: Mapping[str, str] = dict(settings.labels.classes)
        self.has_distributions = True
        self.device = scorers[0][0].device
        self._caches = [EncoderCache() for _ in scorers]

    def prepare(self, documents: Sequence[Document]) -> list[Document]:
        """Return the documents unchanged, because a chart reads raw text."""
        return list(documents)

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Add EDUs and sentences to documents that have none."""
        (scorer, _), cache = self.scorers[0], self._caches[0]
        batches = in_batches(documents, _likely_edus, MOST_EDUS)
        return [text.document for batch in batches for text in _checked(encode_texts(scorer, batch, cache))]

    def find(self, documents: Sequence[Document], n: int = 1) -> list[list[Document]]:
        """Return each document with its n best trees, best first, or fewer if there are not as many."""
        return [one.documents(n) for one in self.distributions(documents)]

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """Return the document with trees sampled from the exact distribution; `particles` is ignored."""
        del particles
        (distribution,) = self.distributions([document])
        trees = distribution.sample(n, seed)
        distinct = list(dict.fromkeys(trees))
        logp = dict(zip(distinct, distribution.log_probabilities(distinct), strict=True))
        return [self.settings.with_tree(distribution.document, tree, logp[tree]) for tree in trees]

    def distributions(
        self, documents: Sequence[Document], settings: ChartSettings | None = None
    ) -> Iterator["Distribution"]:
        """Yield the distribution over the trees of each document, with the given settings or the finder's."""
        settings = settings or self.settings
        total = sum(weight for _, weight in self.scorers)
        for batch in in_batches(documents, _likely_edus, MOST_EDUS):
            members: list[list[Member]] = [[] for _ in batch]
            marks: list[Mark] = []
            for (scorer, weight), cache in zip(self.scorers, self._caches, strict=True):
                with stage("reading the text"):
                    texts = _checked(encode_texts(scorer, batch, cache))
                marks = marks or [self._mark(text) for text in texts]
                batch = [text.document for text in texts]  # segmented by the first scorer
                for own, text in zip(members, texts, strict=True):
                    own.append(Member(scorer, weight / total, text.edus))
            # Each document separately, so that its trees do not depend on the batch.
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
        """Yield documents with the signals of their own trees."""
        for batch in in_batches(documents, _likely_edus, MOST_EDUS):
            for document, text in zip(batch, encode_texts(self.scorers[0][0], batch, self._caches[0]), strict=True):
                mark = self._mark(text)
                if mark is None:
                    raise UsageError("the parser was loaded without signals; use load(..., signals=True)")
                yield mark(document)

    def _mark(self, text: EncodedText) -> "Mark":
        """Return the function that adds signals to trees of a text, or None without a signaller."""
        if self.signaller is None:
            return None
        starts = piece_starts(text, self.scorers[0][0].tokenizer)
        states = text.states if isinstance(text.states, np.ndarray) else text.states.float().cpu().numpy()
        read = self.signaller.read(text.document, starts, states, text.kinds, text.edus)
        return partial(self.signaller.add, read=read)

    def free_distribution(self, document: Document) -> "Distribution":
        """Return the distribution over all trees of a document, without constraints and with coarse relations."""
        free = replace(self.settings, keep_whole="nothing", relations="coarse")
        return next(self.distributions([replace(document, constraints=())], free))


def _checked(texts: list[EncodedText]) -> list[EncodedText]:
    """Return the segmented texts; raise an error if one has more EDUs than the service allows."""
    for text in texts:
        check_edus(text.document.id, len(text.document.edus))
    return texts


def _likely_edus(document: Document) -> int:
    """Return the number of EDUs of a document, estimated if it is not segmented."""
    return len(document.edus) if document.is_segmented else len(document.text or "") // EDU_CHARACTERS


class Distribution:
    """The distribution of a chart over the labelled trees of a document.

    EDUs are numbered from 0, and `stop` is exclusive.
    """

    def __init__(
        self,
        document: Document,
        posterior: Posterior,
        settings: ChartSettings,
        border_p: FloatArray | None = None,
        mark: Mark = None,
    ) -> None:
        """`border_p` has the probabilities of EDU borders, if the chart segmented the text; `mark` adds signals."""
        self.document, self._posterior, self._settings, self._border_p = document, posterior, settings, border_p
        self._mark = mark
        given = {one.span for one in document.constraints}
        self._assumed = {*posterior.context.constraints.forced} - given - {(0, posterior.n_edus)}
        self.labels = settings.shown.pairs

    @property
    def border_p(self) -> FloatArray | None:
        """The probability of each EDU border, if the chart segmented the text. Shape: (EDUs + 1)"""
        return self._border_p

    def given(self, constraints: Sequence[Constraint]) -> "Distribution":
        """Return the distribution under other constraints. This is fast, because the text is not encoded again."""
        document = replace(self.document, constraints=tuple(constraints))
        posterior = self._posterior.given(self._settings.constraints(document))
        return Distribution(document, posterior, self._settings, self._border_p, self._mark)

    def documents(self, n: int = 1) -> list[Document]:
        """Return the document with its n best trees, best first; for n = 1, by the search of the settings."""
        is_best = n > 1 or self._settings.search == "best"
        found = self.best(n) if is_best else [self.mbr()]
        documents = [self._settings.with_tree(self.document, *pair) for pair in found]
        return documents if self._mark is None else [self._mark(document) for document in documents]

    def mbr(self) -> tuple[Tree, float | None]:
        """Return the minimum Bayes risk tree (highest expected number of correct units) and its log-probability.

        The log-probability is None for an ensemble, whose average defines no probability of whole trees.
        """
        return self._trees([self._posterior.mbr()])[0], self._posterior.mbr_logp

    def best(self, k: int = 1) -> list[tuple[Tree, float]]:
        """Return up to k most probable trees with their log-probabilities, best first."""
        found, logps = zip(*self._posterior.k_best(k), strict=True)
        return list(zip(self._trees(found), logps, strict=True))

    def sample(self, n: int, seed: int) -> list[Tree]:
        """Sample trees from the distribution."""
        return self._trees(self._posterior.sample(n, seed))

    def log_probability(self, tree: Tree) -> float:
        """Return the log-probability of a binary tree, −inf if constraints exclude it; fine relations are mapped."""
        return self.log_probabilities([tree])[0]

    def log_probabilities(self, trees: Sequence[Tree]) -> list[float]:
        """Return the log-probabilities of several trees, which is much faster than one by one."""
        return self._posterior.log_probabilities([self._numbered(tree) for tree in trees])

    def _numbered(self, tree: Tree) -> list[LabelledUnit]:
        numbers = {label: number for number, label in enumerate(self.labels)}
        classes = self._settings.labels.class_of if self._settings.relations == "coarse" else {}
        found = []
        for unit in units(tree):
            label = classes.get(unit.relation, unit.relation), unit.nuclearity
            if label not in numbers or (tree.start, tree.stop) != (0, self._posterior.n_edus):
                raise UsageError(
                    f"the tree must be a binary tree of this document with labels of the model, got {label}"
                )
            found.append(LabelledUnit(unit.start, unit.children[1].start, unit.stop, numbers[label]))
        return found

    def _certainty(self, unit: LabelledUnit) -> Certainty:
        """Return the calibrated probabilities of a unit and its label, and whether the unit is assumed."""
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
        """The entropy in nats; 0 if only one tree is possible."""
        return self._posterior.entropy

    def probability(self, start: int, stop: int) -> float:
        """Return the chart's exact probability that these EDUs are a unit, without calibration."""
        return self._posterior.span_probability(start, stop)

    def label_probabilities(self, start: int, stop: int) -> dict[Label, float]:
        """Return the probability of each relation and nuclearity of these EDUs, given that they are a unit."""
        return dict(zip(self.labels, self._posterior.label_probabilities(start, stop), strict=True))

    def _trees(self, found: Sequence[Sequence[LabelledUnit]]) -> list[Tree]:
        return [tree_of(chosen, self._settings.shown, [*map(self._certainty, chosen)]) for chosen in found]
