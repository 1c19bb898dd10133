"""Prepared documents for the segmenter on disk: one NumPy archive of small integers, without pickles.

From a corpus to prepared features for the segmenter: once, then from a cache.

Gold documents come in two forms: with their own tokens and sentences, and as raw text, which is what users have.
Silver ones, of which there are many, alternate between the two.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genrst.console import progress, tell
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusNotFoundError, TreeError
from genrst.io import write_atomically_with
from genrst.segmenter.features import COLUMNS, OpenSymbols, Symbols, Tokens, edu_starts, read_tokens
from genrst.segmenter.segmenter_config import SegmenterDataConfig
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline, pipeline_version
from genrst.text.raw import unsegmented
from genrst.training.data import DAMAGE, choose_genres, content_key, file_version, make_once

if TYPE_CHECKING:
    from spacy.language import Language

FORMAT = 1
"""Counts up when the meaning of a prepared file changes, so that old ones are made again."""
KIND = "segmenter"

SETS = ("train", "train_raw", "silver", "dev", "dev_raw")
"""Gold documents with their own tokens and sentences or, if raw, with spaCy's; silver ones in one form or the other."""


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


def save_segmenter_data(prepared: SegmenterPrepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    header = {"format": FORMAT, "kind": KIND, "symbols": prepared.symbols.as_dict()}
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    for name in SETS:
        arrays |= {f"{name}.{column}": _small(values) for column, values in _columns(prepared.sets[name]).items()}
    if prepared.vectors is not None:
        arrays["vectors"] = prepared.vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


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
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(bytes(arrays["header"]))
            if (header.get("kind"), header["format"]) != (KIND, FORMAT):
                raise CorpusFormatError(f"features must be prepared for a {KIND}, in format {FORMAT}", path)
            return SegmenterPrepared(
                Symbols.from_dict(header["symbols"]),
                {name: _examples(arrays, name) for name in SETS},
                arrays["vectors"].astype(np.float32) if "vectors" in arrays else None,
            )
    except DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"the file must hold prepared features, was: {error}", path) from error


def _examples(arrays: Any, name: str) -> list[SegmenterExample]:  # noqa: ANN401
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
        "train": _make_examples(train, (_as_it_is,), opened, pipeline, "training documents"),
        "train_raw": _make_examples(train, (_as_raw,), opened, pipeline, "training documents, raw"),
        "silver": _make_examples(silver, (_as_it_is, _as_raw), opened, pipeline, "silver documents"),
        "dev": _make_examples(dev, (_as_it_is,), opened, pipeline, "dev documents"),
        "dev_raw": _make_examples(dev, (_as_raw,), opened, pipeline, "dev documents, raw"),
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


def _make_examples(
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
