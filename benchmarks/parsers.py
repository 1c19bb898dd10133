"""Measure EDUs per second for different models and searches, one document at a time.

    python -m benchmarks.parsers corpora/gum --documents 8 --models en en-generative runs/mpnet/model

Dev documents keep their EDUs and are annotated beforehand. The time covers everything after that: word pieces, encoder,
features, search. Prints one line of JSON per model and search, with the better of two runs.
"""

import argparse
import json
import time
from pathlib import Path
from typing import get_args

import torch

from benchmarks import read_anew
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.parser import Search
from genrst.parser.folders import find_model, read_kind
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.text.annotate import annotate, load_pipeline


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--models", nargs="+", default=["en", "en-generative"])
    parser.add_argument(
        "--searches",
        nargs="+",
        choices=get_args(Search),
        help="searches to measure (default: bag and greedy; mbr for a chart)",
    )
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    documents = list(load_corpus(arguments.corpus, split="dev"))[: arguments.documents]
    annotated = list(annotate(documents, load_pipeline(None)))
    for model in arguments.models:
        usual: list[Search] = ["mbr"] if read_kind(find_model(model)) == "chart" else ["bag", "greedy"]
        for search in arguments.searches or usual:
            found = load(model, device=arguments.device, search=search)
            print(json.dumps({"model": model, "search": search, **measure(found, annotated)}), flush=True)


def measure(parser: Parser, documents: list[Document]) -> dict[str, object]:
    """Measure EDUs per second."""
    read_anew()
    n_edus = sum(len(document.edus) for document in documents)
    parser.finder.find(documents[:1])  # warms up
    seconds = min(seconds_of(parser, documents) for _ in range(2))
    threads = torch.get_num_threads()
    return {"edus": n_edus, "seconds": seconds, "edus_per_second": n_edus / seconds, "threads": threads}


def seconds_of(parser: Parser, documents: list[Document]) -> float:
    """Return the time that the documents take, one at a time."""
    started = time.perf_counter()
    for document in documents:
        parser.finder.find([document])
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
