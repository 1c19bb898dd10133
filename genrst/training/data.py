"""From a corpus to prepared features: annotate, count symbols, turn documents into numbers; once, then from a cache.

All that training needs is one NumPy archive of integers without pickles, named by what it was made from, so that it
can be carried to a machine that has neither spaCy nor the corpus. The segmenter shares the corpus, the cache and the
archive (`genrst.segmenter.data`). What becomes of one document is in `genrst.model.examples`.
"""

import dataclasses
import hashlib
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.corpus import Corpus, load_corpus
from genrst.document import Document
from genrst.errors import ConfigError, CorpusFormatError, CorpusNotFoundError, CorpusWarning, TreeError
from genrst.io import max_unpacked, progress, tell, write_atomically_with
from genrst.model.encoder.files import PieceTokenizer, find_tokenizer
from genrst.model.examples import Example, SoftTree, fine_relations, mask_entities, prepare, prepare_tree
from genrst.model.symbols import Symbols, make_symbols
from genrst.text import pipeline
from genrst.text.annotate import annotate
from genrst.text.vectors import Vectors, load_vectors
from genrst.training.run_config import CorpusConfig, DataConfig
from genrst.transitions.actions import ActionSet
from genrst.transitions.features import Syntax
from genrst.trees.node import SPAN, Tree, units
from genrst.trees.relations import Inventory, describe_classes, detect_inventory, load_inventory

FORMAT = 1
"""Counts up when the meaning of a prepared file changes, so that old ones are made again."""
PARSER = "parser"
"""What an archive is for, unless its header says otherwise."""

CHOOSING = ("path", "genres", "silver_genres", "skip_bad")
"""Settings that say which documents are read, and nothing about what becomes of them."""
SYNTAX_COLUMNS = ("heads", "deprels", "edu_tokens", "sentences", "paragraphs", "kinds")
COLUMNS = ("edu_words", "edu_lengths", "token_words", *SYNTAX_COLUMNS, "actions", "pieces", "piece_lengths", "fine")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Training and development documents as numbers, their symbols, and word vectors to start from."""

    symbols: Symbols
    train: list[Example]
    dev: list[Example]
    vectors: NDArray[np.float32] | None
    """A row per word of the vocabulary; rows of zeros for words without a vector."""
    notes: dict[str, Any]
    """What was prepared and how, for the log."""
    silver: list[Example] = field(default_factory=list)
    """Training documents with automatic trees."""
    tokenizer: str | None = None
    """The `tokenizer.json` that made the word pieces, if there are any."""


def prepare_data(config: DataConfig, cache: Path, encoder: str | None = None) -> tuple[Prepared, Path]:
    """The prepared features of a configuration and their file: from the cache, or made and put there.

    `encoder` is the model's pretrained encoder, if it has one.
    """
    tokenizer = None if encoder is None else find_tokenizer(encoder)
    train, dev, read_silver = read_corpus(config)
    for document in (*train, *dev):
        if document.tree is None:
            raise TreeError(f"{document.id}: a document must have a tree to train or evaluate on")
    for split, documents in ((config.train_split, train), (config.dev_split, dev)):
        if all(len(document.edus) == 1 for document in documents):
            raise TreeError(f"{config.path}: split {split!r} must have a document of two EDUs or more, was: none")
    silver = [document for document in read_silver() if document.tree is not None]
    settings: dict[str, object] = {k: v for k, v in dataclasses.asdict(config).items() if k not in CHOOSING}
    # Also which pipeline and vectors a name means here, and what is prepared of a document.
    settings |= {"pipeline": pipeline.pipeline_version(config.pipeline), "vectors_file": file_version(config.vectors)}
    settings |= {"columns": COLUMNS} if tokenizer is None else {"columns": COLUMNS, "tokenizer": tokenizer.json}
    path = prepare_once(
        cache,
        content_key([*train, *dev, *silver], settings),
        lambda path: save_prepared(_prepare(config, train, dev, silver, tokenizer), path),
    )
    return load_prepared(path), path


def read_corpus(config: CorpusConfig) -> tuple[list[Document], list[Document], Callable[[], Iterator[Document]]]:
    """Training documents, dev documents, and a function that reads silver ones, which may be too many to keep."""
    train, dev = (_read_split(config, split) for split in (config.train_split, config.dev_split))
    silver = load_corpus(config.silver, skip_bad=config.skip_bad) if config.silver else ()

    def read_silver() -> Iterator[Document]:
        documents = progress(silver, "reading silver", len(silver))
        if config.silver_genres:
            return _of_genres(documents, config.silver_genres, "data.silver_genres")
        # Gold documents have been checked for these genres; silver ones need not have them all.
        return (document for document in documents if not config.genres or _genre(document) in config.genres)

    return list(_of_genres(train, config.genres, "data.genres")), dev, read_silver


def open_split(config: CorpusConfig, split: str) -> Corpus:
    """A split of the corpus of a configuration."""
    if not Path(config.path).exists():
        raise CorpusNotFoundError(f"{config.path}: no such file or folder; --set data.path=FOLDER names another")
    return load_corpus(config.path, config.corpus, split, version=config.gum_version, skip_bad=config.skip_bad)


def _read_split(config: CorpusConfig, split: str) -> list[Document]:
    corpus = open_split(config, split)
    documents = list(progress(corpus, f"reading {split}", len(corpus)))
    if not documents:
        raise CorpusNotFoundError(f"{config.path}: split {split!r} must have a document, was: none")
    return documents


def _of_genres(documents: Iterable[Document], genres: Sequence[str], setting: str) -> Iterator[Document]:
    """Documents of these genres, of all if none is named; each must be there."""
    known: set[str] = set()
    for document in documents:
        known.add(_genre(document))
        if not genres or _genre(document) in genres:
            yield document
    if unknown := [genre for genre in genres if genre not in known]:
        names = ", ".join(sorted(known - {""})) or "those of the training documents, which have none"
        raise ConfigError(f"{setting}: a genre must be one of {names}, was: {unknown[0]!r}")


def _genre(document: Document) -> str:
    return document.metadata.get("genre", "")


def _prepare(
    config: DataConfig,
    train: list[Document],
    dev: list[Document],
    silver: list[Document],
    tokenizer: PieceTokenizer | None,
) -> Prepared:
    inventory = _inventory(config, [*train, *dev])
    relations = _classes([*train, *dev], inventory)
    fine_trees = [[_tree(document) for document in documents] for documents in (train, dev)]
    train, dev, silver = (
        [replace(document, tree=prepare_tree(_tree(document), inventory)) for document in documents]
        for documents in (train, dev, silver)
    )
    actions = _actions(train, dev)
    # A label that only silver trees have could never be correct.
    known = set(actions.labels)
    silver = [document for document in silver if known.issuperset(ActionSet.from_trees([_tree(document)]).labels)]
    train, dev, silver = (annotate_as_configured(documents, config) for documents in (train, dev, silver))
    symbols = _symbols(config, [*train, *silver], actions, _fine(fine_trees[0], inventory))
    has_words = config.syntax != "none"
    train_examples, dev_examples, silver_examples = (
        [prepare(one, symbols, _tree(one), config.lowercase, tokenizer, has_words) for one in documents]
        for documents in (train, dev, silver)
    )
    for examples, trees in zip((train_examples, dev_examples), fine_trees, strict=True):
        if symbols.fine:
            pairs = zip(examples, trees, strict=True)
            examples[:] = [replace(one, fine=fine_relations(tree, symbols)) for one, tree in pairs]
    vectors = find_vectors(config.vectors, symbols.words.symbols)
    notes = {
        "inventory": inventory.name,
        "relations": relations,
        "n_words": len(symbols.words),
        "n_labels": len(symbols.actions.labels),
        "vectors": vectors.source if vectors else None,
        "vector_coverage": vectors.coverage if vectors else 0.0,
    }
    tell(f"relations by {inventory.name}: {describe_classes(relations)}")
    return Prepared(
        symbols,
        train_examples,
        dev_examples,
        vectors.matrix if vectors else None,
        notes,
        silver_examples,
        tokenizer.json if tokenizer else None,
    )


def _tree(document: Document) -> Tree:
    assert document.tree is not None
    return document.tree


def _inventory(config: DataConfig, documents: Iterable[Document]) -> Inventory:
    if config.inventory is not None:
        return load_inventory(config.inventory)
    return detect_inventory(unit.relation for document in documents for unit in units(_tree(document)))


def _classes(documents: Iterable[Document], inventory: Inventory) -> dict[str, str]:
    """The class of each relation of the corpus."""
    names = {name for document in documents for unit in units(_tree(document)) for name in unit.relations} - {SPAN}
    return {name: inventory.coarse(name) for name in sorted(names)}


def _fine(trees: Iterable[Tree], inventory: Inventory) -> list[tuple[str, str]]:
    """The relations of trees that are finer than those that models have as labels, each with its coarse one."""
    names = sorted({unit.relation.lower() for tree in trees for unit in units(tree)})
    return [(name, inventory.coarse(name)) for name in names if inventory.coarse(name) != name]


def _actions(train: Sequence[Document], dev: Sequence[Document]) -> ActionSet:
    """The actions of all gold trees, as those of dev must have numbers, too."""
    known = ActionSet.from_trees(map(_tree, train))
    everything = ActionSet.from_trees(map(_tree, (*train, *dev)))
    if unseen := sorted(set(everything.labels) - set(known.labels)):
        names = ", ".join(map(str, unseen))
        message = f"labels of dev that training never shows, so no tree will have them: {names}"
        warnings.warn(CorpusWarning(message), stacklevel=2)
    return everything


def annotate_as_configured(documents: list[Document], config: DataConfig) -> list[Document]:
    """Entities by spaCy, as in the paper; dependencies too, unless the corpus' own are wanted, or none."""
    if config.syntax == "none":
        return _with_sentences(documents, config)
    loaded = pipeline.load_pipeline(config.pipeline)
    annotated = list(progress(annotate(documents, loaded), "annotating", len(documents)))
    if config.syntax == "spacy":
        return annotated
    for document in documents:
        if not document.tokens:
            raise TreeError(f"{document.id}: data.syntax = corpus needs the corpus' own tokens, there are none")
    return [replace(old, entities=new.entities) for old, new in zip(documents, annotated, strict=True)]


def _with_sentences(documents: list[Document], config: DataConfig) -> list[Document]:
    bare = [document for document in documents if not document.sentences]
    found = annotate(bare, pipeline.load_pipeline(config.pipeline)) if bare else iter(())
    return [document if document.sentences else next(found) for document in documents]


def _symbols(
    config: DataConfig, documents: Sequence[Document], actions: ActionSet, fine: Iterable[tuple[str, str]]
) -> Symbols:
    if config.syntax == "none":
        return make_symbols((), (), actions, fine=fine)
    words = (word for document in documents for edu in mask_entities(document, config.lowercase).edus for word in edu)
    deprels = (token.deprel for document in documents for token in document.tokens)
    return make_symbols(words, deprels, actions, config.min_count, fine)


def find_vectors(source: str, words: Sequence[str]) -> Vectors | None:
    """The vectors of some words, if there is a source of vectors."""
    if not source:
        return None
    vectors = load_vectors(source, words)
    tell(f"word vectors: {vectors.source}, {vectors.coverage:.1%} of {len(words)} words")
    return vectors


def save_prepared(prepared: Prepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    splits = {"train": prepared.train, "dev": prepared.dev, "silver": prepared.silver}
    ids = {split: [example.id for example in examples] for split, examples in splits.items()}
    header = {"format": FORMAT, "symbols": prepared.symbols.as_dict(), **ids, "notes": prepared.notes}
    arrays: dict[str, NDArray[Any]] = {}
    for split, examples in splits.items():
        for column in COLUMNS if examples else ():
            parts = [getattr(one.syntax if column in SYNTAX_COLUMNS else one, column) for one in examples]
            arrays[f"{split}.{column}"] = np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])
            arrays[f"{split}.{column}.sizes"] = np.array([len(part) for part in parts], dtype=np.int32)
        arrays |= _soft_arrays(split, [one.soft for one in examples if one.soft is not None])
        if starts := [one.starts for one in examples if one.starts is not None]:
            arrays[f"{split}.starts"] = np.concatenate(starts).astype(np.float16)
    if prepared.tokenizer is not None:
        arrays["tokenizer"] = np.frombuffer(prepared.tokenizer.encode(), dtype=np.uint8)
    save_archive(path, header, arrays, prepared.vectors)


SOFT_COLUMNS = {"units": np.int32, "p": np.float16, "labels": np.int32, "label_p": np.float16}


def _soft_arrays(split: str, trees: Sequence[SoftTree]) -> dict[str, NDArray[Any]]:
    """Soft trees as columns; all documents of a split have one or none has."""
    if not trees:
        return {}
    columns = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in SOFT_COLUMNS}
    arrays = {f"{split}.soft.{name}": column.astype(SOFT_COLUMNS[name]) for name, column in columns.items()}
    return {**arrays, f"{split}.soft.sizes": np.array([len(tree.p) for tree in trees], dtype=np.int32)}


def load_prepared(path: Path) -> Prepared:
    """Read a prepared file."""
    with open_archive(path, PARSER) as (header, arrays, vectors):
        return Prepared(
            Symbols.from_dict(header["symbols"]),
            _examples(arrays, "train", header["train"]),
            _examples(arrays, "dev", header["dev"]),
            vectors,
            header["notes"],
            # Files from before there were silver documents have none.
            _examples(arrays, "silver", header["silver"]) if header.get("silver") else [],
            bytes(arrays["tokenizer"]).decode() if "tokenizer" in arrays else None,
        )


def _examples(arrays: Mapping[str, NDArray[Any]], split: str, ids: Sequence[str]) -> list[Example]:
    columns = []
    for column in (f"{split}.{name}" for name in COLUMNS):
        if column in arrays:
            ends = np.cumsum(arrays[f"{column}.sizes"])
            columns.append(np.split(arrays[column].astype(np.int64), ends[:-1]))
        else:
            # Files from before there were word pieces, or kinds.
            columns.append([np.zeros(0, dtype=np.int64)] * len(ids))
    rows = zip(ids, *columns, strict=True)
    examples = [_example(id, dict(zip(COLUMNS, row, strict=True))) for id, *row in rows]
    if f"{split}.soft.sizes" in arrays:
        examples = [replace(one, soft=soft) for one, soft in zip(examples, _soft_trees(arrays, split), strict=True)]
    if f"{split}.starts" in arrays:
        ends = np.cumsum([len(one.pieces) for one in examples])[:-1]
        starts = np.split(arrays[f"{split}.starts"].astype(np.float32), ends)
        examples = [replace(one, starts=own) for one, own in zip(examples, starts, strict=True)]
    return examples


def _soft_trees(arrays: Mapping[str, NDArray[Any]], split: str) -> Iterator[SoftTree]:
    ends = np.cumsum(arrays[f"{split}.soft.sizes"])[:-1]
    parts = {name: np.split(arrays[f"{split}.soft.{name}"], ends) for name in SOFT_COLUMNS}
    for places, p, labels, label_p in zip(*parts.values(), strict=True):
        yield SoftTree(
            places.astype(np.int64), p.astype(np.float32), labels.astype(np.int64), label_p.astype(np.float32)
        )


def _example(id: str, columns: dict[str, Any]) -> Example:
    syntax = Syntax(**{name: columns.pop(name).tolist() for name in SYNTAX_COLUMNS})
    return Example(id, syntax=syntax, actions=tuple(columns.pop("actions").tolist()), **columns)


def content_key(documents: Iterable[Document], settings: object) -> str:
    """A name for prepared features: changes with any text, EDU, tree or setting."""
    digest = hashlib.sha256(repr((FORMAT, settings)).encode())
    for document in documents:
        digest.update(repr((document.id, document.text, document.edus, document.tree)).encode("utf-8", "surrogatepass"))
        digest.update(repr((document.tokens, document.sentences, document.paragraphs)).encode())
    return digest.hexdigest()[:16]


def file_version(name: str) -> tuple[int, int] | None:
    """What changes with the content of a file; None if there is no such file."""
    path = Path(name)
    return (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None


def prepare_once(cache: Path, key: str, make: Callable[[Path], None]) -> Path:
    """The prepared file of a key, made unless it is in the cache.

    Read it back even if it is new: it rounds word vectors, and the first run must be like all later ones.
    """
    path = cache / f"{key}.npz"
    is_new = not path.is_file()
    if is_new:
        make(path)
    tell(f"prepared features: {path}{' (new)' if is_new else ''}")
    return path


def save_archive(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], vectors: NDArray[np.float32] | None
) -> None:
    """Write a NumPy archive: plain data as JSON, arrays, and word vectors in half precision."""
    every = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays}
    if vectors is not None:
        every["vectors"] = vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **every))  # type: ignore[arg-type]


def _check_size(arrays: np.lib.npyio.NpzFile, path: Path) -> None:
    """Refuse an archive that unpacks to far more than its size."""
    n_bytes = sum(member.file_size for member in arrays.zip.infolist()) if arrays.zip is not None else 0
    if n_bytes > (allowed := max_unpacked(path)):
        raise CorpusFormatError(f"the file must unpack to at most {allowed} bytes, was: {n_bytes}", path)


_DAMAGE = (
    *(OSError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What NumPy, zip and JSON raise when an archive was cut or changed."""


@contextmanager
def open_archive(
    path: Path, kind: str
) -> Iterator[tuple[dict[str, Any], Mapping[str, NDArray[Any]], NDArray[np.float32] | None]]:
    """The header, arrays and word vectors of an archive; whatever reading it raises becomes a `CorpusFormatError`."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            _check_size(arrays, path)
            header = json.loads(bytes(arrays["header"]))
            found = header.get("kind", PARSER), header["format"]
            if found != (kind, FORMAT):
                rule = f"features must be prepared for a {kind} in format {FORMAT}"
                raise CorpusFormatError(f"{rule}, was: for a {found[0]} in format {found[1]}", path)
            yield header, arrays, arrays["vectors"].astype(np.float32) if "vectors" in arrays else None
    except _DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"the file must hold prepared features, was: {error}", path) from error
