"""Split texts into elementary discourse units: one a line, with a blank line between paragraphs.

  genrst segment article.txt
  genrst segment texts/ --output edus/
  genrst segment article.txt --format json
  echo "It rained, so we stayed in." | genrst segment -

Of files that have EDUs already (.dis, .rs3, .rs4, .json, .jsonl, .edus) only the text is read. `--format tok` is the
tokenised format of the DISRPT shared tasks.
"""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from genrst.cli.outputs import Format, Result, format_of
from genrst.cli.text_run import TextRun, add_run_arguments, attempt
from genrst.errors import TreeError

if TYPE_CHECKING:
    from genrst.cli.inputs import Named
    from genrst.cli.text_run import Outcomes
    from genrst.document import Document
    from genrst.parser.parser import Parser

HELP = "split a text into EDUs"

FORMATS = {".edus": "edus", ".txt": "edus", ".json": "json", ".tok": "tok"}
"""The names of formats by the suffixes of files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst segment`."""
    add_run_arguments(parser, ("edus", "json", "tok"), "edus")


def run(arguments: argparse.Namespace) -> int:
    """Segment all texts; 1 if one of them could not be."""
    name = arguments.format or format_of(arguments.output, FORMATS, "edus")
    job = TextRun.of(arguments, _make_format(name))
    from genrst.parser.parser import load

    parser = load(arguments.model, device=arguments.device, pipeline=arguments.pipeline)
    return job.deliver(_segment(parser, job))


def _make_format(name: str) -> Format:
    from genrst.formats.json_format import write_json
    from genrst.formats.plain import write_edus

    if name == "json":
        return Format(".json", write_json, "list")
    if name == "tok":
        return Format(".tok", write_tok, "lines")
    return Format(".edus", write_edus, "on screen")


def write_tok(document: "Document") -> str:
    """A token a line, in the ten columns of CoNLL-U; the last one says whether an EDU starts with it."""
    text = document.text or ""
    starts = {edu.start for edu in document.edus}
    lines = [f"# newdoc id = {' '.join(document.id.split())}"]
    for number, token in enumerate(document.tokens, start=1):
        form = text[token.start : token.end]
        label = "Seg=B-seg" if token.start in starts else "Seg=O"
        lines.append("\t".join([str(number), form, *["_"] * 7, label]))
    return "\n".join(lines) + "\n\n"


def _segment(parser: "Parser", job: TextRun) -> "Outcomes":
    for source, item in job.read("segmenting"):
        yield source, attempt(partial(_results, parser, item))


def _results(parser: "Parser", item: "Named") -> list[Result]:
    from genrst.rendering.measure import inert

    if item.text is None:
        raise TreeError(f"{item.id}: a document must have its text to be segmented")
    return [Result(inert(item.id), parser.segment(item.text, id=item.id))]
