"""From documents with EDUs to documents with trees by a chart, or by several whose probabilities are averaged.

The other way, step by step, is `genrst.parser.search`; both are called `search(documents, n)`. What a chart knows
besides its best trees is a `Distribution`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from genrst.chart.constraints import Demands, Label, make_demands
from genrst.chart.posterior import LabelledUnit, Posterior, read_documents
from genrst.chart.storage import ChartModel
from genrst.document import Document
from genrst.errors import ConfigError, ConstraintError, UsageError
from genrst.model.device import check_process
from genrst.parser.packages import ParserConfig
from genrst.parser.search import MOST_EDUS, WeightedModel
from genrst.search.beam import in_groups
from genrst.trees.constraint import Constraint
from genrst.trees.node import Leaf, Tree, Unit, units


class ChartSearch:
    """Finds the trees of annotated documents in charts."""

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
        # An encoder reads pieces of the text instead.
        self.reads_words = any(not one.model.network.config.encoder for one in models)
        self.labels: list[Label] = [
            (label.relation, label.nuclearity) for label in models[0].model.symbols.actions.labels
        ]

    def __call__(self, documents: Iterable[Document], n: int = 1) -> list[list[Document]]:
        """Each document with its n best trees, the best first; fewer if there are fewer."""
        check_process(self.device)
        documents = list(documents)
        is_best = n > 1 or self.config.search == "best"
        found = zip(documents, self.distributions(documents), strict=True)
        return [
            [self._with_tree(document, *pair) for pair in (one.best(n) if is_best else [one.minimum_risk()])]
            for document, one in found
        ]

    def distributions(self, documents: Sequence[Document]) -> Iterator["Distribution"]:
        """The distribution over the trees of each document."""
        for group in in_groups(documents, lambda document: len(document.edus), MOST_EDUS):
            examples = [[one.prepare(document) for document in group] for one in self.models]
            networks = [(one.model.network, one.weight) for one in self.models]
            demands = [self.demands(document) for document in group]
            found = read_documents(networks, examples, demands, self.config.temperature)
            for document, posterior in zip(group, found, strict=True):
                yield Distribution(document, posterior, self)

    def demands(self, document: Document) -> Demands:
        """What is demanded of a document's trees: its constraints, and what is whole."""
        groups = {
            "nothing": [],
            "sentences": [document.sentence_of_edus()],
            "paragraphs": [document.paragraph_of_edus(), document.sentence_of_edus()],
        }[self.config.whole]
        try:
            return make_demands(len(document.edus), document.constraints, self.labels, groups)
        except ConstraintError as error:
            raise ConstraintError(f"{document.id}: {error}") from error

    def _with_tree(self, document: Document, tree: Tree, logp: float | None) -> Document:
        return replace(
            document, log_probability=logp, tree=tree, model=self.config.name, signals=(), secondary_edges=()
        )


class Distribution:
    """The distribution over the labelled trees of a document that a chart gives.

    EDUs are numbered from 0, and `stop` is one more than the number of a unit's last EDU.
    """

    def __init__(self, document: Document, posterior: Posterior, search: ChartSearch) -> None:
        self._document, self._posterior, self._search = document, posterior, search
        self._labels = search.labels

    def given(self, constraints: Sequence[Constraint]) -> "Distribution":
        """The distribution given other constraints than before: quick, for the text is not read again."""
        document = replace(self._document, constraints=tuple(constraints))
        return Distribution(document, self._posterior.given(self._search.demands(document)), self._search)

    def minimum_risk(self) -> tuple[Tree, float | None]:
        """The tree whose units are expected to be right most often, and its log-probability.

        If several charts are averaged, trees as a whole have no probability.
        """
        return self._tree(self._posterior.minimum_risk()), self._posterior.risk_logp

    def best(self, k: int = 1) -> list[tuple[Tree, float]]:
        """The k most probable trees and their log-probabilities, the best first; fewer if there are fewer."""
        return [(self._tree(found), logp) for found, logp in self._posterior.k_best(k)]

    def sample(self, n: int, seed: int) -> list[Tree]:
        """Trees drawn from the distribution."""
        return [self._tree(found) for found in self._posterior.sample(n, seed)]

    def log_probability(self, tree: Tree) -> float:
        """Of a binary tree; −inf if constraints rule it out."""
        numbers = {label: number for number, label in enumerate(self._labels)}
        found = []
        for unit in units(tree):
            label = unit.relation, unit.nuclearity
            if label not in numbers or (tree.start, tree.stop) != (0, self._posterior.n_edus):
                raise UsageError(f"a tree must be binary, of this document and with its labels, was: {label}")
            found.append(LabelledUnit(unit.start, unit.children[1].start, unit.stop, numbers[label]))
        return self._posterior.log_probability(found)

    @property
    def entropy(self) -> float:
        """In nats: 0 if only one tree is possible."""
        return self._posterior.entropy

    def probability(self, start: int, stop: int) -> float:
        """The probability that these EDUs are a unit."""
        return self._posterior.span_probability(start, stop)

    def label_probabilities(self, start: int, stop: int) -> dict[Label, float]:
        """The probability of each relation and nuclearity of these EDUs, given that they are a unit."""
        return dict(zip(self._labels, self._posterior.label_probabilities(start, stop), strict=True))

    def _tree(self, chosen: Sequence[LabelledUnit]) -> Tree:
        built: dict[int, Tree] = {}
        # Units in preorder are read from the last one on, so that children are there before their parents.
        for unit in reversed(chosen):
            left, right = (built.pop(edu, Leaf(edu)) for edu in (unit.start, unit.split))
            p = self._posterior.span_probability(unit.start, unit.stop)
            built[unit.start] = Unit(*self._labels[unit.label], (left, right), probability=p)
        return built.get(0, Leaf(0))
