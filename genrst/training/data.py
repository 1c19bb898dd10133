"""Prepared features on disk: all that training needs in one file of integers, named by what it was made from.

The file is a NumPy archive without pickles, so it can be carried to a machine that has neither spaCy nor the corpus.

From a corpus to prepared features: annotate, count symbols, turn documents into numbers; once, then from a cache.
"""

import dataclasses
import hashlib
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genrst.console import progress, tell
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import ConfigError, CorpusFormatError, CorpusNotFoundError, CorpusWarning, TreeError
from genrst.io import write_atomically_with
from genrst.model.encoder.files import PieceTokenizer, find_tokenizer
from genrst.model.examples import Example, mask_entities, prepare, prepare_tree
from genrst.model.symbols import Symbols, make_symbols
from genrst.training.run_config import DataConfig
from genrst.transitions.actions import ActionSet
from genrst.transitions.features import Syntax
from genrst.trees.node import Tree, units
from genrst.trees.relations import Inventory, detect_inventory, load_inventory

if TYPE_CHECKING:
    from genrst.text.vectors import Vectors

FORMAT = 1
"""Counts up when the meaning of a prepared file changes, so that old ones are made again."""

DAMAGE = (OSError, EOFError, LookupError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
"""What NumPy, zip and JSON raise when an archive was cut or changed."""

COLUMNS = (
    "edu_words",
    "edu_lengths",
    "token_words",
    "heads",
    "deprels",
    "edu_tokens",
    "sentences",
    "paragraphs",
    "kinds",
    "actions",
    "pieces",
    "piece_lengths",
)


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
    """The `tokenizer.json` by which word pieces were made, if there are any."""


def content_key(documents: Iterable[Document], settings: object) -> str:
    """A name for prepared features: changes with any text, EDU, tree or setting."""
    digest = hashlib.sha256(repr((FORMAT, settings)).encode())
    for document in documents:
        digest.update(repr((document.id, document.text, document.edus, document.tree)).encode("utf-8", "surrogatepass"))
        digest.update(repr((document.tokens, document.sentences, document.paragraphs)).encode())
    return digest.hexdigest()[:16]


def save_prepared(prepared: Prepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    header = {
        "format": FORMAT,
        "symbols": prepared.symbols.as_dict(),
        "train": [example.id for example in prepared.train],
        "dev": [example.id for example in prepared.dev],
        "silver": [example.id for example in prepared.silver],
        "notes": prepared.notes,
    }
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    for split, examples in (("train", prepared.train), ("dev", prepared.dev), ("silver", prepared.silver)):
        for column in COLUMNS if examples else ():
            parts = [_column(example, column) for example in examples]
            arrays[f"{split}.{column}"] = np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])
            arrays[f"{split}.{column}.sizes"] = np.array([len(part) for part in parts], dtype=np.int32)
    if prepared.tokenizer is not None:
        arrays["tokenizer"] = np.frombuffer(prepared.tokenizer.encode(), dtype=np.uint8)
    if prepared.vectors is not None:
        arrays["vectors"] = prepared.vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


def _column(example: Example, column: str) -> Sequence[int] | NDArray[np.int64]:
    values: Sequence[int] | NDArray[np.int64] = getattr(example if hasattr(example, column) else example.syntax, column)
    return values


def load_prepared(path: Path) -> Prepared:
    """Read a prepared file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(bytes(arrays["header"]))
            if header["format"] != FORMAT:
                raise CorpusFormatError(f"prepared features must be of format {FORMAT}, was: {header['format']}", path)
            return Prepared(
                Symbols.from_dict(header["symbols"]),
                _examples(arrays, "train", header["train"]),
                _examples(arrays, "dev", header["dev"]),
                arrays["vectors"].astype(np.float32) if "vectors" in arrays else None,
                header["notes"],
                # A file of before there was silver has none.
                _examples(arrays, "silver", header["silver"]) if header.get("silver") else [],
                bytes(arrays["tokenizer"]).decode() if "tokenizer" in arrays else None,
            )
    except DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"the file must hold prepared features, was: {error}", path) from error


def _examples(arrays: Any, split: str, ids: Sequence[str]) -> list[Example]:  # noqa: ANN401
    columns = {}
    for column in COLUMNS:
        if f"{split}.{column}" not in arrays:
            # A file of before there were word pieces, or kinds.
            columns[column] = [np.zeros(0, dtype=np.int64)] * len(ids)
            continue
        ends = np.cumsum(arrays[f"{split}.{column}.sizes"])
        columns[column] = np.split(arrays[f"{split}.{column}"].astype(np.int64), ends[:-1])
    return [_example(id, {column: parts[row] for column, parts in columns.items()}) for row, id in enumerate(ids)]


def _example(id: str, columns: dict[str, NDArray[np.int64]]) -> Example:
    names = ("heads", "deprels", "edu_tokens", "sentences", "paragraphs", "kinds")
    syntax = Syntax(*(columns[name].tolist() for name in names))
    return Example(
        id,
        columns["edu_words"],
        columns["edu_lengths"],
        columns["token_words"],
        syntax,
        tuple(columns["actions"].tolist()),
        columns["pieces"],
        columns["piece_lengths"],
    )


def prepare_data(config: DataConfig, cache: Path, encoder: str | None = None) -> tuple[Prepared, Path]:
    """The prepared features of a configuration and their file: from the cache, or made and put there.

    `encoder` is the model's pretrained encoder, if it has one.
    """
    tokenizer = None if encoder is None else find_tokenizer(encoder)
    train, dev = _read(config, config.train_split), _read(config, config.dev_split)
    is_chosen = choose_genres(config.genres, train)
    train, silver = (list(filter(is_chosen, documents)) for documents in (train, _read_silver(config)))
    path = cache / f"{content_key([*train, *dev, *silver], _settings(config, tokenizer))}.npz"
    make_once(path, lambda: save_prepared(_prepare(config, train, dev, silver, tokenizer), path))
    return load_prepared(path), path


def make_once(path: Path, make: Callable[[], None]) -> None:
    """Make a file of prepared features unless it is there.

    It is read back even if new: it rounds word vectors, and the first run must be like all later ones.
    """
    is_new = not path.is_file()
    if is_new:
        make()
    tell(f"prepared features: {path}{' (new)' if is_new else ''}")


def _settings(config: DataConfig, tokenizer: PieceTokenizer | None) -> dict[str, object]:
    """All that prepared features depend on besides the documents: also which pipeline and vectors a name means."""
    from genrst.text.pipeline import pipeline_version

    settings: dict[str, object] = {k: v for k, v in dataclasses.asdict(config).items() if k not in ("path", "genres")}
    settings |= {"pipeline": pipeline_version(config.pipeline), "vectors_file": file_version(config.vectors)}
    # A file with less than is now prepared is made again.
    settings["columns"] = COLUMNS
    return settings if tokenizer is None else settings | {"tokenizer": tokenizer.json}


def file_version(name: str) -> tuple[int, int] | None:
    """What changes with the content of a file; None if there is none of that name."""
    path = Path(name)
    return (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None


def _read(config: DataConfig, split: str) -> list[Document]:
    corpus = load_corpus(config.path, config.corpus, split, version=config.gum_version)
    documents = list(progress(corpus, f"reading {split}", len(corpus)))
    if not documents:
        raise CorpusNotFoundError(f"{config.path}: split {split!r} must have a document, was: none")
    for document in documents:
        if document.tree is None:
            raise TreeError(f"{document.id}: a document must have a tree to train or evaluate on")
    return documents


def _read_silver(config: DataConfig) -> list[Document]:
    if not config.silver:
        return []
    corpus = load_corpus(config.silver)
    return [document for document in progress(corpus, "reading silver", len(corpus)) if document.tree is not None]


def choose_genres(genres: Sequence[str], train: Iterable[Document]) -> Callable[[Document], bool]:
    """Whether a document is of one of these genres, which training documents must have; all are if none is named."""
    if not genres:
        return lambda document: True
    known = {document.metadata.get("genre", "") for document in train} - {""}
    if unknown := [genre for genre in genres if genre not in known]:
        names = ", ".join(sorted(known)) or "those of the training documents, which have none"
        raise ConfigError(f"data.genres: a genre must be one of {names}, was: {unknown[0]!r}")
    return lambda document: document.metadata.get("genre") in genres


def _prepare(
    config: DataConfig,
    train: list[Document],
    dev: list[Document],
    silver: list[Document],
    tokenizer: PieceTokenizer | None,
) -> Prepared:
    inventory = _inventory(config, [*train, *dev])
    trees = [[prepare_tree(_tree(document), inventory) for document in documents] for documents in (train, dev)]
    actions = _actions(*trees)
    pairs = [(document, prepare_tree(_tree(document), inventory)) for document in silver]
    pairs = [(document, tree) for document, tree in pairs if _has_known_labels(tree, actions)]
    silver = [document for document, _ in pairs]
    trees.append([tree for _, tree in pairs])
    train, dev, silver = (
        annotate_as_configured(documents, config) if documents else [] for documents in (train, dev, silver)
    )
    symbols = _symbols(config, [*train, *silver], actions)
    train_examples, dev_examples, silver_examples = (
        [
            prepare(document, symbols, tree, config.lowercase, tokenizer)
            for document, tree in zip(documents, gold, strict=True)
        ]
        for documents, gold in zip((train, dev, silver), trees, strict=True)
    )
    vectors = _vectors(config, symbols)
    notes = {
        "inventory": inventory.name,
        "n_words": len(symbols.words),
        "n_labels": len(symbols.actions.labels),
        "vectors": vectors.source if vectors else None,
        "vector_coverage": vectors.coverage if vectors else 0.0,
    }
    matrix = vectors.matrix if vectors else None
    spelling = tokenizer.json if tokenizer else None
    return Prepared(symbols, train_examples, dev_examples, matrix, notes, silver_examples, spelling)


def _tree(document: Document) -> Tree:
    assert document.tree is not None
    return document.tree


def _inventory(config: DataConfig, documents: Iterable[Document]) -> Inventory:
    if config.inventory is not None:
        return load_inventory(config.inventory)
    return detect_inventory(unit.relation for document in documents for unit in units(_tree(document)))


def annotate_as_configured(documents: list[Document], config: DataConfig) -> list[Document]:
    """Entities by spaCy, as in the paper; dependencies too, unless the corpus' own are wanted."""
    from genrst.text.annotate import annotate
    from genrst.text.pipeline import load_pipeline

    annotated = list(progress(annotate(documents, load_pipeline(config.pipeline)), "annotating", len(documents)))
    if config.syntax == "spacy":
        return annotated
    for document in documents:
        if not document.tokens:
            raise TreeError(f"{document.id}: data.syntax = corpus needs the corpus' own tokens, there are none")
    return [replace(old, entities=new.entities) for old, new in zip(documents, annotated, strict=True)]


def _symbols(config: DataConfig, documents: list[Document], actions: ActionSet) -> Symbols:
    words = (word for document in documents for edu in mask_entities(document, config.lowercase).edus for word in edu)
    deprels = (token.deprel for document in documents for token in document.tokens)
    return make_symbols(words, deprels, actions, config.min_count)


def _has_known_labels(tree: Tree, actions: ActionSet) -> bool:
    """Whether gold trees have all labels of a silver one; labels that only silver trees have could never be right."""
    return set(ActionSet.from_trees([tree]).labels) <= set(actions.labels)


def _actions(train_trees: list[Tree], dev_trees: list[Tree]) -> ActionSet:
    known = ActionSet.from_trees(train_trees)
    everything = ActionSet.from_trees([*train_trees, *dev_trees])
    if unseen := sorted(set(everything.labels) - set(known.labels)):
        names = ", ".join(map(str, unseen))
        warnings.warn(
            CorpusWarning(f"labels of dev that training never shows, so no tree will have them: {names}"), stacklevel=2
        )
    return everything


def _vectors(config: DataConfig, symbols: Symbols) -> "Vectors | None":
    if not config.vectors:
        return None
    from genrst.text.vectors import load_vectors

    vectors = load_vectors(config.vectors, symbols.words.symbols)
    tell(f"word vectors: {vectors.source}, {vectors.coverage:.1%} of {len(symbols.words)} words")
    return vectors
