"""How often syntax tells a generative parser something about words that are still to come.

    python -m experiments.lookahead.run corpora/gum --split dev [--documents 8]

The features of a state come from dependencies that spaCy found in whole sentences, also where a state stands in the
middle of one. Here every state of the gold derivations gets its features twice: from the whole text, and from the text
up to the last EDU generated, annotated anew. Prints a line of JSON with the share of states in which they differ.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, Span
from genrst.model.examples import mask_entities
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline
from genrst.transitions.features import NOTHING, Syntax
from genrst.trees.binarise import binarise
from genrst.trees.node import Leaf, Tree, postorder


class Seen(NamedTuple):
    """The features of a state, as words; two are equal if a model cannot tell them apart."""

    heads: list[str]
    dominance: tuple[str, str, str]
    layout: tuple[int, int]


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--pipeline", help="of spaCy; the best one installed if not given")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    documents = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    pipeline = load_pipeline(arguments.pipeline)
    counts = Counter[str]()
    for document, whole in zip(documents, annotate(documents, pipeline), strict=True):
        cut = annotate((prefix(document, stop) for stop in range(1, len(document.edus))), pipeline)
        counts += compare(binarise(document.tree or Leaf(0)), [*map(Reading, cut), Reading(whole)])
    rows = Rows(read_environment(torch.device("cpu")), {"pipeline": pipeline.meta["name"], "split": arguments.split})
    n = counts["states"]
    shares = {name: round(100 * counts[name] / n, 1) for name in ("change", "inside", "heads", "dominance")}
    rows.add(documents=len(documents), states=n, **shares)


def prefix(document: Document, n_edus: int) -> Document:
    """The document as if it ended with this EDU."""
    end = document.edus[n_edus - 1].end
    text = (document.text or "")[:end]
    tokens = [token for token in document.tokens if token.end <= end]
    return Document(
        document.id,
        text,
        document.edus[:n_edus],
        # Heads are found anew.
        tokens=tuple(replace(token, head=number) for number, token in enumerate(tokens)),
        sentences=_cut(document.sentences, end),
        paragraphs=_cut(document.paragraphs, end),
    )


def _cut(spans: Sequence[Span], end: int) -> tuple[Span, ...]:
    return tuple(replace(span, end=min(span.end, end)) for span in spans if span.start < end)


class Reading:
    """A document as a model sees it: its syntax, and the words that features are about."""

    def __init__(self, document: Document) -> None:
        masked = mask_entities(document)
        self.words = masked.tokens
        self.sentences = document.sentence_of_edus()
        self._deprels = [token.deprel for token in document.tokens]
        heads, numbers = [token.head for token in document.tokens], range(len(document.tokens))
        self._syntax = Syntax(heads, numbers, masked.edu_tokens, self.sentences, document.paragraph_of_edus())

    def features(self, starts: tuple[int, ...], stop: int) -> Seen:
        """What a state shows."""
        if len(starts) == 2:
            found = self._syntax.features(starts[0], starts[1], stop)
        else:
            found = self._syntax.features_of_one(starts[0], stop)
        word, head, _ = found.dominance
        relation = "" if word == NOTHING else self._deprels[word]
        return Seen(
            [self._word(token) for token in (*found.left_heads, *found.right_heads)],
            (self._word(word), self._word(head), relation),
            (found.sentence, found.paragraph),
        )

    def _word(self, token: int) -> str:
        return "" if token == NOTHING else self.words[token]


def states(tree: Tree) -> Iterator[tuple[tuple[int, ...], int]]:
    """After each action of the gold derivation: where the top two units start, if there are two, and what is read."""
    starts: list[int] = []
    for node in postorder(tree):
        if isinstance(node, Leaf):
            starts.append(node.start)
        else:
            starts.pop()
        yield tuple(starts[-2:]), node.stop


def compare(tree: Tree, prefixes: Sequence[Reading]) -> Counter[str]:
    """States, those whose features change with what follows, and those that stand inside a sentence."""
    whole = prefixes[-1]
    counts = Counter[str]()
    for starts, stop in states(tree):
        seen, honest = whole.features(starts, stop), prefixes[stop - 1].features(starts, stop)
        counts["states"] += 1
        counts["change"] += seen != honest
        counts["heads"] += seen.heads != honest.heads
        counts["dominance"] += seen.dominance != honest.dominance
        counts["inside"] += stop < len(whole.sentences) and whole.sentences[stop - 1] == whole.sentences[stop]
    return counts


if __name__ == "__main__":
    main()
