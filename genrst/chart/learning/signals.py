"""Train the signal head on states of a frozen encoder; `genrst.chart.signals.signaller` runs it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from genrst.chart.examples import FloatArray
from genrst.chart.labels import IntArray
from genrst.chart.signals.features import ATOM_FEATURES, N_SIZES, ROW_FEATURES, Asked, Atoms, pairs, repeats
from genrst.chart.signals.signaller import N_WORDS, SignalConfig
from genrst.document import Document, Signal
from genrst.text.layout import Kind

SHARE = 0.1
"""The share of the pairs without a signal that are read in an epoch."""
BATCH = 2
"""The number of documents per step."""


@dataclass(frozen=True, slots=True)
class SignalExample:
    """A document and its signals as numbers."""

    document: Document
    atoms: Atoms
    asked: Asked
    states: FloatArray
    """Shape: (atoms, state_size)"""
    edus: FloatArray
    """Shape: (EDUs, 2 · edu_size)"""
    kinds: IntArray
    """What EDUs begin. Shape: (EDUs + 1)"""
    rows: IntArray
    places: IntArray
    repeated: IntArray
    """The features of each pair; see `genrst.chart.signals.features`. Shape: (pairs)"""
    classes: IntArray
    """The pairs that are signals, and their classes. Shape: (signals' words, 2)"""
    markers: IntArray
    """The pairs of a relation and its marker. Shape: (markers' words)"""
    orphans: IntArray
    """The atoms of markers of secondary edges. Shape: (orphans' words)"""
    wordless: IntArray
    """Relations that are signalled without words, and their signal classes. Shape: (signals, 2)"""


def make_example(
    document: Document,
    atoms: Atoms,
    asked: Asked,
    states: FloatArray,
    edus: FloatArray,
    kinds: IntArray,
    words: IntArray,
    config: SignalConfig,
) -> SignalExample:
    """Return the example of a document; `words` has the word of each atom."""
    rows, places = pairs(asked, atoms)
    relations = {one.unit: number for number, one in enumerate(asked.relations)}
    numbers = dict(zip(zip(asked.rows[rows, 0].tolist(), places.tolist(), strict=True), range(len(rows)), strict=True))
    atoms_of: dict[int, list[int]] = {}
    for atom, word in enumerate(words.tolist()):
        atoms_of.setdefault(word + 1, []).append(atom)
    found: dict[str, list[tuple[int, ...]]] = {"classes": [], "markers": [], "orphans": [], "wordless": []}
    for signal in document.signals:
        own = [atom for token in signal.tokens for atom in atoms_of.get(token, [])]
        relation = relations.get(signal.unit)
        if signal.type == "orphan":
            found["orphans"] += [(atom,) for atom in own]
        elif signal.target is None and relation is not None:
            pairs_of = [numbers[relation, atom] for atom in own if (relation, atom) in numbers]
            kind, part = _class(signal, config)
            found[part] += [(relation, kind)] if part == "wordless" else [(pair, kind) for pair in pairs_of]
    return SignalExample(
        document,
        atoms,
        asked,
        states,
        edus,
        kinds,
        rows,
        places,
        repeats(asked, atoms, document.text or "", rows, places),
        np.array([row for row in found["classes"] if row[1] >= 0], dtype=np.int64).reshape(-1, 2),
        np.array([pair for pair, _ in found["markers"]], dtype=np.int64),
        np.array([atom for (atom,) in found["orphans"]], dtype=np.int64),
        np.array([row for row in found["wordless"] if row[1] >= 0], dtype=np.int64).reshape(-1, 2),
    )


def _class(signal: Signal, config: SignalConfig) -> tuple[int, str]:
    """Return the number of a signal's class (−1 if it is too rare) and the part of the example that it belongs to."""
    if signal.type == "dm":
        return 0, "markers"
    part = "classes" if signal.tokens else "wordless"
    known = config.classes if signal.tokens else config.wordless
    name = (signal.type, signal.subtype)
    return known.index(name) if name in known else -1, part


class SignalNetwork(nn.Module):
    """The network of `genrst.chart.signals.signaller`, for training."""

    def __init__(self, config: SignalConfig, dropout: float = 0.2) -> None:
        super().__init__()
        size = config.size
        self.atom_norm, self.atom = nn.LayerNorm(config.state_size), nn.Linear(config.state_size, size)
        self.edu_norm, self.edus = nn.LayerNorm(3 * config.edu_size), nn.Linear(3 * config.edu_size, size)
        tables = {f"atom_{number}": n for number, n in enumerate(ATOM_FEATURES)}
        tables |= {f"row_{number}": n for number, n in enumerate(ROW_FEATURES)}
        tables |= {f"size_{number}": n for number, n in enumerate((N_SIZES, N_SIZES, len(Kind) + 1, len(Kind) + 1))}
        tables |= {f"word_{number}": 1 + len(config.marker_words) for number in range(N_WORDS)}
        tables |= {"label": len(config.labels) + 1, "repeated": 2}
        self.config = config
        self.tables = nn.ModuleDict({name: nn.Embedding(n, size) for name, n in tables.items()})
        for table in self.tables.values():
            nn.init.normal_(table.weight, std=0.05)  # type: ignore[arg-type]
        self.hidden, self.output = nn.Linear(size, size), nn.Linear(size, 1 + len(config.classes))
        self.marker = nn.Linear(size, 2)
        self.whole, self.wordless = nn.Linear(size, size), nn.Linear(size, len(config.wordless))
        for layer in (self.output, self.wordless):
            nn.init.constant_(layer.bias, -4)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, example: SignalExample, labels: IntArray, chosen: IntArray
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return scores of pairs, of their atoms as markers and as orphans, and of relations without words.

        Shape: (relations), (chosen) → (chosen, 1 + classes), (atoms, 2), (relations, wordless), (chosen)
        """
        used, places = np.unique(example.places[chosen], return_inverse=True)
        states = torch.from_numpy(example.states[used]).float()
        atoms = self.atom(self.dropout(self.atom_norm(states)))
        words = self.config.number_words(example.document.text or "", example.atoms)
        atoms = atoms + self._table("atom", example.atoms.features[used]) + self._table("word", words[used])
        heads = torch.from_numpy(example.edus[example.asked.heads].reshape(len(labels), -1)).float()
        relations = self.edus(self.dropout(self.edu_norm(heads)))
        relations = (
            relations + self._table("size", example.asked.sizes) + self.tables["label"](torch.from_numpy(labels))
        )
        rows = self._table("row", example.asked.row_features)
        own = torch.from_numpy(example.rows[chosen])
        of_rows = (relations[torch.from_numpy(example.asked.rows[:, 0])] + rows)[own]
        at = torch.from_numpy(places)
        pairs = atoms[at] + of_rows + self.tables["repeated"](torch.from_numpy(example.repeated[chosen]))
        hidden = self.dropout(functional.relu(self.hidden(self.dropout(functional.relu(pairs)))))
        wordless = self.wordless(self.dropout(functional.relu(self.whole(functional.relu(relations)))))
        return self.output(hidden), self.marker(self.dropout(functional.relu(atoms))), wordless, at

    def _table(self, name: str, features: IntArray) -> Tensor:
        numbers = torch.from_numpy(features)
        parts = [self.tables[f"{name}_{column}"](numbers[:, column]) for column in range(numbers.shape[1])]
        return torch.stack(parts).sum(0)

    def loss(self, example: SignalExample, config: SignalConfig, generator: np.random.Generator) -> Tensor:
        """Return the negative log-likelihood of a document's signals; pairs without one are sampled and reweighted."""
        is_possible = config.are_possible(example.document.text or "", example.atoms)
        is_signal = np.zeros(len(example.rows), dtype=bool)
        is_signal[example.classes[:, 0]] = True
        is_signal[example.markers] = True
        is_kept = is_signal | is_possible[example.places]
        draws = generator.random(len(example.rows)) < SHARE
        chosen = np.flatnonzero(is_kept | draws)
        labels = config.number_labels(example.asked)
        if generator.random() < 0.1:  # relation names differ between inventories
            labels = np.where(generator.random(len(labels)) < 0.5, 0, labels)
        scores, marker, wordless, at = self(example, labels, chosen)
        used = np.unique(example.places[chosen])
        where = np.full(len(example.rows), -1)
        where[chosen] = np.arange(len(chosen))
        targets = torch.zeros(len(chosen), len(config.classes))
        targets[where[example.classes[:, 0]], example.classes[:, 1]] = 1
        # Pairs that are always read have weight 1; sampled pairs also stand for those not drawn.
        weights = torch.from_numpy(np.where(is_kept, 1, 1 / SHARE)[chosen]).float()
        others = functional.binary_cross_entropy_with_logits(scores[:, 1:], targets, reduction="none")
        of_classes = (others.sum(1) * weights).sum()
        without = torch.zeros_like(wordless)
        without[example.wordless[:, 0], example.wordless[:, 1]] = 1
        of_wordless = functional.binary_cross_entropy_with_logits(wordless, without, reduction="sum")
        is_marker = torch.zeros(len(chosen))
        is_marker[where[example.markers]] = 1
        is_orphan = torch.from_numpy(np.isin(used, example.orphans))
        own = torch.from_numpy(is_possible[used] | np.isin(used, example.places[example.markers]))
        logp, orphan, nothing = marker_logp(scores[:, 0], marker, at)
        own_pairs = is_marker * own[at]
        n_own = torch.zeros(len(used)).index_add(0, at, own_pairs)
        of_markers = -(logp * own_pairs / n_own.clamp(min=1)[at]).sum() - orphan[is_orphan & own].sum()
        of_markers = of_markers - nothing[own & (n_own == 0) & ~is_orphan].sum()
        return (2 * of_markers + of_classes + of_wordless) / 1000


def marker_logp(scores: Tensor, marker: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-probabilities: each pair is a relation and its marker; each atom is an orphan; each atom is neither.

    Shape: (pairs), (atoms, 2), (pairs) → (pairs), (atoms), (atoms)
    """
    n_atoms = len(marker)
    every = torch.arange(n_atoms)
    logits = torch.cat([scores + marker[at, 0], marker[:, 1], torch.zeros(n_atoms)])
    index = torch.cat([at, every, every])
    largest = torch.zeros(n_atoms).scatter_reduce(0, index, logits.detach(), "amax")
    total = torch.zeros(n_atoms).index_add(0, index, (logits - largest[index]).exp()).log() + largest
    logp = logits - total[index]
    return logp[: len(at)], logp[len(at) : len(at) + n_atoms], logp[len(at) + n_atoms :]


def train_signals(
    examples: Sequence[SignalExample], config: SignalConfig, seed: int, epochs: int = 20, rate: float = 2e-3
) -> SignalNetwork:
    """Train a network."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    network = SignalNetwork(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.02)
    steps = epochs * -(-len(examples) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for _ in range(epochs):
        order = generator.permutation(len(examples))
        for first in range(0, len(order), BATCH):
            optimizer.zero_grad()
            for number in order[first : first + BATCH]:
                network.loss(examples[number], config, generator).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return network.eval()
