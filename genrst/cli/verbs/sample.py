"""Sample trees of a text from the model's distribution.

  genrst sample article.txt --number 100 --seed 1
  genrst sample article.json --number 20 --constraint '{"edus": [1, 4]}' --output samples.jsonl

Each line of the output is the document with one sampled tree. Samples from a chart parser are exact. So are samples
from a discriminative model without generated layout, if there are no constraints. All other samples are drawn by a
particle filter from p(tree | words), with words at full weight; more particles give better samples. The effective
sample size is printed for each text and stored in the metadata of each sample.
"""

import argparse
from typing import TYPE_CHECKING

from genrst.cli.console import Failures
from genrst.cli.inputs import (
    TextOrDocument,
    add_constraint_arguments,
    add_text_arguments,
    constrained,
    find_texts,
    read_constraints,
    read_sources,
)
from genrst.cli.models import load_parser
from genrst.cli.outputs import Format, Result, add_output_arguments, choose_format, is_drawing, make_guard, open_outputs
from genrst.document import EFFECTIVE_SIZE, Document
from genrst.formats.files import format_documents
from genrst.io import tell
from genrst.parser import PARTICLES

if TYPE_CHECKING:
    from genrst.parser.parser import Parser

NAMES = {".json": "json", ".jsonl": "jsonl"}
"""The names of formats, by file suffix."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst sample`."""
    add_text_arguments(parser)
    add_output_arguments(parser, ("json", "jsonl"), "jsonl", "a file, or a folder with a file for each input")
    parser.add_argument(
        "--edus", action="store_true", help="read each line of raw text as an EDU and blank lines as paragraph ends"
    )
    parser.add_argument("--number", type=int, default=10, metavar="N", help="number of trees per text (default: 10)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")
    parser.add_argument(
        "--particles",
        type=int,
        default=PARTICLES,
        metavar="P",
        help=f"number of particles, if a particle filter is used (default: {PARTICLES})",
    )
    add_constraint_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sample trees of all texts; return 1 if any text failed."""
    from genrst.parser.parser import check_sampling

    format = FORMATS[choose_format(arguments, NAMES, "jsonl")]
    failures = Failures()
    sources = find_texts(arguments.inputs, arguments.edus)
    constraints = read_constraints(arguments, sources)
    outputs = open_outputs(arguments.output, format, make_guard("sample", arguments, sources), sources, failures)
    check_sampling(arguments.number, arguments.seed, arguments.particles)
    parser = load_parser(arguments)
    for source, items in read_sources(sources, "sampling", failures, not is_drawing(arguments.output)):
        results = []
        for item in items:
            with failures.reported(source.path):
                drawn = _sample(parser, constrained(item, constraints), arguments)
                results += [Result(document, document.id) for document in drawn]
        if results:
            with failures.reported():
                outputs.add(source, results)
    outputs.finish()
    return failures.status


def _sample(parser: "Parser", item: TextOrDocument, arguments: argparse.Namespace) -> list[Document]:
    drawn = parser.sample(item, arguments.number, seed=arguments.seed, particles=arguments.particles)
    if size := drawn[0].metadata.get(EFFECTIVE_SIZE):
        n_particles = max(arguments.number, arguments.particles)
        tell(f"{item.id}: {n_particles} particles have an effective sample size of {size}")
    return drawn


FORMATS = {
    "json": Format(".json", lambda document: format_documents([document], ".json"), "list", is_plural=True),
    "jsonl": Format(".jsonl", lambda document: format_documents([document], ".jsonl"), "lines", is_plural=True),
}
