"""From a corpus to prepared features for the segmenter: once, then from a cache.

Gold documents come in two forms: with their own tokens and sentences, and as raw text, which is what users have.
Silver ones, of which there are many, alternate between the two. Cache and archive are `genrst.training.prepared`.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, cycle, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genrst.document import Document
from genrst.errors import TreeError
from genrst.io import progress
from genrst.segmenter.features import COLUMNS, OpenSymbols, Symbols, Tokens, edu_starts, read_tokens
from genrst.segmenter.segmenter_config import SegmenterDataConfig
from genrst.text import pipeline
from genrst.text.annotate import annotate
from genrst.text.raw import unsegmented
from genrst.training.data import CHOOSING, find_vectors, read_corpus
from genrst.training.prepared import FORMAT, content_key, file_version, open_archive, prepare_once, save_archive

if TYPE_CHECKING:
    from spacy.language import Language

KIND = "segmenter"

SETS = ("train", "train_raw", "silver", "dev", "dev_raw")
"""Gold documents with their own tokens and sentences or, if raw, with spaCy's; silver ones in one form or the other."""

UNUSED_PIPES = ("ner", "lemmatizer")
"""What a segmenter does not need of spaCy's."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmenterExample:
    """A document: its tokens, whether each starts an EDU, and how many EDUs there are.

    In raw text an EDU may start inside a token, so that there can be more EDUs than tokens that start one.
    """

    tokens: Tokens
    starts_edu: NDArray[np.bool_]
    n_edus: int


@dataclass(frozen=True, slots=True, eq=False)
class SegmenterPrepared:
    """All documents as numbers, their symbols, and word vectors to start from."""

    symbols: Symbols
    sets: dict[str, list[SegmenterExample]]
    vectors: NDArray[np.float32] | None
    """A row per word of the vocabulary; rows of zeros for words without a vector."""


def prepare_segmenter_data(config: SegmenterDataConfig, cache: Path) -> tuple[SegmenterPrepared, Path]:
    """The prepared features of a configuration and their file: from the cache, or made and put there."""
    train, dev, read_silver = read_corpus(config)
    settings = {k: v for k, v in dataclasses.asdict(config).items() if k not in ("silver", *CHOOSING)}
    settings |= {"kind": KIND, "format": FORMAT, "pipeline": pipeline.pipeline_version(config.pipeline)}
    if vectors := file_version(config.vectors):
        settings["vectors_file"] = vectors
    path = prepare_once(
        cache,
        # Silver documents are read twice rather than kept.
        content_key(chain(train, dev, read_silver()), settings),
        lambda path: save_segmenter_data(_prepare(config, train, dev, read_silver()), path),
    )
    return load_segmenter_data(path), path


def _prepare(
    config: SegmenterDataConfig, train: list[Document], dev: list[Document], silver: Iterable[Document]
) -> SegmenterPrepared:
    opened = OpenSymbols()
    read = partial(_read_examples, symbols=opened, language=pipeline.load_pipeline(config.pipeline))
    sets = {
        "train": read(train, (False,), "training documents"),
        "train_raw": read(train, (True,), "training documents, raw"),
        "silver": read(silver, (False, True), "silver documents"),
        "dev": read(dev, (False,), "dev documents"),
        "dev_raw": read(dev, (True,), "dev documents, raw"),
    }
    counted = (one.tokens.symbols for name, examples in sets.items() if "dev" not in name for one in examples)
    limits = {"word": config.max_words, "prefix": config.max_affixes, "suffix": config.max_affixes}
    symbols = opened.close(counted, config.min_count, limits)
    renumber = opened.renumbering(symbols)
    numbered = {
        name: [replace(one, tokens=replace(one.tokens, symbols=renumber(one.tokens.symbols))) for one in examples]
        for name, examples in sets.items()
    }
    return SegmenterPrepared(symbols, numbered, _vectors(config, symbols))


def _read_examples(
    documents: Iterable[Document], is_raw: Sequence[bool], description: str, symbols: OpenSymbols, language: "Language"
) -> list[SegmenterExample]:
    """The documents, annotated; `is_raw` is repeated to say which of them are read as raw text."""
    documents, golds = tee(documents)
    forms = (_as_raw(document) if raw else document for document, raw in zip(documents, cycle(is_raw), strict=False))
    with language.select_pipes(disable=[name for name in UNUSED_PIPES if name in language.pipe_names]):
        return [
            SegmenterExample(
                read_tokens(annotated, symbols), edu_starts(replace(annotated, edus=gold.edus)), len(gold.edus)
            )
            for annotated, gold in zip(progress(annotate(forms, language), description), golds, strict=True)
        ]


def _as_raw(document: Document) -> Document:
    if document.text is None:
        raise TreeError(f"{document.id}: a document must have its text to learn from, was: none")
    return unsegmented(document.id, document.text)


def _vectors(config: SegmenterDataConfig, symbols: Symbols) -> NDArray[np.float32] | None:
    """The principal components of the vectors of the words, with variance 1 over all."""
    words = symbols.vocabularies[0].symbols
    vectors = find_vectors(config.vectors, words)
    if vectors is None:
        return None
    known = vectors.matrix[vectors.is_known]
    known = known - known.mean(axis=0) if len(known) else known
    _, _, axes = np.linalg.svd(known, full_matrices=False)
    reduced = known @ axes[: config.vector_size].T
    matrix = np.zeros((len(words), config.vector_size), np.float32)
    matrix[vectors.is_known, : reduced.shape[1]] = reduced / (reduced.std() or 1.0)
    return matrix


def save_segmenter_data(prepared: SegmenterPrepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    header = {"format": FORMAT, "kind": KIND, "symbols": prepared.symbols.as_dict()}
    arrays = {
        f"{name}.{column}": _small(values) for name in SETS for column, values in _columns(prepared.sets[name]).items()
    }
    save_archive(path, header, arrays, prepared.vectors)


def _columns(examples: Sequence[SegmenterExample]) -> dict[str, NDArray[Any]]:
    symbols = np.concatenate([np.zeros((0, len(COLUMNS)), np.int32), *(one.tokens.symbols for one in examples)])
    return {
        "sizes": np.array([len(one.tokens) for one in examples]),
        "n_edus": np.array([one.n_edus for one in examples]),
        "heads": _joined([one.tokens.heads - np.arange(len(one.tokens)) for one in examples]),
        "starts_sentence": _joined([one.tokens.starts_sentence for one in examples]),
        "starts_edu": _joined([one.starts_edu for one in examples]),
        **dict(zip(COLUMNS, symbols.T, strict=True)),
    }


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, bool), *parts])


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the smallest type that holds them."""
    if not len(values):
        return values.astype(np.uint8)
    return values.astype(np.promote_types(np.min_scalar_type(values.min()), np.min_scalar_type(values.max())))


def load_segmenter_data(path: Path) -> SegmenterPrepared:
    """Read a prepared file."""
    with open_archive(path, KIND) as (header, arrays, vectors):
        sets = {name: _examples(arrays, name) for name in SETS}
        return SegmenterPrepared(Symbols.from_dict(header["symbols"]), sets, vectors)


def _examples(arrays: Mapping[str, NDArray[Any]], name: str) -> list[SegmenterExample]:
    ends = np.cumsum(arrays[f"{name}.sizes"], dtype=np.int64)
    if not len(ends):
        return []
    symbols = np.stack([arrays[f"{name}.{column}"].astype(np.int32) for column in COLUMNS], axis=1)
    columns = (symbols, *(arrays[f"{name}.{column}"] for column in ("heads", "starts_sentence", "starts_edu")))
    parts = zip(*(np.split(column, ends[:-1]) for column in columns), arrays[f"{name}.n_edus"].tolist(), strict=True)
    return [
        SegmenterExample(
            Tokens(rows, heads + np.arange(len(heads)), starts_sentence.astype(np.bool_)),
            starts_edu.astype(np.bool_),
            n_edus,
        )
        for rows, heads, starts_sentence, starts_edu, n_edus in parts
    ]
