"""Secondary edges: which two units an orphan marker relates, and how. NumPy only.

An orphan marks no relation of the tree. One of the two units starts with the marker's EDU; the other ends near it or
follows. Every such pair is scored. For the best pair, every relation is scored in both directions, by the networks and
by how often the marker had that relation in training. The weights are stored with those of the signals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from genrst.chart.examples import FloatArray
from genrst.chart.labels import IntArray
from genrst.chart.signals.features import N_SIZES, Edus, bucket, chains, nuclear_edus
from genrst.document import Document, SecondaryEdge, Signal, require_tree
from genrst.trees.node import Tree, units

MOST_HERE, MOST_THERE, MOST_GAP = 4, 6, 3
"""Limits: units that start with the marker's EDU, units that end at one place, EDUs between the two units."""
PREFIX = "edges."
"""The prefix of the names of the weights."""
MARKERS = f"{PREFIX}markers"
"""The weight with the relation frequencies of markers."""
N_KINDS = 4
"""The number of boundary kinds that are distinguished; higher values of `genrst.text.layout.Kind` count as the last."""
COLUMNS = (MOST_HERE, 2 * (MOST_GAP + 1), MOST_THERE, N_SIZES, N_SIZES, 3, N_KINDS, N_KINDS, N_KINDS)
"""The number of values of each pair feature; the relation names of both units follow."""


class Pair(NamedTuple):
    """Two units that a marker may relate: the unit that starts with it, and another unit."""

    here: Edus
    there: Edus


@dataclass(frozen=True, slots=True)
class Roles:
    """The relations of the units of a tree to their parents."""

    relations: Mapping[Edus, str]
    parents: Mapping[Edus, Edus]
    heads: Mapping[Edus, int]
    starting: Mapping[int, Sequence[Edus]]
    ending: Mapping[int, Sequence[Edus]]
    kinds: IntArray
    """What EDUs begin. Shape: (EDUs + 1)"""

    @classmethod
    def of(cls, tree: Tree, kinds: IntArray) -> "Roles":
        """Read them from a tree; `kinds` says what each EDU begins (`boundaries`)."""
        heads, starting = nuclear_edus(tree), chains(tree)
        ending: dict[int, list[Edus]] = {}
        for node in sorted(heads, key=lambda one: one[1] - one[0]):
            ending.setdefault(node[1], []).append(node)
        relations: dict[Edus, str] = {}
        parents: dict[Edus, Edus] = {}
        for unit in units(tree):
            for child, relation in zip(unit.children, unit.relations, strict=True):
                relations[child.start, child.stop] = relation.lower()
                parents[child.start, child.stop] = unit.start, unit.stop
        return cls(relations, parents, heads, starting, ending, kinds)

    def pairs(self, edu: int) -> list[Pair]:
        """Return the pairs of units that a marker in this EDU may relate."""
        found = []
        for here in self.starting[edu][:MOST_HERE]:
            for gap in range(min(MOST_GAP, edu) + 1):
                before = self.ending.get(edu - gap, ())[: MOST_THERE if gap == 0 else 2]
                found += [Pair(here, there) for there in before]
            found += [Pair(here, there) for there in self.starting.get(here[1], ())[:MOST_THERE]]
        return found

    def features(self, pair: Pair, names: Mapping[str, int]) -> list[int]:
        """Return the features in `COLUMNS`, the relation names of both units, and their nuclear EDUs."""
        (here, there), is_after = pair, pair.there[0] >= pair.here[1]
        gap = max(there[0] - here[1] if is_after else here[0] - there[1], 0)
        chain = self.starting[there[0]] if is_after else self.ending[there[1]]
        is_sibling = self.parents.get(here) == self.parents.get(there)
        contains = self.parents.get(here, here)
        is_inside = contains[0] <= there[0] and there[1] <= contains[1]
        return [
            min(sum(node[1] < here[1] for node in self.starting[here[0]]), MOST_HERE - 1),
            min(gap, MOST_GAP) + (MOST_GAP + 1) * is_after,
            min(sum(node[1] - node[0] < there[1] - there[0] for node in chain), MOST_THERE - 1),
            int(bucket(np.array(here[1] - here[0]))),
            int(bucket(np.array(there[1] - there[0]))),
            2 if is_sibling else int(is_inside),
            *(min(int(self.kinds[edu]), N_KINDS - 1) for edu in (here[0], here[1], there[1 if is_after else 0])),
            names.get(self.relations.get(here, ""), 0),
            names.get(self.relations.get(there, ""), 0),
            self.heads.get(here, here[0]),
            self.heads.get(there, there[0]),
        ]


class EdgeFinder:
    """Finds the edges of markers. Averages several networks, because there are few edges to learn from."""

    def __init__(self, relations: Sequence[str], markers: Sequence[str], weights: Mapping[str, FloatArray]) -> None:
        """`relations` are the possible names of edges; networks are numbered from `edges.0.`.

        `edges.markers` has the log-probability of every relation in both directions, for each marker and for all other
        markers. Shape: (markers + 1, 2 · relations)
        """
        self.relations, self._meanings = relations, weights.get(MARKERS)
        self._markers = {marker: number for number, marker in enumerate(markers)}
        self._names = {name: number for number, name in enumerate(relations, 1)}
        self._networks: dict[str, dict[str, FloatArray]] = {}
        for name, one in weights.items():
            if name.startswith(PREFIX) and name != MARKERS:
                number, own = name.removeprefix(PREFIX).split(".", 1)
                self._networks.setdefault(number, {})[own] = one

    def add(
        self,
        document: Document,
        orphans: Sequence[tuple[tuple[int, ...], str, int, FloatArray]],
        kinds: IntArray,
        edus: FloatArray,
    ) -> Document:
        """Return the document with the edges of its orphans, given as words, first word, EDU and vector."""
        if not self._networks or not orphans:
            return document
        roles = Roles.of(require_tree(document), kinds)
        signals: list[Signal] = []
        edges: dict[SecondaryEdge, None] = {}
        for words, text, edu, vector in orphans:
            edge = self._find(roles, text, edu, vector, edus)
            if edge is not None:
                signals.append(Signal(edge.source, "orphan", "orphan", words, target=edge.target))
                edges[edge] = None
        return replace(
            document, signals=(*document.signals, *signals), secondary_edges=(*document.secondary_edges, *edges)
        )

    def _find(self, roles: Roles, text: str, edu: int, vector: FloatArray, edus: FloatArray) -> SecondaryEdge | None:
        pairs = roles.pairs(edu)
        if not pairs:
            return None
        features = np.array([roles.features(pair, self._names) for pair in pairs])
        scores = self.scores(features, vector[None].repeat(len(pairs), axis=0), edus)
        best = int(scores[:, 0].argmax())
        relations = scores[best, 1:] - np.log(np.exp(scores[best, 1:]).sum())
        if self._meanings is not None:
            relations += self._meanings[self._markers.get(text, len(self._markers))]
        relation, is_backward = divmod(int(relations.argmax()), 2)
        ends = pairs[best][::-1] if is_backward else pairs[best]
        return SecondaryEdge(*ends, self.relations[relation])

    def scores(self, features: IntArray, vectors: FloatArray, edus: FloatArray) -> FloatArray:
        """Return the score of each pair, and the scores of all relations from and to the marker's unit.

        Shape: (pairs, features), (pairs, size), (EDUs, 2 · edu_size) → (pairs, 1 + 2 · relations)
        """
        found = [_scores(weights, features, vectors, edus) for weights in self._networks.values()]
        mean: FloatArray = np.mean(found, axis=0, dtype=np.float32)
        return mean


def _scores(weights: Mapping[str, FloatArray], features: IntArray, vectors: FloatArray, edus: FloatArray) -> FloatArray:
    """Return the scores of one network."""

    def linear(values: FloatArray, name: str) -> FloatArray:
        found: FloatArray = values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return found

    columns = range(features.shape[1] - 2)
    parts = [weights[f"tables.{column}.weight"][features[:, column]] for column in columns]
    parts.append(linear(np.maximum(vectors, 0), "marker"))
    parts += [linear(edus[features[:, -2]], "here"), linear(edus[features[:, -1]], "there")]
    hidden = np.maximum(np.sum(parts, axis=0, dtype=np.float32), 0)
    return linear(np.maximum(linear(hidden, "hidden"), 0), "output")
