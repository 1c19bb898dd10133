"""What the head must beat: a list of markers, and the rule that a word in a relation means what it mostly did."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from genrst.chart.signal_features import chains, relations_of
from genrst.document import Document, Signal, require_tree, signal_words

LONGEST = 6
"""Words of a marker in the list."""


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
    """Every run of words that was a marker, with what it mostly was: dm, orphan, or no marker at all."""

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
        """The document with the markers of the list: each at the smallest relation that starts in its EDU."""
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
    """A word in the first EDU of a relation of some name, or in the other unit, has each class that it mostly had."""

    def __init__(self, documents: Sequence[Document]) -> None:
        seen: Counter[tuple[str, ...]] = Counter()
        had: Counter[tuple[tuple[str, ...], tuple[str, str]]] = Counter()
        without: Counter[tuple[tuple[str, ...], tuple[str, str]]] = Counter()
        for document in documents:
            signals = defaultdict(set)
            for signal in document.signals:
                for word in signal.tokens:
                    signals[signal.unit, word].add((signal.type, signal.subtype))
                if not signal.tokens and signal.target is None:
                    signals[signal.unit, 0].add((signal.type, signal.subtype))
            for unit, word, key in _keys(document):
                seen[key] += 1
                (had if word else without).update((key, one) for one in signals[unit, word])
        self._classes: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
        for (key, one), count in (had + without).items():
            if 2 * count > seen[key] and count > 1:
                self._classes[key].append(one)

    def mark(self, document: Document) -> Document:
        """The document with the signals of the rule."""
        groups = defaultdict(list)
        for unit, word, key in _keys(document):
            for kind, subtype in self._classes.get(key, ()):
                groups[unit, kind, subtype, word if subtype == "indicative_word" else 0].append(word)
        signals = [
            Signal(unit, kind, subtype, tuple(sorted(set(words) - {0})))
            for (unit, kind, subtype, _), words in groups.items()
            if kind != "orphan"
        ]
        return replace(document, signals=tuple(signals), secondary_edges=())


def _keys(document: Document) -> Iterator[tuple[tuple[int, int], int, tuple[str, ...]]]:
    """Every relation with its words from 1, and 0 for the relation itself, and what the rule looks at."""
    texts, words = _lower(document), defaultdict(list)
    for word, edu in enumerate(_edus_of_words(document), 1):
        words[edu].append(word)
    for one in relations_of(require_tree(document)):
        yield one.unit, 0, (one.name, one.role)
        sides = {"first": [one.unit[0]], "last": [one.unit[1] - 1], "other": [one.nucleus[0]]}
        for side, edus in sides.items():
            if side == "last" and one.unit[1] - one.unit[0] == 1:
                continue
            for word in (word for edu in edus for word in words[edu]):
                yield one.unit, word, (one.name, one.role, side, texts[word - 1])
