"""From a corpus to prepared features: annotate, count symbols, turn documents into numbers; once, then from a cache."""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from genrst.apps.messages import tell
from genrst.apps.progress import progress
from genrst.corpora.corpus import load_corpus
from genrst.corpora.document import Document
from genrst.errors import ConfigError, CorpusNotFoundError, CorpusWarning, TreeError
from genrst.model.encoder_files import find_tokenizer
from genrst.model.piece_tokenizer import PieceTokenizer
from genrst.model.prepare import mask_entities, prepare, prepare_tree
from genrst.model.symbols import Symbols, make_symbols
from genrst.training.config import DataConfig
from genrst.training.prepared import COLUMNS, Prepared, content_key, load_prepared, save_prepared
from genrst.transitions.actions import ActionSet
from genrst.trees.node import Tree, units
from genrst.trees.relations import Inventory, detect_inventory, load_inventory

if TYPE_CHECKING:
    from genrst.text.vectors import Vectors


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
