"""How well EDUs are found: by rules and by trained segmenters, with the corpus' sentences and from raw text.

    python -m experiments.segmentation.run corpora/gum --split dev --models runs/segmenter/model

An EDU is found if it starts at the right character. All starts count, those of documents and sentences too, as in the
DISRPT shared tasks. Syntax is spaCy's in either case; the text is all that raw documents keep.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from experiments.command import Rows, count, read_environment, read_seeds, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.evaluation.counts import Counts, count_matches, micro
from genrst.model.device import choose_device
from genrst.segmenter.rules import segment_by_rules
from genrst.segmenter.segment import load_segmenter
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline
from genrst.text.raw import unsegmented

Segment = Callable[[Sequence[Document]], list[Document]]


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for every segmenter and form of the documents."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--models", type=Path, nargs="*", default=[])
    parser.add_argument("--pipeline", help="a spaCy pipeline (default: the best one installed)")
    parser.add_argument("--device", default="cpu")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    device = choose_device(arguments.device)
    segmenters: dict[str, Segment] = {"rules": lambda documents: list(map(segment_by_rules, documents))}
    segmenters |= {str(model): load_segmenter(model, device).segment for model in arguments.models}
    gold = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    pipeline = load_pipeline(arguments.pipeline)
    forms = {
        "sentences": list(annotate(gold, pipeline)),
        "raw": list(annotate([unsegmented(document.id, document.text or "") for document in gold], pipeline)),
    }
    rows = Rows(read_environment(device))
    for name, segment in segmenters.items():
        for form, documents in forms.items():
            started = perf_counter()
            counts = score(gold, segment(documents))
            seconds = round(perf_counter() - started, 2)
            row = {"segmenter": name, "form": form, **counts.as_dict(), "seconds": seconds}
            rows.add(**row, seeds=[] if name == "rules" else read_seeds(Path(name)))


def score(gold: Sequence[Document], found: Sequence[Document]) -> Counts:
    """Count EDU starts by their characters."""
    pairs = zip(gold, found, strict=True)
    return micro(count_matches([edu.start for edu in one.edus], [edu.start for edu in two.edus]) for one, two in pairs)


if __name__ == "__main__":
    main()
