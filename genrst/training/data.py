"""From a corpus to prepared features: annotate, count symbols, turn documents into numbers; once, then from a cache.

What comes out is in `genrst.training.prepared`, what becomes of one document in `genrst.rnng.examples`. The segmenter
shares the corpus (`genrst.segmenter.data`).
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from genrst.corpora.corpus import Corpus, load_corpus
from genrst.document import Document
from genrst.encoder.files import PieceTokenizer, find_tokenizer
from genrst.errors import ConfigError, CorpusNotFoundError, CorpusWarning, TreeError
from genrst.io import progress, tell
from genrst.rnng.examples import fine_relations, mask_entities, prepare, prepare_tree
from genrst.rnng.symbols import Symbols, make_symbols
from genrst.rnng.transitions.actions import ActionSet
from genrst.rnng.vectors import Vectors, load_vectors
from genrst.text import pipeline
from genrst.text.annotate import annotate
from genrst.training.prepared import (
    COLUMNS,
    Prepared,
    content_key,
    file_version,
    load_prepared,
    prepare_once,
    save_prepared,
)
from genrst.training.run_config import CorpusConfig, DataConfig
from genrst.trees.node import SPAN, Tree, units
from genrst.trees.relations import Inventory, describe_classes, detect_inventory, load_inventory

CHOOSING = ("path", "genres", "silver_genres", "skip_bad")
"""Settings that say which documents are read, and nothing about what becomes of them."""


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
