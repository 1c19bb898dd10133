"""Which words signal the relations of a tree, and how: a small network over the encoder's states. NumPy only.

Each pair of a relation and a nearby word has a vector. It is the sum of vectors for the word (its state, its place in
its EDU), for the relation (its name, its sizes, its nuclear EDUs) and for the position of the word in the relation. Two
layers compute one score per type of signal. Discourse markers are different: a word marks one relation of the tree, a
secondary edge (as an orphan) or nothing, so these scores go through one softmax. Types without words, such as layout,
are scored from the relation alone.

The weights are in `signals.safetensors` and the settings in `signals.json`, beside the model whose encoder was used in
training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genrst.chart.examples import FloatArray
from genrst.chart.labels import IntArray
from genrst.chart.signals.features import (
    ATOM_FEATURES,
    ROW_FEATURES,
    Asked,
    Atoms,
    ask,
    contexts,
    find_atoms,
    pairs,
    pool_pieces,
    repeats,
    words_of_atoms,
)
from genrst.chart.signals.secondary import EdgeFinder
from genrst.document import Document, Signal, Span, signal_words
from genrst.errors import ModelNotFoundError
from genrst.packing import unpack
from genrst.storage import check_shapes, read_config, read_tensors

CONFIG, WEIGHTS = "signals.json", "signals.safetensors"
SINGLE = ("indicative_word",)
"""Subtypes in which every word is a separate signal."""
GAP = " … "
"""Separates the parts of a discontinuous marker, such as `if … then`."""
N_WORDS = 3
"""The number of words per atom: its own and its two neighbours."""
_ROWS = 1 << 13
"""The number of pairs per batch."""


@dataclass(frozen=True)
class SignalConfig:
    """The settings and the vocabularies of the network."""

    state_size: int
    edu_size: int
    size: int
    classes: tuple[tuple[str, str], ...]
    """The types and subtypes of signals with words, except discourse markers."""
    wordless: tuple[tuple[str, str], ...]
    """The types and subtypes of signals without words."""
    labels: tuple[tuple[str, str], ...]
    """The names and roles of relations."""
    markers: tuple[str, ...]
    """All discourse markers seen in training, in lower case; only their words are considered."""
    thresholds: tuple[float, ...] = ()
    """The minimum probability of each class, in the order of `classes` and `wordless`."""
    marker_threshold: float = 0.5
    rules: tuple[tuple[str, ...], ...] = ()
    """Rules for types that the network finds less well: a context (four parts), the type, the subtype."""
    edge_relations: tuple[str, ...] = ()
    """The relations that secondary edges may have."""
    edge_markers: tuple[str, ...] = ()
    """The first words of the markers of secondary edges."""

    @cached_property
    def marker_words(self) -> frozenset[str]:
        """The words of all markers."""
        return frozenset(word for marker in self.markers for word in marker.replace(GAP, " ").split())

    @cached_property
    def known_markers(self) -> frozenset[str]:
        """All markers."""
        return frozenset(self.markers)

    @cached_property
    def by_context(self) -> dict[tuple[str, ...], list[tuple[str, str]]]:
        """The types and subtypes for each context with a rule."""
        found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for *context, kind, subtype in self.rules:
            found.setdefault(tuple(context), []).append((kind, subtype))
        return found

    @cached_property
    def by_rule(self) -> frozenset[tuple[str, str]]:
        """The types and subtypes that are found by rules."""
        return frozenset((rule[-2], rule[-1]) for rule in self.rules)

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], int]:
        return {label: number for number, label in enumerate(self.labels, 1)}

    def number_labels(self, asked: Asked) -> IntArray:
        """Return the number of each relation's label; 0 if it is unknown."""
        return np.array([self._numbers.get((one.name, one.role), 0) for one in asked.relations], dtype=np.int64)

    @cached_property
    def _word_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(sorted(self.marker_words), 1)}

    def number_words(self, text: str, atoms: Atoms) -> IntArray:
        """Return the number of each atom's word and of its neighbours' words; 0 if the word is in no marker.

        Shape: → (atoms, 3)
        """
        numbers = self._word_numbers
        own = np.array([numbers.get(text[span.start : span.end].lower(), 0) for span in atoms.spans], dtype=np.int64)
        before, after = np.pad(own, (1, 0))[:-1], np.pad(own, (0, 1))[1:]
        return np.stack([own, before, after], axis=1)

    def are_possible(self, text: str, atoms: Atoms) -> NDArray[np.bool_]:
        """Return whether each atom may be part of a marker."""
        return self.number_words(text, atoms)[:, 0] > 0


class ReadAtoms(NamedTuple):
    """The words of a document as input of the network, independent of its tree."""

    atoms: Atoms
    vectors: FloatArray
    """Shape: (atoms, size)"""
    kinds: IntArray
    """What EDUs begin. Shape: (EDUs + 1)"""
    edus: FloatArray
    """The vectors of EDUs. Shape: (EDUs, 2 · edu_size)"""


class Scored(NamedTuple):
    """The probabilities of all possible signals."""

    asked: Asked
    relations: IntArray
    """The relation of each pair. Shape: (pairs)"""
    places: IntArray
    """The atom of each pair. Shape: (pairs)"""
    classes: FloatArray
    """Shape: (pairs, classes)"""
    markers: FloatArray
    """The probability that the pair is a relation and its marker. Shape: (pairs)"""
    orphans: FloatArray
    """The probability that an atom marks a secondary edge. Shape: (atoms)"""
    wordless: FloatArray
    """Shape: (relations, wordless)"""


class Signaller:
    """Finds the signals of trees."""

    def __init__(self, config: SignalConfig, weights: Mapping[str, FloatArray]) -> None:
        self.config, self.weights = config, weights
        self._edges = EdgeFinder(config.edge_relations, config.edge_markers, weights)

    @classmethod
    def load(cls, folder: Path) -> "Signaller":
        """Read the signaller in the folder of a model."""
        if not (folder / CONFIG).is_file():
            raise ModelNotFoundError(f"{folder}: the model cannot find signals; {CONFIG} is missing")
        config, stored = read_config(SignalConfig, folder / CONFIG), read_tensors(folder / WEIGHTS)
        check_shapes(stored, _shapes(config), folder)
        return cls(config, unpack(stored))

    def read(
        self, document: Document, starts: IntArray, states: FloatArray, kinds: IntArray, edus: FloatArray
    ) -> ReadAtoms:
        """Return the words of a document, given the starts and the states of its word pieces."""
        atoms = find_atoms(document)
        pooled = pool_pieces(atoms, starts, states)
        return ReadAtoms(atoms, self.atom_vectors(document, atoms, pooled), kinds, edus)

    def atom_vectors(self, document: Document, atoms: Atoms, states: FloatArray) -> FloatArray:
        """Return the contribution of atoms to pairs. Shape: (atoms, state_size) → (atoms, size)"""
        of_states = self._linear(self._normalised(states, "atom_norm"), "atom")
        words = self.config.number_words(document.text or "", atoms)
        return of_states + self._table("atom", atoms.features) + self._table("word", words)

    def add(self, document: Document, read: ReadAtoms) -> Document:
        """Return the document with the signals of its tree."""
        if document.text is None or not len(read.atoms.spans) or len(document.edus) < 2:
            return document
        scored = self.score(document, read)
        marked = replace(document, signals=tuple(self.decode(document, read.atoms, scored)), secondary_edges=())
        return self.add_edges(marked, read, self.orphans(document, read.atoms, scored))

    def add_edges(
        self, document: Document, read: ReadAtoms, orphans: Sequence[tuple[tuple[int, ...], int]]
    ) -> Document:
        """Return the document with the secondary edges of its orphans, given as words and first atom."""
        text, spans = document.text or "", read.atoms.spans
        found = [
            (words, text[spans[atom].start : spans[atom].end].lower(), int(read.atoms.edus[atom]), read.vectors[atom])
            for words, atom in orphans
        ]
        return self._edges.add(document, found, read.kinds, read.edus)

    def score(self, document: Document, read: ReadAtoms) -> Scored:
        """Return the probabilities of signals."""
        atoms, text = read.atoms, document.text or ""
        asked = ask(document, read.kinds)
        rows, places = pairs(asked, atoms)
        relations = asked.rows[rows, 0]
        of_rows, wordless = self._relations(asked, read.edus)
        repeated = self.weights["tables.repeated.weight"][repeats(asked, atoms, text, rows, places)]
        scores = np.concatenate(
            [
                self._pairs(read.vectors[places[part]] + of_rows[rows[part]] + repeated[part])
                for part in (slice(start, start + _ROWS) for start in range(0, max(len(rows), 1), _ROWS))
            ]
        )
        marker = self._linear(np.maximum(read.vectors, 0), "marker")
        is_possible = self.config.are_possible(text, atoms)
        markers, orphans = _marker_p(scores[:, 0], marker, places, is_possible)
        return Scored(asked, relations, places, _sigmoid(scores[:, 1:]), markers, orphans, _sigmoid(wordless))

    def _relations(self, asked: Asked, edus: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the contribution of rows to pairs, and the scores of relations without words."""
        heads = self._normalised(edus[asked.heads].reshape(len(asked.relations), -1), "edu_norm")
        labels = self.weights["tables.label.weight"][self.config.number_labels(asked)]
        relations = self._linear(heads, "edus") + self._table("size", asked.sizes) + labels
        whole = self._linear(np.maximum(self._linear(np.maximum(relations, 0), "whole"), 0), "wordless")
        return relations[asked.rows[:, 0]] + self._table("row", asked.row_features), whole

    def _pairs(self, vectors: FloatArray) -> FloatArray:
        hidden = self._linear(np.maximum(vectors, 0), "hidden")
        return self._linear(np.maximum(hidden, 0), "output")

    def _linear(self, values: FloatArray, name: str) -> FloatArray:
        found: FloatArray = values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return found

    def _normalised(self, values: FloatArray, name: str) -> FloatArray:
        centred = values - values.mean(axis=1, keepdims=True)
        scale = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
        found: FloatArray = centred / scale * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return found

    def _table(self, name: str, features: IntArray) -> FloatArray:
        columns = range(features.shape[1])
        parts = [self.weights[f"tables.{name}_{column}.weight"][features[:, column]] for column in columns]
        total: FloatArray = np.sum(parts, axis=0, dtype=np.float32)
        return total

    def decode(self, document: Document, atoms: Atoms, scored: Scored) -> list[Signal]:
        """Return the signals above their thresholds, by relation."""
        words = words_of_atoms(atoms, signal_words(document))
        names = [*self.config.classes, *self.config.wordless]
        groups: dict[tuple[int, str, str], set[int]] = {}
        limits = np.array(self.config.thresholds[: len(self.config.classes)], dtype=np.float32)
        for pair, number in np.argwhere(scored.classes > limits).tolist():
            key = (int(scored.relations[pair]), *names[number])
            groups.setdefault(key, set()).add(int(words[scored.places[pair]]))
        for pair in self.marker_pairs(scored):
            groups.setdefault((int(scored.relations[pair]), "dm", "dm"), set()).add(int(words[scored.places[pair]]))
        for relation, number in np.argwhere(
            scored.wordless > np.array(self.config.thresholds[len(self.config.classes) :], dtype=np.float32)
        ).tolist():
            groups.setdefault((relation, *self.config.wordless[number]), set())
        groups = {key: members for key, members in groups.items() if key[1:] not in self.config.by_rule}
        for relation, atom, context in contexts(scored.asked.relations, atoms, document.text or ""):
            for name in self.config.by_context.get(context, ()):
                groups.setdefault((relation, *name), set()).add(int(words[atom]) if atom >= 0 else -1)
        spans = signal_words(document)
        texts = [_bare(document, span) for span in spans]
        found = []
        for (relation, kind, subtype), members in groups.items():
            unit = scored.asked.relations[relation].unit
            for part in self._split(kind, subtype, sorted(members - {-1}), texts):
                found.append(Signal(unit, kind, subtype, tuple(word + 1 for word in part)))
        return sorted(found, key=lambda one: (one.unit, one.type, one.subtype, one.tokens))

    def orphans(self, document: Document, atoms: Atoms, scored: Scored) -> list[tuple[tuple[int, ...], int]]:
        """Return the markers of secondary edges, as words and first atom."""
        words, spans = words_of_atoms(atoms, signal_words(document)), signal_words(document)
        totals = np.zeros(len(scored.orphans))
        np.add.at(totals, scored.places, scored.markers)
        is_orphan = (totals + scored.orphans > self.config.marker_threshold) & (scored.orphans > totals)
        first = {int(words[atom]): int(atom) for atom in np.flatnonzero(is_orphan)[::-1].tolist() if words[atom] >= 0}
        texts = [_bare(document, span) for span in spans]
        parts = split_markers(sorted(first), texts, self.config.known_markers, joins=False)
        return [(tuple(word + 1 for word in part), first[part[0]]) for part in parts]

    def marker_pairs(self, scored: Scored) -> list[int]:
        """Return the best pair for each word that probably marks a relation."""
        best: dict[int, int] = {}
        for pair in np.flatnonzero(scored.markers > 0.01).tolist():
            atom = int(scored.places[pair])
            if atom not in best or scored.markers[pair] > scored.markers[best[atom]]:
                best[atom] = pair
        totals = np.zeros(len(scored.orphans))
        np.add.at(totals, scored.places, scored.markers)
        limit = self.config.marker_threshold
        return [
            pair
            for atom, pair in best.items()
            if totals[atom] + scored.orphans[atom] > limit and totals[atom] >= scored.orphans[atom]
        ]

    def _split(self, kind: str, subtype: str, words: Sequence[int], texts: Sequence[str]) -> list[list[int]]:
        """Convert the words of one class in one relation to signals."""
        if kind == "dm":
            return split_markers(words, texts, self.config.known_markers)
        return [[word] for word in words] if subtype in SINGLE else [list(words)]


def _bare(document: Document, word: Span) -> str:
    """Return a word in lower case, without surrounding punctuation."""
    return (document.text or "")[word.start : word.end].lower().strip(".,;:!?\"'()[]“”—-")


def _shapes(config: SignalConfig) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights that depend on the settings."""
    size, edus, n_wordless = config.size, 3 * config.edu_size, len(config.wordless)
    layers = {
        **{"atom": (size, config.state_size), "edus": (size, edus), "hidden": (size, size), "whole": (size, size)},
        **{"output": (1 + len(config.classes), size), "marker": (2, size), "wordless": (n_wordless, size)},
    }
    tables = {f"atom_{column}": n for column, n in enumerate(ATOM_FEATURES)}
    tables |= {f"row_{column}": n for column, n in enumerate(ROW_FEATURES)}
    tables |= {f"word_{column}": 1 + len(config.marker_words) for column in range(N_WORDS)}
    tables |= {"label": 1 + len(config.labels), "repeated": 2}
    return {
        **{f"{name}.weight": shape for name, shape in layers.items()},
        **{f"{name}.bias": shape[:1] for name, shape in layers.items()},
        **{f"tables.{name}.weight": (n, size) for name, n in tables.items()},
    }


def split_markers(
    words: Sequence[int], texts: Sequence[str], known: frozenset[str], joins: bool = True
) -> list[list[int]]:
    """Return the markers in the words of one relation: the longest known ones, otherwise runs of words.

    `and then` is two markers; `as if` and `if … then` are one each.
    """
    runs: list[list[int]] = []
    for word in words:
        if runs and word == runs[-1][-1] + 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    named = GAP.join(" ".join(texts[word] for word in run) for run in runs)
    if joins and len(runs) > 1 and named in known:
        return [list(words)]
    return [part for run in runs for part in _split_run(run, texts, known)]


def _split_run(run: list[int], texts: Sequence[str], known: frozenset[str]) -> list[list[int]]:
    parts: list[list[int]] = []
    while run:
        lengths = (n for n in range(len(run), 0, -1) if " ".join(texts[word] for word in run[:n]) in known)
        length = next(lengths, len(run))
        parts.append(run[:length])
        run = run[length:]
    return parts


def _sigmoid(values: FloatArray) -> FloatArray:
    found: FloatArray = 1 / (1 + np.exp(-values.clip(-30, 30)))
    return found


def _marker_p(
    scores: FloatArray, marker: FloatArray, places: IntArray, is_possible: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return a distribution for each atom over the relations that it may mark, a secondary edge, and nothing."""
    logits = scores + marker[places, 0]
    largest = np.maximum(marker[:, 1], 0)
    np.maximum.at(largest, places, logits)
    of_pairs = np.exp(logits - largest[places]) * is_possible[places]
    orphans = np.exp(marker[:, 1] - largest) * is_possible
    totals = np.exp(-largest) + orphans
    np.add.at(totals, places, of_pairs)
    return of_pairs / totals[places], orphans / totals
