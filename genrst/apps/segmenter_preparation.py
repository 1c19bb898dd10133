"""From a corpus to prepared features for the segmenter: once, then from a cache.

Gold documents come in two forms: with their own tokens and sentences, and as raw text, which is what users have.
Silver ones, of which there are many, alternate between the two.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, cycle, tee
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from genrst.apps.messages import tell
from genrst.apps.preparation import choose_genres, file_version, make_once
from genrst.apps.progress import progress
from genrst.corpora.corpus import load_corpus
from genrst.corpora.document import Document
from genrst.errors import CorpusNotFoundError, TreeError
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline, pipeline_version
from genrst.text.raw import unsegmented
from genrst.text.segmenter.features import edu_starts, read_tokens
from genrst.text.segmenter.symbols import OpenSymbols, Symbols
from genrst.training.prepared import content_key
from genrst.training.segmenter.config import SegmenterDataConfig
from genrst.training.segmenter.prepared import (
    FORMAT,
    KIND,
    SegmenterExample,
    SegmenterPrepared,
    load_segmenter_data,
    save_segmenter_data,
)

if TYPE_CHECKING:
    from spacy.language import Language

UNUSED_PIPES = ("ner", "lemmatizer")


def prepare_segmenter_data(config: SegmenterDataConfig, cache: Path) -> tuple[SegmenterPrepared, Path]:
    """The prepared features of a configuration and their file: from the cache, or made and put there."""
    train, dev = _read(config, config.train_split), _read(config, config.dev_split)
    is_chosen = choose_genres(config.genres, train)
    train = list(filter(is_chosen, train))
    silver: Iterable[Document] = load_corpus(config.silver) if config.silver else ()
    # Silver documents are many: they are read twice rather than kept.
    path = cache / f"{content_key(chain(train, dev, filter(is_chosen, silver)), _settings(config))}.npz"
    make_once(path, lambda: save_segmenter_data(_prepare(config, train, dev, filter(is_chosen, silver)), path))
    return load_segmenter_data(path), path


def _settings(config: SegmenterDataConfig) -> dict[str, object]:
    """All that prepared features depend on besides the documents."""
    settings = {k: v for k, v in dataclasses.asdict(config).items() if k not in ("path", "silver", "genres")}
    settings |= {"kind": KIND, "format": FORMAT, "pipeline": pipeline_version(config.pipeline)}
    vectors = file_version(config.vectors)
    return settings if vectors is None else settings | {"vectors_file": vectors}


def _read(config: SegmenterDataConfig, split: str) -> list[Document]:
    documents = list(load_corpus(config.path, config.corpus, split, version=config.gum_version))
    if not documents:
        raise CorpusNotFoundError(f"{config.path}: split {split!r} must have a document, was: none")
    return documents


def _prepare(
    config: SegmenterDataConfig, train: list[Document], dev: list[Document], silver: Iterable[Document]
) -> SegmenterPrepared:
    pipeline = load_pipeline(config.pipeline)
    opened = OpenSymbols()
    chosen = {
        "train": _examples(train, (_as_it_is,), opened, pipeline, "training documents"),
        "train_raw": _examples(train, (_as_raw,), opened, pipeline, "training documents, raw"),
        "silver": _examples(silver, (_as_it_is, _as_raw), opened, pipeline, "silver documents"),
        "dev": _examples(dev, (_as_it_is,), opened, pipeline, "dev documents"),
        "dev_raw": _examples(dev, (_as_raw,), opened, pipeline, "dev documents, raw"),
    }
    sets = {name: list(examples) for name, examples in chosen.items()}
    counted = (one.tokens.symbols for name, examples in sets.items() if "dev" not in name for one in examples)
    limits = {"word": config.max_words, "prefix": config.max_affixes, "suffix": config.max_affixes}
    symbols = opened.close(counted, config.min_count, limits)
    renumber = opened.renumbering(symbols)
    return SegmenterPrepared(
        symbols,
        {
            name: [replace(one, tokens=replace(one.tokens, symbols=renumber(one.tokens.symbols))) for one in examples]
            for name, examples in sets.items()
        },
        _vectors(config, symbols),
    )


def _as_it_is(document: Document) -> Document:
    return document


def _as_raw(document: Document) -> Document:
    if document.text is None:
        raise TreeError(f"{document.id}: a document must have its text to learn from")
    return unsegmented(document.id, document.text)


def _examples(
    documents: Iterable[Document],
    forms: tuple[Callable[[Document], Document], ...],
    symbols: OpenSymbols,
    pipeline: "Language",
    description: str,
) -> Iterator[SegmenterExample]:
    """The documents, annotated, the forms taking turns."""
    documents, golds = tee(documents)
    formed = (form(document) for form, document in zip(cycle(forms), documents, strict=False))
    with pipeline.select_pipes(disable=[name for name in UNUSED_PIPES if name in pipeline.pipe_names]):
        for annotated, gold in zip(progress(annotate(formed, pipeline), description), golds, strict=True):
            tokens = read_tokens(annotated, symbols)
            yield SegmenterExample(tokens, edu_starts(replace(annotated, edus=gold.edus)), len(gold.edus))


def _vectors(config: SegmenterDataConfig, symbols: Symbols) -> NDArray[np.float32] | None:
    """The principal components of the vectors of the words, with variance 1 over all."""
    if not config.vectors:
        return None
    from genrst.text.vectors import load_vectors

    words = symbols.vocabularies[0].symbols
    vectors = load_vectors(config.vectors, words)
    tell(f"word vectors: {vectors.source}, {vectors.coverage:.1%} of {len(words)} words")
    known = vectors.matrix[vectors.is_known]
    known = known - known.mean(axis=0) if len(known) else known
    _, _, axes = np.linalg.svd(known, full_matrices=False)
    reduced = known @ axes[: config.vector_size].T
    matrix = np.zeros((len(words), config.vector_size), np.float32)
    matrix[vectors.is_known, : reduced.shape[1]] = reduced / (reduced.std() or 1.0)
    return matrix
