"""Baselines for the signal head: a list of markers, and a majority rule for words in relations."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from genrst.chart.signals.features import Context, chains, contexts, find_atoms, relations_of, words_of_atoms
from genrst.document import Document, Signal, require_tree, signal_words

LONGEST = 6
"""The maximum number of words of a marker."""


def _lower(document: Document) -> list[str]:
    return [(document.text or "")[word.start : word.end].lower() for word in signal_words(document)]


def _edus_of_words(document: Document) -> list[int]:
    edu, found = 0, []
    for word in signal_words(document):
        while edu + 1 < len(document.edus) and document.edus[edu + 1].start <= word.start:
            edu += 1
        found.append(edu)
    return found


class MarkerList:
    """Every sequence of words that was a marker, with its most frequent type: dm, orphan, or none."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._kinds: dict[str, Counter[str]] = defaultdict(Counter)
        for document in documents:
            texts = _lower(document)
            for signal in document.signals:
                if signal.type in ("dm", "orphan") and len(signal.tokens) <= LONGEST:
                    self._kinds[" ".join(texts[word - 1] for word in signal.tokens)][signal.type] += 1
        seen = Counter(run for document in documents for run in _runs(_lower(document)) if run in self._kinds)
        for run, kinds in self._kinds.items():
            kinds["none"] = seen[run] - kinds.total()

    def mark(self, document: Document) -> Document:
        """Return the document with the markers of the list, each at the smallest relation that starts in its EDU."""
        texts, edus = _lower(document), _edus_of_words(document)
        relations = {one.unit for one in relations_of(require_tree(document))}
        starting = chains(require_tree(document))
        found, word = [], 0
        while word < len(texts):
            lengths = (n for n in range(LONGEST, 0, -1) if " ".join(texts[word : word + n]) in self._kinds)
            length = next(lengths, 0)
            kind = self._kinds[" ".join(texts[word : word + length])].most_common(1)[0][0] if length else "none"
            units = [unit for unit in starting[edus[word]] if unit in relations] or starting[edus[word]]
            if kind != "none":
                found.append(Signal(units[0], kind, kind, tuple(range(word + 1, word + 1 + length))))
            word += max(length, 1)
        return replace(document, signals=tuple(found), secondary_edges=())


def _runs(texts: Sequence[str]) -> Iterator[str]:
    return (" ".join(texts[start : start + n]) for start in range(len(texts)) for n in range(1, LONGEST + 1))


class MajorityRule:
    """A word in a given context (its relation and position) gets each class that it had in most cases."""

    def __init__(self, documents: Sequence[Document]) -> None:
        seen: Counter[Context] = Counter()
        had: Counter[tuple[Context, tuple[str, str]]] = Counter()
        for document in documents:
            signals = defaultdict(set)
            for signal in document.signals:
                if signal.target is None:
                    for word in signal.tokens or (0,):
                        signals[signal.unit, word].add((signal.type, signal.subtype))
            for unit, word, context in _contexts(document):
                seen[context] += 1
                had.update((context, one) for one in signals[unit, word])
        self.rules: tuple[tuple[str, ...], ...] = tuple(
            sorted((*context, *one) for (context, one), n in had.items() if 2 * n > seen[context] and n > 1)
        )

    def mark(self, document: Document) -> Document:
        """Return the document with the signals of the rule."""
        classes = defaultdict(list)
        for rule in self.rules:
            classes[rule[:4]].append((rule[4], rule[5]))
        groups = defaultdict(set)
        for unit, word, context in _contexts(document):
            for kind, subtype in classes.get(context, ()):
                groups[unit, kind, subtype, word if subtype == "indicative_word" else 0].add(word)
        signals = [
            Signal(unit, kind, subtype, tuple(sorted(words - {0})))
            for (unit, kind, subtype, _), words in groups.items()
        ]
        return replace(document, signals=tuple(signals), secondary_edges=())


def _contexts(document: Document) -> Iterator[tuple[tuple[int, int], int, Context]]:
    """Yield the contexts of a document with their units and words, numbered from 1; 0 is the relation itself."""
    atoms, relations = find_atoms(document), relations_of(require_tree(document))
    words = words_of_atoms(atoms, signal_words(document)).tolist()
    for number, atom, context in contexts(relations, atoms, document.text or ""):
        yield relations[number].unit, words[atom] + 1 if atom >= 0 else 0, context
