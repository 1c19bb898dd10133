"""How good a parser's trees are, with the corpus' EDUs and from raw text.

    python -m experiments.end_to_end.run corpora/gum --split dev --model en
    python -m experiments.end_to_end.run corpora/gum --split test --also-version 9.1 --model DIR --forms gold

Parseval, micro-averaged, coarse relations. Gold documents keep their EDUs, tokens and sentences; syntax and entities
are spaCy's in either case. Raw documents keep nothing but their text, so EDUs, sentences and paragraphs are found too.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter

from genrst.corpora.corpus import load_corpus
from genrst.corpora.document import Document
from genrst.evaluation.evaluate import evaluate
from genrst.items import Failure, Item, Text
from genrst.parser import Parser, load

FORMS = ("gold", "raw")


def main() -> None:
    """Print a line of JSON for each form of the documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--version", default="11.1", help="of GUM, whose list of documents is used")
    parser.add_argument("--also-version", help="another, whose documents are among them, to score, too")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--model", default="en")
    parser.add_argument("--beam", type=int)
    parser.add_argument("--word-weight", type=float)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    gold = list(load_corpus(arguments.corpus, split=arguments.split, version=arguments.version))
    found = load(arguments.model, device=arguments.device, beam=arguments.beam, word_weight=arguments.word_weight)
    lists = {arguments.version: {document.id for document in gold}}
    if arguments.also_version:
        other = load_corpus(arguments.corpus, split=arguments.split, version=arguments.also_version)
        lists[arguments.also_version] = {document.id for document in other}
    for form in arguments.forms:
        items: list[Item] = [*gold] if form == "gold" else [Text(one.id, one.text or "") for one in gold]
        started = perf_counter()
        parsed = list(parse_all(found, items))
        seconds = round(perf_counter() - started, 1)
        for version, ids in lists.items():
            pair = ([one for one in documents if one.id in ids] for documents in (gold, parsed))
            row = {"model": arguments.model, "form": form, "version": version, **score(*pair), "seconds": seconds}
            print(json.dumps(row), flush=True)


def parse_all(parser: Parser, items: Iterable[Item]) -> Iterator[Document]:
    """All trees; here a document that cannot be parsed is an error."""
    for outcome in parser.pipe(items):
        if isinstance(outcome, Failure):
            raise outcome.error
        yield outcome


def score(gold: list[Document], parsed: list[Document]) -> dict[str, float]:
    """Segmentation (EDU starts, but for the first of a document) and S, N, R, F, in percent."""
    evaluation = evaluate(gold, parsed)
    scores = evaluation.micro("parseval")
    return {
        "Seg": round(100 * evaluation.segmentation().f1, 2),
        **{aspect: round(100 * scores[aspect].f1, 2) for aspect in ("S", "N", "R", "F")},
    }


if __name__ == "__main__":
    main()
