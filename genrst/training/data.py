"""Prepare features from a corpus: annotate, count symbols, convert documents to numbers. Results are cached.

`genrst.training.prepared` defines the result. The `examples` module of each kind of model converts one document.
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
"""Settings that only select documents and do not affect how these are prepared."""


def prepare_data(config: RunConfig, cache: Path) -> tuple[Prepared, Path]:
    """Return the prepared features of a configuration and their file; made if they are not in the cache."""
    data, kind = config.data, kind_of(config.model)
    tokenizer = _find_tokenizer(config)
    train, dev, read_silver = read_corpus(data)
    for document in (*train, *dev):
        if document.tree is None:
            raise TreeError(f"{document.id}: the document has no tree, so it cannot be used for training or evaluation")
    for split, documents in ((data.train_split, train), (data.dev_split, dev)):
        if all(len(document.edus) == 1 for document in documents):
            raise TreeError(f"{data.path}: split {split!r} has no document of two or more EDUs")
    silver = [document for document in read_silver() if document.tree is not None]
    settings: dict[str, object] = {k: v for k, v in dataclasses.asdict(data).items() if k not in CHOOSING}
    # The key also has the pipeline and the vectors that the names resolve to here, and what is prepared.
    settings |= {"pipeline": pipeline_version(data.pipeline), "vectors_file": file_version(data.vectors)}
    settings |= {"kind": kind, "tokenizer": tokenizer.json if tokenizer else None}
    path = prepare_once(
        cache,
        content_key([*train, *dev, *silver], settings),
        lambda path: save_prepared(_prepare(data, kind, train, dev, silver, tokenizer), path),
    )
    return load_prepared(path), path


def _find_tokenizer(config: RunConfig) -> PieceTokenizer | None:
    """Return the tokenizer of the model to start from, or of the pretrained encoder, if there is one."""
    if start := config.training.start:
        path = Path(start) / ENCODER / TOKENIZER
        if not path.is_file():
            raise ConfigError(f"training.start: the folder of a chart must hold {ENCODER}/{TOKENIZER}, got {start}")
        return read_tokenizer(path)
    return None if config.model.encoder is None else find_tokenizer(config.model.encoder)


def read_corpus(config: DataConfig) -> tuple[list[Document], list[Document], Callable[[], Iterator[Document]]]:
    """Return training documents, dev documents, and a function that reads silver ones (often too many to keep)."""
    train, dev = (_read_split(config, split) for split in (config.train_split, config.dev_split))
    silver = load_corpus(config.silver, skip_bad=config.skip_bad) if config.silver else ()

    def read_silver() -> Iterator[Document]:
        documents = progress(silver, "reading silver", len(silver))
        if config.silver_genres:
            return _of_genres(documents, config.silver_genres, "data.silver_genres")
        # Gold documents must have all of these genres; silver ones need not.
        return (document for document in documents if not config.genres or _genre(document) in config.genres)

    extra = load_corpus(config.extra, "files", skip_bad=config.skip_bad) if config.extra else ()
    return [*_of_genres(train, config.genres, "data.genres"), *extra], dev, read_silver


def open_split(config: DataConfig, split: str) -> Corpus:
    """Return a split of the configured corpus."""
    if not Path(config.path).exists():
        raise CorpusNotFoundError(f"{config.path}: no such file or folder; set another with --set data.path=FOLDER")
    return load_corpus(config.path, config.corpus, split, version=config.gum_version, skip_bad=config.skip_bad)


def _read_split(config: DataConfig, split: str) -> list[Document]:
    corpus = open_split(config, split)
    documents = list(progress(corpus, f"reading {split}", len(corpus)))
    if not documents:
        raise CorpusNotFoundError(f"{config.path}: split {split!r} has no documents")
    return documents


def _of_genres(documents: Iterable[Document], genres: Sequence[str], setting: str) -> Iterator[Document]:
    """Return the documents of these genres, or all documents if none is named; each genre must occur."""
    known: set[str] = set()
    for document in documents:
        known.add(_genre(document))
        if not genres or _genre(document) in genres:
            yield document
    if unknown := [genre for genre in genres if genre not in known]:
        names = ", ".join(sorted(known - {""})) or "the genres of the training documents, which have none"
        raise ConfigError(f"{setting}: a genre must be one of {names}, got {unknown[0]!r}")


def _genre(document: Document) -> str:
    return document.metadata.get("genre", "")


@dataclass(frozen=True, slots=True)
class _Gold:
    """Documents with the trees that models see and with those of their corpus."""

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
    # A label that only occurs in silver trees could never be correct.
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
    """Return the class of each relation of the corpus."""
    names = {name for document in documents for unit in units(_tree(document)) for name in unit.relations} - {SPAN}
    return {name: inventory.coarse(name) for name in sorted(names)}


def _fine_labels(
    gold: Sequence[_Gold], coarse: Sequence[Label], inventory: Inventory
) -> tuple[tuple[Label, ...], tuple[tuple[str, str], ...]]:
    """Return the labels of training trees, as in their corpus, and the class of each relation.

    Labels that occur only in dev are replaced by their class, so that dev trees can be converted to numbers.
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
    """Return the labels of all gold trees, including dev, because its labels need numbers as well."""
    everything = _labels_of([*train, *dev])
    if unseen := sorted(everything - _labels_of(train)):
        names = ", ".join(map(" ".join, unseen))
        message = f"these labels occur in dev but not in training, so the model will never predict them: {names}"
        warnings.warn(CorpusWarning(message), stacklevel=2)
    return sorted(everything)


def _labels_of(documents: Iterable[Document]) -> set[Label]:
    return {(unit.relation, unit.nuclearity) for document in documents for unit in units(_tree(document))}


def annotate_as_configured(documents: list[Document], config: DataConfig) -> list[Document]:
    """Add spaCy entities, as in the paper, and spaCy dependencies unless the corpus's own are configured."""
    loaded = load_pipeline(config.pipeline)
    annotated = list(progress(annotate(documents, loaded), "annotating", len(documents)))
    if config.syntax == "spacy":
        return annotated
    for document in documents:
        if not document.tokens:
            raise TreeError(
                f"{document.id}: data.syntax=corpus needs the tokens of the corpus, but the document has none"
            )
    return [replace(old, entities=new.entities) for old, new in zip(documents, annotated, strict=True)]


def _with_sentences(documents: list[Document], config: DataConfig) -> list[Document]:
    """Add spaCy sentences to documents without any."""
    bare = [document for document in documents if not document.sentences]
    found = annotate(bare, load_pipeline(config.pipeline)) if bare else iter(())
    return [document if document.sentences else next(found) for document in documents]
