"""From documents with EDUs to documents with trees by a chart, or by several whose probabilities are averaged.

The other way, step by step, is `genrst.rnng.finder`; both are called `search(documents, n)`. What a chart knows
besides its best trees is a `Distribution`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from genrst.chart.posterior import LabelledUnit, Posterior, read_documents
from genrst.chart.storage import ChartModel
from genrst.chart.texts import KnownStates, read_texts
from genrst.document import Document
from genrst.encoder.device import check_process
from genrst.errors import ConfigError, UsageError
from genrst.parser.packages import ParserConfig
from genrst.rnng.examples import Example
from genrst.rnng.finder import MOST_EDUS, WeightedModel, demands_on
from genrst.rnng.search.beam import in_groups
from genrst.trees.constraint import Constraint
from genrst.trees.demands import Demands, Label
from genrst.trees.node import Leaf, Tree, Unit, units

EDU_CHARACTERS = 50
"""About as long is an EDU."""


def _likely_edus(document: Document) -> int:
    """How many EDUs a document has, or will have."""
    return len(document.edus) if document.is_segmented else len(document.text or "") // EDU_CHARACTERS


class ChartSearch:
    """Finds the trees of documents in charts."""

    def __init__(self, models: Sequence[WeightedModel[ChartModel]], config: ParserConfig) -> None:
        if config.search not in ("risk", "best"):
            raise UsageError(f"the search of a chart must be risk or best, was: {config.search}")
        if config.search == "best" and len(models) > 1:
            raise UsageError("the search of several charts must be risk, was: best")
        if len({one.model.network.config.layout_kinds for one in models}) > 1:
            raise ConfigError("charts that choose together must have the same layout_kinds, was: different ones")
        self.models = models
        self.config = config
        self.device = models[0].model.network.device
        if self.device.type == "mps":
            raise UsageError("the device of a chart must be cpu or cuda, was: mps, which has no double precision")
        self.reads_texts = all(one.model.network.config.reads_texts for one in models)
        """Whether documents need neither EDUs nor sentences nor tokens: those with pretrained encoders read texts."""
        self.fine = dict(models[0].model.symbols.fine)
        """The label's relation of each finer one."""
        self.labels = models[0].model.symbols.actions.pairs
        self._known = [KnownStates() for _ in models]

    def __call__(self, documents: Iterable[Document], n: int = 1) -> list[list[Document]]:
        """Each document with its n best trees, the best first; fewer if there are fewer."""
        check_process(self.device)
        return [one.documents(n) for one in self.distributions(list(documents))]

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """A document with trees drawn from their distribution, which is exact and needs no particles."""
        del particles
        check_process(self.device)
        (distribution,) = self.distributions([document])
        trees = distribution.sample(n, seed)
        distinct = list(dict.fromkeys(trees))
        logp = dict(zip(distinct, distribution.log_probabilities(distinct), strict=True))
        return [self.with_tree(distribution.document, tree, logp[tree]) for tree in trees]

    def distributions(self, documents: Sequence[Document]) -> Iterator["Distribution"]:
        """The distribution over the trees of each document."""
        networks = [(one.model.network, one.weight) for one in self.models]
        for group in in_groups(documents, _likely_edus, MOST_EDUS):
            vectors = None
            if self.reads_texts:
                group, examples, vectors = self._read(group)
            else:
                examples = [[one.prepare(document) for document in group] for one in self.models]
            demands = [self.demands(document) for document in group]
            found = read_documents(networks, examples, demands, self.config.temperature, vectors)
            for document, posterior in zip(group, found, strict=True):
                yield Distribution(document, posterior, self)

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Documents with EDUs and sentences, where they have none; only if charts read texts."""
        model, known = self.models[0].model, self._known[0]
        groups = in_groups(documents, _likely_edus, MOST_EDUS)
        return [read.document for group in groups for read in read_texts(model, group, known)]

    def _read(self, documents: Sequence[Document]) -> tuple[list[Document], list[list[Example]], list[Tensor]]:
        """Documents, segmented by the first model; as numbers, and as vectors of EDUs, once for each model."""
        examples, vectors = [], []
        for one, known in zip(self.models, self._known, strict=True):
            found = read_texts(one.model, documents, known)
            documents = [read.document for read in found]
            examples.append([read.example for read in found])
            vectors.append(torch.cat([read.edus for read in found]))
        return list(documents), examples, vectors

    def demands(self, document: Document) -> Demands:
        """What is demanded of a document's trees: its constraints, and what is whole."""
        constraints = tuple(self._coarse(one) for one in document.constraints)
        return demands_on(replace(document, constraints=constraints), self.labels, self.config.whole)

    def _coarse(self, constraint: Constraint) -> Constraint:
        """A constraint whose relation is that of a label."""
        relation = constraint.relation
        return constraint if relation not in self.fine else replace(constraint, relation=self.fine[relation])

    def with_tree(self, document: Document, tree: Tree, logp: float | None) -> Document:
        """A document with a tree that was found here, and its log-probability."""
        return replace(
            document, log_probability=logp, tree=tree, model=self.config.name, signals=(), secondary_edges=()
        )


class Distribution:
    """The distribution over the labelled trees of a document that a chart gives.

    EDUs are numbered from 0, and `stop` is one more than the number of a unit's last EDU.
    """

    def __init__(self, document: Document, posterior: Posterior, search: ChartSearch) -> None:
        self.document, self._posterior, self._search = document, posterior, search
        self.labels = search.labels
        self._numbers = {label: number for number, label in enumerate(search.labels)}

    def given(self, constraints: Sequence[Constraint]) -> "Distribution":
        """The distribution given other constraints than before: quick, for the text is not read again."""
        document = replace(self.document, constraints=tuple(constraints))
        return Distribution(document, self._posterior.given(self._search.demands(document)), self._search)

    def documents(self, n: int = 1) -> list[Document]:
        """The document with its n best trees, the best first; one tree is found as the parser's settings say."""
        is_best = n > 1 or self._search.config.search == "best"
        found = self.best(n) if is_best else [self.minimum_risk()]
        return [self._search.with_tree(self.document, *pair) for pair in found]

    def minimum_risk(self) -> tuple[Tree, float | None]:
        """The tree whose units are expected to be right most often, and its log-probability.

        If several charts are averaged, trees as a whole have no probability.
        """
        return self._trees([self._posterior.minimum_risk()])[0], self._posterior.risk_logp

    def best(self, k: int = 1) -> list[tuple[Tree, float]]:
        """The k most probable trees and their log-probabilities, the best first; fewer if there are fewer."""
        found, logps = zip(*self._posterior.k_best(k), strict=True)
        return list(zip(self._trees(found), logps, strict=True))

    def sample(self, n: int, seed: int) -> list[Tree]:
        """Trees drawn from the distribution."""
        return self._trees(self._posterior.sample(n, seed))

    def log_probability(self, tree: Tree) -> float:
        """Of a binary tree; −inf if constraints rule it out. Its finer relations count as the coarse ones."""
        return self.log_probabilities([tree])[0]

    def log_probabilities(self, trees: Sequence[Tree]) -> list[float]:
        """Of several trees, much faster than one by one."""
        return self._posterior.log_probabilities([self._numbered(tree) for tree in trees])

    def _numbered(self, tree: Tree) -> list[LabelledUnit]:
        found = []
        for unit in units(tree):
            label = self._search.fine.get(unit.relation, unit.relation), unit.nuclearity
            if label not in self._numbers or (tree.start, tree.stop) != (0, self._posterior.n_edus):
                raise UsageError(f"a tree must be binary, of this document and with its labels, was: {label}")
            found.append(LabelledUnit(unit.start, unit.children[1].start, unit.stop, self._numbers[label]))
        return found

    @property
    def entropy(self) -> float:
        """In nats: 0 if only one tree is possible."""
        return self._posterior.entropy

    def probability(self, start: int, stop: int) -> float:
        """The probability that these EDUs are a unit."""
        return self._posterior.span_probability(start, stop)

    def label_probabilities(self, start: int, stop: int) -> dict[Label, float]:
        """The probability of each relation and nuclearity of these EDUs, given that they are a unit."""
        return dict(zip(self.labels, self._posterior.label_probabilities(start, stop), strict=True))

    def _trees(self, found: Sequence[Sequence[LabelledUnit]]) -> list[Tree]:
        relations = self._relations({unit for chosen in found for unit in chosen})
        return [self._tree(chosen, relations) for chosen in found]

    def _tree(self, chosen: Sequence[LabelledUnit], relations: Mapping[LabelledUnit, str]) -> Tree:
        built: dict[int, Tree] = {}
        # Units in preorder are read from the last one on, so that children are there before their parents.
        for unit in reversed(chosen):
            left, right = (built.pop(edu, Leaf(edu)) for edu in (unit.start, unit.split))
            p = self._posterior.span_probability(unit.start, unit.stop)
            built[unit.start] = Unit(relations[unit], self.labels[unit.label][1], (left, right), probability=p)
        return built.get(0, Leaf(0))

    def _relations(self, chosen: Collection[LabelledUnit]) -> dict[LabelledUnit, str]:
        """The relations of units, as finely as wanted."""
        relations = {unit: self.labels[unit.label][0] for unit in chosen}
        names = [*self._search.fine]
        if not names or self._search.config.relations == "coarse":
            return relations
        fine = self._posterior.fine_relations(list(chosen))
        relations |= {unit: names[number] for unit, number in zip(chosen, fine, strict=True) if number >= 0}
        given = {one.span: one.relation for one in self.document.constraints if one.relation in self._search.fine}
        return {unit: given.get((unit.start, unit.stop)) or relation for unit, relation in relations.items()}
