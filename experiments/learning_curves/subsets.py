"""Nested subsets of training documents, with features restricted to the vocabulary of the subset."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.data import Split
from genrst.encoder.tokenizer import IntArray
from genrst.rnng.config import SPECIALS, UNK_ID, Vocabulary
from genrst.rnng.examples import Example
from genrst.training.prepared import Prepared


def nested_order(ids: Sequence[str], seed: int) -> list[int]:
    """Return document numbers in an order in which every prefix has about the same share of each genre.

    The genre is the second part of an id such as `GUM_news_iodine`.
    """
    generator = np.random.default_rng(seed)
    genres: dict[str, list[int]] = defaultdict(list)
    for number in generator.permutation(len(ids)).tolist():
        genres[genre_of(ids[number])].append(number)
    # The documents of a genre are spread evenly, with a random offset.
    places = {
        number: (place + float(shift)) / len(members)
        for members, shift in zip(genres.values(), generator.random(len(genres)), strict=True)
        for place, number in enumerate(members)
    }
    return sorted(places, key=places.__getitem__)


def genre_of(id: str) -> str:
    """Return the genre of a GUM document, or an empty string for another kind of id."""
    parts = id.split("_")
    return parts[1] if len(parts) > 2 else ""


def subset_size(n_documents: int, part: int) -> int:
    """Return the number of documents in 1/`part` of the corpus."""
    return max(1, round(n_documents / part))


def restrict(prepared: Prepared, numbers: Sequence[int], min_count: int) -> Prepared:
    """Restrict features to some training documents; words that are rare in these become `<unk>`, also in dev.

    Labels and dependency relations keep their numbers; those that do not occur are not learned.
    """
    train = [prepared.train[number] for number in numbers]
    kept, symbols = _count_words(train, prepared.symbols.words, min_count)
    vectors = None if prepared.vectors is None else prepared.vectors[kept]
    renumber = _renumbering(kept, len(prepared.symbols.words))
    return replace(
        prepared,
        symbols=replace(prepared.symbols, words=symbols),
        train=[with_words(example, renumber) for example in train],
        dev=[with_words(example, renumber) for example in prepared.dev],
        vectors=vectors,
        notes=prepared.notes | {"n_words": len(symbols)},
        silver=[],
    )


def restrict_split(split: Split, whole: Prepared, part: Prepared) -> Split:
    """Restrict the documents of another split to the remaining words."""
    numbers = {word: number for number, word in enumerate(whole.symbols.words.symbols)}
    kept = np.array([numbers[word] for word in part.symbols.words.symbols])
    renumber = _renumbering(kept, len(whole.symbols.words))
    examples = [with_words(example, renumber) for example in split.examples]
    return Split(split.name, examples, replace(split.symbols, words=part.symbols.words))


def _count_words(train: Sequence[Example], words: Vocabulary, min_count: int) -> tuple[IntArray, Vocabulary]:
    """Return the old numbers of the kept words, and their vocabulary, most frequent first."""
    counts = Counter(number for example in train for number in example.edu_words.tolist())
    frequent = [number for number in range(len(SPECIALS), len(words)) if counts[number] >= min_count]
    frequent.sort(key=lambda number: (-counts[number], words.symbols[number]))
    kept = np.array([*range(len(SPECIALS)), *frequent])
    return kept, Vocabulary(tuple(words.symbols[number] for number in kept))


def _renumbering(kept: IntArray, n_words: int) -> IntArray:
    """Return the new number of each old number."""
    renumber = np.full(n_words, UNK_ID)
    renumber[kept] = np.arange(len(kept))
    return renumber


def with_words(example: Example, renumber: IntArray) -> Example:
    """Return the document with its words renumbered."""
    return replace(example, edu_words=renumber[example.edu_words], token_words=renumber[example.token_words])
