"""Train the network that finds secondary edges; `genrst.chart.signals.secondary` describes it.

There are few edges, so relations are also learned from the markers of relations in the tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from genrst.chart.examples import FloatArray
from genrst.chart.labels import IntArray
from genrst.chart.signals.features import relations_of
from genrst.chart.signals.secondary import COLUMNS, Pair, Roles
from genrst.chart.signals.signaller import ReadAtoms
from genrst.document import Document, require_tree

BATCH = 16
SMOOTHING = 3
"""The number of pseudo-counts that smooth each marker's distribution towards that of all markers."""
SHARE = 0.2
"""The share of the markers of tree relations that are read in an epoch."""


@dataclass(frozen=True, slots=True)
class EdgeExample:
    """A marker with its candidate pairs of units."""

    marker: str
    """The first word of the marker."""
    features: IntArray
    """Shape: (pairs, features)"""
    vector: FloatArray
    edus: FloatArray
    """The vectors of both nuclear EDUs. Shape: (pairs, 2, 2 · edu_size)"""
    pair: int
    """The index of the correct pair; −1 if only the relation is learned, from the first pair."""
    relation: int


def edge_examples(document: Document, read: ReadAtoms, words: IntArray, names: dict[str, int]) -> list[EdgeExample]:
    """Return the examples of a document; `words` has the word of each atom, `names` numbers relations from 1."""
    atoms, vectors, kinds, edus = read
    roles = Roles.of(require_tree(document), kinds)
    texts = [(document.text or "")[span.start : span.end].lower() for span in atoms.spans]
    atom_of = {word + 1: atom for atom, word in reversed(list(enumerate(words.tolist())))}
    relations = {(edge.source, edge.target): edge.relation.lower() for edge in document.secondary_edges}
    primary = {one.unit: one for one in relations_of(require_tree(document))}
    found = []

    def add(pairs: list[Pair], atom: int, pair: int, relation: str, is_backward: bool) -> None:
        if relation in names:
            features = np.array([roles.features(one, names) for one in pairs])
            number = 2 * (names[relation] - 1) + is_backward
            found.append(EdgeExample(texts[atom], features, vectors[atom], edus[features[:, -2:]], pair, number))

    for signal in document.signals:
        atom = atom_of.get(signal.tokens[0]) if signal.tokens else None
        if atom is None:
            continue
        edu = int(atoms.edus[atom])
        if signal.type == "orphan" and signal.target is not None:
            ends, pairs = (signal.unit, signal.target), roles.pairs(edu)
            right = [number for number, pair in enumerate(pairs) if set(pair) == set(ends)]
            if right and ends in relations:
                add(pairs, atom, right[0], relations[ends], pairs[right[0]].here != signal.unit)
        elif signal.type == "dm" and signal.unit in primary:
            one = primary[signal.unit]
            is_here = one.unit[0] <= edu < one.unit[1]
            pair = Pair(one.unit, one.nucleus) if is_here else Pair(one.nucleus, one.unit)
            add([pair], atom, -1, one.name, not is_here)
    return found


def marker_meanings(examples: Sequence[EdgeExample], n_relations: int) -> tuple[tuple[str, ...], FloatArray]:
    """Return the markers of edges, and smoothed log-probabilities of relations for each marker and for all others.

    Shape: → (markers + 1, 2 · relations)
    """
    edges = [one for one in examples if one.pair >= 0]
    markers = tuple(sorted({one.marker for one in edges}))
    counts = np.zeros((len(markers) + 1, 2 * n_relations), dtype=np.float32)
    for one in edges:
        counts[markers.index(one.marker), one.relation] += 1
    prior = counts.sum(axis=0) + 0.3
    counts += SMOOTHING * prior / prior.sum()
    return markers, np.log(counts / counts.sum(axis=1, keepdims=True))


class EdgeNetwork(nn.Module):
    """The network of `genrst.chart.signals.secondary`, for training."""

    def __init__(self, n_relations: int, atom_size: int, edu_size: int, size: int = 96, dropout: float = 0.3) -> None:
        super().__init__()
        counts = (*COLUMNS, n_relations + 1, n_relations + 1)
        self.tables = nn.ModuleList(nn.Embedding(n, size) for n in counts)
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.1)  # type: ignore[arg-type]
        self.marker, self.here, self.there = (
            nn.Linear(atom_size, size),
            nn.Linear(edu_size, size),
            nn.Linear(edu_size, size),
        )
        self.hidden, self.output = nn.Linear(size, size), nn.Linear(size, 1 + 2 * n_relations)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor, vectors: Tensor, edus: Tensor) -> Tensor:
        """Shape: (pairs, features), (pairs, atom_size), (pairs, 2, edu_size) → (pairs, 1 + 2 · relations)"""
        parts = [table(features[:, column]) for column, table in enumerate(self.tables)]
        parts.append(self.marker(self.dropout(functional.relu(vectors))))
        parts += [self.here(self.dropout(edus[:, 0])), self.there(self.dropout(edus[:, 1]))]
        hidden = self.dropout(functional.relu(torch.stack(parts).sum(0)))
        scores: Tensor = self.output(self.dropout(functional.relu(self.hidden(hidden))))
        return scores

    def loss(self, batch: Sequence[EdgeExample]) -> Tensor:
        """Return the negative log-likelihood of the correct pairs and of their relations."""
        counts = [len(one.features) for one in batch]
        features = torch.from_numpy(np.concatenate([one.features for one in batch]))
        vectors = torch.from_numpy(np.repeat(np.stack([one.vector for one in batch]), counts, axis=0))
        scores = self(features, vectors, torch.from_numpy(np.concatenate([one.edus for one in batch])))
        losses = []
        for one, own in zip(batch, scores.split(counts), strict=True):
            right = max(one.pair, 0)
            losses.append(functional.cross_entropy(own[right, 1:], torch.tensor(one.relation)))
            if one.pair >= 0:
                losses.append(functional.cross_entropy(own[:, 0], torch.tensor(one.pair)))
        return torch.stack(losses).sum() / len(batch)


def train_edges(
    examples: Sequence[EdgeExample], n_relations: int, seed: int, epochs: int = 40, rate: float = 1e-3
) -> EdgeNetwork:
    """Train a network."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    network = EdgeNetwork(n_relations, len(examples[0].vector), examples[0].edus.shape[-1])
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        # Markers of tree relations are auxiliary data: a share of them is enough in an epoch.
        kept = [number for number, one in enumerate(examples) if one.pair >= 0 or generator.random() < SHARE]
        order = generator.permutation(kept)
        for first in range(0, len(order), BATCH):
            optimizer.zero_grad()
            network.loss([examples[number] for number in order[first : first + BATCH]]).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
        schedule.step()
    return network.eval()
