"""How good a parser's trees are, with the corpus' EDUs and from raw text.

    python -m experiments.end_to_end.run corpora/gum --split dev --model en
    python -m experiments.end_to_end.run corpora/gum --split test --also-version 9.1 --model DIR --forms gold

Parseval, micro-averaged, coarse relations. Gold documents keep their EDUs, tokens and sentences; syntax and entities
are spaCy's in either case. Raw documents keep nothing but their text, so EDUs, sentences and paragraphs are found too.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import perf_counter

from experiments.command import Rows, count, read_environment, read_seeds, run_command, scores_of, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.evaluation.report import evaluate
from genrst.model.device import choose_device
from genrst.parser.packages import find_model
from genrst.parser.parser import Parser, load
from genrst.parser.stages import Failure, Item, Text

FORMS = ("gold", "raw")


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each form of the documents."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--version", default="11.1", help="of GUM, whose list of documents is used")
    parser.add_argument("--also-version", help="another, whose documents are among them, to score, too")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--model", default="en")
    parser.add_argument("--beam", type=int)
    parser.add_argument("--word-weight", type=float)
    parser.add_argument("--device", default="auto")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    gold = list(load_corpus(arguments.corpus, split=arguments.split, version=arguments.version))[: arguments.documents]
    found = load(arguments.model, device=arguments.device, beam=arguments.beam, word_weight=arguments.word_weight)
    lists = {arguments.version: {document.id for document in gold}}
    if arguments.also_version:
        other = load_corpus(arguments.corpus, split=arguments.split, version=arguments.also_version)
        lists[arguments.also_version] = {document.id for document in other}
    settings = {"model": arguments.model, "beam": found.config.beam, "word_weight": found.config.word_weight}
    seeds = read_seeds(find_model(arguments.model))
    rows = Rows(read_environment(choose_device(arguments.device)), settings | {"seeds": seeds})
    for form in arguments.forms:
        items: list[Item] = [*gold] if form == "gold" else [Text(one.id, one.text or "") for one in gold]
        started = perf_counter()
        parsed = list(parse_all(found, items))
        seconds = round(perf_counter() - started, 1)
        for version, ids in lists.items():
            pair = ([one for one in documents if one.id in ids] for documents in (gold, parsed))
            rows.add(form=form, split=arguments.split, version=version, **score(*pair), seconds=seconds)


def parse_all(parser: Parser, items: Iterable[Item]) -> Iterator[Document]:
    """All trees; here a document that cannot be parsed is an error."""
    for outcome in parser.pipe(items):
        if isinstance(outcome, Failure):
            raise outcome.error
        yield outcome


def score(gold: list[Document], parsed: list[Document]) -> dict[str, float]:
    """Segmentation (EDU starts, but for the first of a document) and S, N, R, F, in percent."""
    evaluation = evaluate(gold, parsed)
    n = {"documents": len(gold)}
    return n | {"Seg": round(100 * evaluation.segmentation().f1, 2), **scores_of(evaluation)}


if __name__ == "__main__":
    main()
