"""Split texts into elementary discourse units, one per line, with a blank line between paragraphs.

  genrst segment article.txt
  genrst segment texts/ --output edus/
  genrst segment article.txt --format json
  echo "It rained, so we stayed in." | genrst segment -

Files that already have EDUs (.dis, .rs3, .rs4, .json, .jsonl, .edus) are read as text only. --format tok writes the
tokenised format of the DISRPT shared tasks. The tokens are spaCy's if the model uses spaCy, and otherwise words and
punctuation marks, with clitics split off (do n't).
"""

import argparse
import re
from collections.abc import Iterator
from itertools import pairwise

from genrst.cli.console import Failures
from genrst.cli.inputs import add_text_arguments, find_texts, read_sources
from genrst.cli.models import load_parser
from genrst.cli.outputs import Format, Result, add_output_arguments, choose_format, is_drawing, make_guard, open_outputs
from genrst.document import Document
from genrst.errors import TreeError
from genrst.formats.files import format_documents

NAMES = {".edus": "edus", ".txt": "edus", ".json": "json", ".tok": "tok"}
"""The names of formats, by file suffix."""


_TOKEN = re.compile(r"""\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|ll|re|ve)\b|\w+(?:[.,-]\w+)*|[^\w\s]""", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst segment`."""
    add_text_arguments(parser)
    add_output_arguments(parser, ("edus", "json", "tok"), "edus", "a file, or a folder with a file for each input")


def run(arguments: argparse.Namespace) -> int:
    """Segment all texts; return 1 if any could not be segmented."""
    format = FORMATS[choose_format(arguments, NAMES, "edus")]
    failures = Failures()
    sources = find_texts(arguments.inputs)
    outputs = open_outputs(arguments.output, format, make_guard("segment", arguments, sources), sources, failures)
    parser = load_parser(arguments)
    for source, items in read_sources(sources, "segmenting", failures, not is_drawing(arguments.output)):
        results = []
        for item in items:
            with failures.reported(source.path):
                if item.text is None:
                    raise TreeError(f"{item.id}: the document has no text to segment")
                results.append(Result(parser.segment(item.text, id=item.id), item.id))
        if results:
            with failures.reported():
                outputs.add(source, results)
    outputs.finish()
    return failures.status


def write_tok(document: Document) -> str:
    """Write one token per line in the ten columns of CoNLL-U; the last column marks tokens that start an EDU."""
    text = document.text or ""
    starts = {edu.start for edu in document.edus}
    lines = [f"# newdoc id = {' '.join(document.id.split())}"]
    known = [(token.start, token.end) for token in document.tokens]
    for number, (start, end) in enumerate(known or _find_tokens(document), start=1):
        form = text[start:end]
        label = "Seg=B-seg" if start in starts else "Seg=O"
        lines.append("\t".join([str(number), form, *["_"] * 7, label]))
    return "\n".join(lines) + "\n\n"


def _find_tokens(document: Document) -> Iterator[tuple[int, int]]:
    """Tokenise into words, clitics and punctuation marks; no token crosses an EDU boundary."""
    text = document.text or ""
    borders = {0, len(text), *(border for edu in document.edus for border in (edu.start, edu.end))}
    for start, end in pairwise(sorted(borders)):
        yield from (match.span() for match in _TOKEN.finditer(text, start, end))


FORMATS = {
    "edus": Format(".edus", lambda document: format_documents([document], ".edus"), "on screen"),
    "json": Format(".json", lambda document: format_documents([document], ".json"), "list"),
    "tok": Format(".tok", write_tok, "lines"),
}
