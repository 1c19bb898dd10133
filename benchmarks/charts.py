"""Measure the speed and memory of a chart parser, and the cost of probabilities.

    python -m benchmarks.charts corpora/gum --model DIR --edus 50 200 800 3000 20000

Dev documents are joined until there are enough EDUs. EDUs, sentences and paragraphs are gold. The time covers
everything from EDUs to trees: word pieces, encoder, chart. Each size runs in its own process, so that its peak memory
can be measured. The process alternates between the minimum Bayes risk tree, which needs the probabilities of all units,
and the most probable tree, which does not (skipped with --only-risk). Prints one line of JSON per size, with the best
of several rounds. Memory is measured for the minimum Bayes risk tree, including GPU memory on a GPU.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path

from benchmarks import read_anew
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, Span


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--edus", type=int, nargs="+", default=[50, 200, 800, 3000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-risk", action="store_true")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    documents = list(load_corpus(arguments.corpus, split="dev"))
    context = get_context("spawn")
    for n_edus in arguments.edus:
        document = first_edus(documents, n_edus)
        with context.Pool(1) as pool:
            row = pool.apply(
                measure, (arguments.model, arguments.device, document, arguments.rounds, arguments.only_risk)
            )
        print(json.dumps(row), flush=True)


def first_edus(documents: Iterable[Document], n_edus: int) -> Document:
    """Join documents into one with exactly `n_edus` EDUs; they are repeated if there are too few."""
    texts: list[str] = []
    edus: list[Span] = []
    sentences: list[Span] = []
    paragraphs: list[Span] = []
    offset = 0
    for document in cycle(documents):
        texts.append(document.text or "")
        for kept, spans in ((edus, document.edus), (sentences, document.sentences), (paragraphs, document.paragraphs)):
            kept += [replace(span, start=span.start + offset, end=span.end + offset) for span in spans]
        offset += len(texts[-1]) + 2
        if len(edus) >= n_edus:
            break
    edus = edus[:n_edus]
    end = edus[-1].end
    sentences, paragraphs = ([span for span in spans if span.start < end] for spans in (sentences, paragraphs))
    return Document("joined", "\n\n".join(texts), tuple(edus), sentences=tuple(sentences), paragraphs=tuple(paragraphs))


def measure(model: str, device: str, document: Document, n_rounds: int, only_risk: bool) -> dict[str, object]:
    """Measure a document and return its row."""
    from genrst.chart.finder import ChartFinder
    from genrst.encoder.onnx import n_threads
    from genrst.parser.loading import load

    read_anew()
    finder = load(model, device=device, search="mbr").finder
    assert isinstance(finder, ChartFinder)
    other = ChartFinder(finder.scorers, replace(finder.settings, search="best"))
    loaded = peak_mebibytes()
    risks, bests = [seconds_of(partial(finder.find, [document]))], []
    peak = peak_mebibytes()
    gpu = {"gpu_mebibytes": gpu_mebibytes()} if finder.device == "cuda" else {}
    for number in range(n_rounds):
        risks += [seconds_of(partial(finder.find, [document]))] if number else []
        bests += [] if only_risk else [seconds_of(partial(other.find, [document]))]
    risk = min(risks)
    return {
        "edus": len(document.edus),
        "seconds": round(risk, 3),
        "edus_per_second": round(len(document.edus) / risk, 1),
        "cost_of_probabilities": None if only_risk else round(risk / min(bests) - 1, 3),
        "loaded_mebibytes": loaded,
        "peak_mebibytes": peak,
        "threads": n_threads(),
        "device": finder.device,
        **gpu,
    }


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_mebibytes() -> int:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1 << 20 if sys.platform == "darwin" else 1 << 10)


def gpu_mebibytes() -> int:
    """Return the peak GPU memory of this process."""
    import torch

    return torch.cuda.max_memory_allocated() >> 20


if __name__ == "__main__":
    main()
