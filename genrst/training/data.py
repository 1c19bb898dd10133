"""From a corpus to prepared features: annotate, count symbols, turn documents into numbers; once, then from a cache.

What comes out is in `genrst.training.prepared`; what becomes of one document is in the `examples` of the kind of model.
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genrst.corpora.corpus import Corpus, load_corpus
from genrst.document import Document
from genrst.encoder.files import TOKENIZER, find_tokenizer
from genrst.encoder.tokenizer import PieceTokenizer, join_edus, read_tokenizer
from genrst.errors import ConfigError, CorpusNotFoundError, CorpusWarning, TreeError
from genrst.io import progress, tell
from genrst.storage import ENCODER
from genrst.text.annotate import annotate, load_pipeline, pipeline_version
from genrst.training.kinds import TaskKind, kind_of
from genrst.training.prepared import Prepared, content_key, file_version, load_prepared, prepare_once, save_prepared
from genrst.training.run_config import DataConfig, RunConfig
from genrst.trees.binarise import binarise, prepare_tree
from genrst.trees.constraints import Label
from genrst.trees.node import SPAN, Tree, relabel, units
from genrst.trees.relations import Inventory, describe_classes, detect_inventory, load_inventory

if TYPE_CHECKING:
    from genrst.chart.examples import ChartExample

CHOOSING = ("path", "extra", "genres", "silver_genres", "skip_bad")
"""Settings that say which documents are read, and nothing about what becomes of them."""


def prepare_data(config: RunConfig, cache: Path) -> tuple[Prepared, Path]:
    """The prepared features of a configuration and their file: from the cache, or made and put there."""
    data, kind, encoder = config.data, kind_of(config.model), config.model.encoder
    if start := config.training.start:
        tokenizer = read_tokenizer(Path(start) / ENCODER / TOKENIZER)
    else:
        tokenizer = None if encoder is None else find_tokenizer(encoder)
    train, dev, read_silver = read_corpus(data)
    for document in (*train, *dev):
        if document.tree is None:
            raise TreeError(f"{document.id}: a document must have a tree to train or evaluate on")
    for split, documents in ((data.train_split, train), (data.dev_split, dev)):
        if all(len(document.edus) == 1 for document in documents):
            raise TreeError(f"{data.path}: split {split!r} must have a document of two EDUs or more, got none")
    silver = [document for document in read_silver() if document.tree is not None]
    settings: dict[str, object] = {k: v for k, v in dataclasses.asdict(data).items() if k not in CHOOSING}
    # Also which pipeline and vectors a name means here, and what is prepared of a document.
    settings |= {"pipeline": pipeline_version(data.pipeline), "vectors_file": file_version(data.vectors)}
    settings |= {"kind": kind, "tokenizer": tokenizer.json if tokenizer else None}
    path = prepare_once(
        cache,
        content_key([*train, *dev, *silver], settings),
        lambda path: save_prepared(_prepare(data, kind, train, dev, silver, tokenizer), path),
    )
    return load_prepared(path), path


def read_corpus(config: DataConfig) -> tuple[list[Document], list[Document], Callable[[], Iterator[Document]]]:
    """Training documents, dev documents, and a function that reads silver ones, which may be too many to keep."""
    train, dev = (_read_split(config, split) for split in (config.train_split, config.dev_split))
    silver = load_corpus(config.silver, skip_bad=config.skip_bad) if config.silver else ()

    def read_silver() -> Iterator[Document]:
        documents = progress(silver, "reading silver", len(silver))
        if config.silver_genres:
            return _of_genres(documents, config.silver_genres, "data.silver_genres")
        # Gold documents have been checked for these genres; silver ones need not have them all.
        return (document for document in documents if not config.genres or _genre(document) in config.genres)

    extra = load_corpus(config.extra, "files", skip_bad=config.skip_bad) if config.extra else ()
    return [*_of_genres(train, config.genres, "data.genres"), *extra], dev, read_silver


def open_split(config: DataConfig, split: str) -> Corpus:
    """A split of the corpus of a configuration."""
    if not Path(config.path).exists():
        raise CorpusNotFoundError(f"{config.path}: no such file or folder; --set data.path=FOLDER names another")
    return load_corpus(config.path, config.corpus, split, version=config.gum_version, skip_bad=config.skip_bad)


def _read_split(config: DataConfig, split: str) -> list[Document]:
    corpus = open_split(config, split)
    documents = list(progress(corpus, f"reading {split}", len(corpus)))
    if not documents:
        raise CorpusNotFoundError(f"{config.path}: split {split!r} must have a document, got none")
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
        raise ConfigError(f"{setting}: a genre must be one of {names}, got {unknown[0]!r}")


def _genre(document: Document) -> str:
    return document.metadata.get("genre", "")


@dataclass(frozen=True, slots=True)
class _Gold:
    """Documents with trees as models see them, and as their corpus has them."""

    documents: list[Document]
    corpus_trees: list[Tree]


def _prepare(
    config: DataConfig,
    kind: TaskKind,
    train: list[Document],
    dev: list[Document],
    silver: list[Document],
    tokenizer: PieceTokenizer | None,
) -> Prepared:
    inventory = _inventory(config, [*train, *dev])
    relations = _classes([*train, *dev], inventory)
    notes = {"inventory": inventory.name, "relations": relations}
    gold = [
        _Gold([_as_model_sees(document, inventory) for document in documents], [_tree(one) for one in documents])
        for documents in (train, dev)
    ]
    labels = _labels(*(one.documents for one in gold))
    # A label that only silver trees have could never be correct.
    known = set(labels)
    prepared_silver = [_as_model_sees(document, inventory) for document in silver]
    prepared_silver = [document for document in prepared_silver if known.issuperset(_labels_of([document]))]
    if kind == "chart":
        assert tokenizer is not None
        fine, classes = _fine_labels(gold, labels, inventory)
        known_to_dev = [_with_known_relations(tree, fine, inventory) for tree in gold[1].corpus_trees]
        gold[1] = replace(gold[1], corpus_trees=known_to_dev)
        prepared = _prepare_chart(config, fine, classes, gold, prepared_silver, tokenizer, notes)
    else:
        prepared = _prepare_rnng(config, labels, gold, prepared_silver, tokenizer, notes)
    tell(f"relations by {inventory.name}: {describe_classes(relations)}")
    return prepared


def _prepare_chart(
    config: DataConfig,
    labels: tuple[Label, ...],
    classes: tuple[tuple[str, str], ...],
    gold: Sequence[_Gold],
    silver: list[Document],
    tokenizer: PieceTokenizer,
    notes: dict[str, Any],
) -> Prepared:
    from genrst.chart.examples import make_example, units_of
    from genrst.chart.labels import Labels

    symbols = Labels(labels, classes)

    def prepare(documents: list[Document], trees: Iterable[Tree]) -> "list[ChartExample]":
        found = []
        for document, tree in zip(_with_sentences(documents, config), trees, strict=True):
            example = make_example(document, *join_edus(tokenizer(document.edu_texts)))
            found.append(replace(example, units=units_of(tree, symbols, document.id)))
        return found

    train, dev = (prepare(own.documents, own.corpus_trees) for own in gold)
    notes |= {"n_labels": len(symbols)}
    return Prepared("chart", symbols, train, dev, None, notes, prepare(silver, map(_tree, silver)), tokenizer.json)


def _prepare_rnng(
    config: DataConfig,
    labels: Sequence[Label],
    gold: Sequence[_Gold],
    silver: list[Document],
    tokenizer: PieceTokenizer | None,
    notes: dict[str, Any],
) -> Prepared:
    from genrst.rnng.config import make_symbols
    from genrst.rnng.examples import mask_entities, prepare
    from genrst.rnng.transitions.actions import ActionSet, Reduce
    from genrst.rnng.vectors import load_vectors

    annotated = [annotate_as_configured(documents, config) for documents in (*(one.documents for one in gold), silver)]
    counted = [*annotated[0], *annotated[2]]
    words = (word for document in counted for edu in mask_entities(document, config.lowercase).edus for word in edu)
    deprels = (token.deprel for document in counted for token in document.tokens)
    symbols = make_symbols(words, deprels, ActionSet(tuple(Reduce(*label) for label in labels)), config.min_count)
    train, dev, silver_examples = (
        [prepare(document, symbols, _tree(document), config.lowercase, tokenizer) for document in documents]
        for documents in annotated
    )
    vectors = load_vectors(config.vectors, symbols.words.symbols) if config.vectors else None
    if vectors is not None:
        tell(f"word vectors: {vectors.source}, {vectors.coverage:.1%} of {len(symbols.words)} words")
    notes |= {"n_words": len(symbols.words), "n_labels": len(labels)}
    notes |= {"vectors": vectors.source if vectors else None, "vector_coverage": vectors.coverage if vectors else 0.0}
    matrix, tokenizer_json = vectors.matrix if vectors else None, tokenizer.json if tokenizer else None
    return Prepared("rnng", symbols, train, dev, matrix, notes, silver_examples, tokenizer_json)


def _as_model_sees(document: Document, inventory: Inventory) -> Document:
    return replace(document, tree=prepare_tree(_tree(document), inventory))


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


def _fine_labels(
    gold: Sequence[_Gold], coarse: Sequence[Label], inventory: Inventory
) -> tuple[tuple[Label, ...], tuple[tuple[str, str], ...]]:
    """The labels of training trees, as their corpus has them, and the class of each relation.

    What only dev has is a label with a class for a name, so that its trees have numbers, too.
    """
    pairs = {
        (unit.relation.lower(), unit.nuclearity) for tree in gold[0].corpus_trees for unit in units(binarise(tree))
    }
    known = {(inventory.coarse(relation), nuclearity) for relation, nuclearity in pairs}
    pairs |= set(coarse) - known
    classes = sorted({(relation, inventory.coarse(relation)) for relation, _ in pairs})
    return tuple(sorted(pairs)), tuple(pair for pair in classes if pair[0] != pair[1])


def _with_known_relations(tree: Tree, labels: Iterable[Label], inventory: Inventory) -> Tree:
    """Return the tree with the class of each relation that no label has."""
    known = {relation for relation, _ in labels}
    return relabel(tree, lambda name: name if name.lower() in known else inventory.coarse(name))


def _labels(train: Sequence[Document], dev: Sequence[Document]) -> list[Label]:
    """The labels of all gold trees, as those of dev must have numbers, too."""
    everything = _labels_of([*train, *dev])
    if unseen := sorted(everything - _labels_of(train)):
        names = ", ".join(map(" ".join, unseen))
        message = f"labels of dev that training never shows, so no tree will have them: {names}"
        warnings.warn(CorpusWarning(message), stacklevel=2)
    return sorted(everything)


def _labels_of(documents: Iterable[Document]) -> set[Label]:
    return {(unit.relation, unit.nuclearity) for document in documents for unit in units(_tree(document))}


def annotate_as_configured(documents: list[Document], config: DataConfig) -> list[Document]:
    """Entities by spaCy, as in the paper; dependencies too, unless the corpus' own are wanted."""
    loaded = load_pipeline(config.pipeline)
    annotated = list(progress(annotate(documents, loaded), "annotating", len(documents)))
    if config.syntax == "spacy":
        return annotated
    for document in documents:
        if not document.tokens:
            raise TreeError(f"{document.id}: data.syntax = corpus needs the corpus' own tokens, there are none")
    return [replace(old, entities=new.entities) for old, new in zip(documents, annotated, strict=True)]


def _with_sentences(documents: list[Document], config: DataConfig) -> list[Document]:
    """Sentences by spaCy, where documents have none."""
    bare = [document for document in documents if not document.sentences]
    found = annotate(bare, load_pipeline(config.pipeline)) if bare else iter(())
    return [document if document.sentences else next(found) for document in documents]
