"""Give silver documents the EDUs that a segmenter sees, as probabilities: a teacher that knows syntax.

    python -m experiments.silver_trees.segment GUM AMALGUM --segmenter genrst/models/en-generative/segmenter \\
        --prepared FILE.npz --output FILE-WITH-EDUS.npz

Charts find EDUs by their encoder, the segmenter by spaCy's syntax. They make different mistakes, so together they find
more than either: `soften` mixes what charts see into what is written here. It is done once, where the corpora and spaCy
are, for dev and all silver documents of the features. Prints how well EDUs of dev are found.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.command import Rows, read_environment, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import UsageError
from genrst.io import progress
from genrst.model.device import choose_device
from genrst.model.encoder.files import PieceTokenizer
from genrst.model.examples import Example
from genrst.segmenter.data import UNUSED_PIPES
from genrst.segmenter.features import read_tokens
from genrst.segmenter.network import WindowedText
from genrst.segmenter.segment import Segmenter, boundary_probabilities, load_segmenter
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline
from genrst.training.chart_lessons import segment_f1, segment_starts
from genrst.training.prepared import load_prepared, save_prepared


def main(words: Sequence[str] | None = None) -> None:
    """Read, segment, write."""
    parser = start_parser(__doc__)
    parser.add_argument("data", metavar="GUM", type=Path)
    parser.add_argument("silver", metavar="AMALGUM", type=Path)
    parser.add_argument("--segmenter", metavar="MODEL", type=Path, required=True, help="the folder of a segmenter")
    parser.add_argument("--prepared", metavar="FILE", type=Path, required=True, help="features of charts")
    parser.add_argument("--output", metavar="FILE", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    device = choose_device(arguments.device)
    prepared = load_prepared(arguments.prepared)
    if prepared.tokenizer is None:
        raise UsageError(f"{arguments.prepared}: the features must be those of a chart, was: without word pieces")
    examples = {one.id: one for one in (*prepared.dev, *prepared.silver)}
    corpora = chain(load_corpus(arguments.data, split="dev"), load_corpus(arguments.silver))
    documents = (document for document in corpora if document.id in examples)
    segmenter, tokenizer = load_segmenter(arguments.segmenter, device), PieceTokenizer(prepared.tokenizer)
    for document, p in progress(see_edus(segmenter, documents), "silver documents", len(examples)):
        examples[document.id] = with_starts(examples[document.id], document, p, tokenizer)
    dev, silver = ([examples[one.id] for one in part] for part in (prepared.dev, prepared.silver))
    if missing := [one.id for one in (*dev, *silver) if one.starts is None]:
        raise UsageError(f"{missing[0]}: the document must be in one of the corpora, was: in none")
    rows = Rows(read_environment(device), {"segmenter": str(arguments.segmenter)})
    rows.add(documents="dev", Seg=round(segment_f1([one.starts for one in dev if one.starts is not None], dev), 2))
    save_prepared(replace(prepared, dev=dev, silver=silver), arguments.output)


def see_edus(segmenter: Segmenter, documents: Iterable[Document]) -> Iterator[tuple[Document, NDArray[np.float32]]]:
    """Annotated documents, and the probability that an EDU starts with each token. Shape: (tokens) of each"""
    language = load_pipeline()
    device = next(segmenter.network.parameters()).device
    with language.select_pipes(disable=[name for name in UNUSED_PIPES if name in language.pipe_names]):
        for document in annotate(documents, language):
            text = WindowedText([read_tokens(document, segmenter.symbols)], segmenter.network.config.window, device)
            yield document, boundary_probabilities(segmenter.network, text)


def with_starts(example: Example, document: Document, p: NDArray[np.float32], tokenizer: PieceTokenizer) -> Example:
    """A document with the EDUs of tokens at their first pieces; its sentences are its own.

    Shape: p (tokens)
    """
    read = [tokenizer.read(text) for text in document.edu_texts]
    places = [edu.start + piece.start for edu, pieces in zip(document.edus, read, strict=True) for piece in pieces]
    if len(places) != len(example.pieces):
        raise UsageError(f"{example.id}: the features must be those of this corpus, was: of others")
    starts = segment_starts(example).astype(np.float32)
    starts[:, 0] = 0
    first = np.searchsorted(places, [token.start for token in document.tokens])
    is_piece = first < len(places)
    np.maximum.at(starts[:, 0], first[is_piece], p[is_piece])
    return replace(example, starts=starts)


if __name__ == "__main__":
    main()
