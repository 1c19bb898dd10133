"""How many samples are a chart's worth, when the likelihood of a text is estimated from them? By its length.

    python -m experiments.likelihood.effective_samples GUM --model en-generative --proposal CHART

The beginnings of documents, of 5 to 40 EDUs and whole, at some temperatures of the chart. Prints lines of JSON: the
median over documents of the effective sample size, of the standard error of log p(words), and of log p(words) per EDU,
which is too low where samples are worth little.
"""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import ParserWarning
from genrst.io import progress
from genrst.model.device import choose_device
from genrst.parser.likelihood import TextScore, score_text
from genrst.parser.parser import load


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each length and temperature."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", default="en-generative")
    parser.add_argument("--proposal", required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--edus", type=count, nargs="+", default=[5, 10, 20, 40])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[1.0, 1.5, 2.0])
    parser.add_argument("--samples", type=count, default=500)
    parser.add_argument("--device", default="auto")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    documents = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    parser, chart = (load(name, device=arguments.device) for name in (arguments.model, arguments.proposal))
    rows = Rows(read_environment(choose_device(arguments.device)), {"samples": arguments.samples})
    for n_edus in arguments.edus:
        for temperature in arguments.temperatures:
            proposal = replace(chart, config=replace(chart.config, temperature=temperature))
            found: list[TextScore] = []
            for document in progress(documents, f"{n_edus} EDUs", len(documents)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ParserWarning)
                    found.append(score_text(parser, proposal, beginning(document, n_edus), arguments.samples))
            rows.add(
                edus=n_edus,
                temperature=temperature,
                documents=len(found),
                effective_samples=round(median(one.effective_size for one in found), 1),
                standard_error=round(median(one.standard_error for one in found), 3),
                log_p_per_edu=round(median(one.log_probability / one.trees[0].stop for one in found), 3),
            )


def beginning(document: Document, n_edus: int) -> Document:
    """The first EDUs of a document, to be annotated anew."""
    paragraphs = document.paragraph_of_edus()[:n_edus]
    starts = [edu for edu in range(1, len(paragraphs)) if paragraphs[edu] != paragraphs[edu - 1]]
    return Document.from_edus(document.id, document.edu_texts[:n_edus], paragraph_starts=starts)


if __name__ == "__main__":
    main()
