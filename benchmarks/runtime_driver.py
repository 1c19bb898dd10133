"""Parse documents repeatedly for `benchmarks.runtime`, with the genrst that is first on PYTHONPATH.

This script imports nothing else from this checkout, and uses only long-standing parts of genrst. The first line of the
input has the documents as JSON. Each further line is the number of a document to parse, or `together` for a stream of
all, and is answered with the elapsed and the CPU seconds.
"""

import argparse
import importlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import genrst
from genrst import Document
from genrst.document import Span


def main() -> None:
    """Load the parser, parse everything once, print the folder of genrst, and wait for numbers."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--without-bfloat16", action="store_true")
    if arguments.parse_args().without_bfloat16:
        _turn_off_bfloat16()
    _turn_off_cache()
    documents = [_document(fields) for fields in json.loads(sys.stdin.readline())]
    parser = genrst.load("en", device="cpu")
    for document in documents:
        parser.kbest(document, 1)
    print(json.dumps(str(Path(genrst.__file__).parents[1])), flush=True)
    for count, line in enumerate(sys.stdin):
        chosen = documents if line.strip() == "together" else [documents[int(line)]]
        anew = [replace(document, id=f"{document.id}-{count}") for document in chosen]
        wall, cpu = time.perf_counter(), time.process_time()
        if len(anew) > 1:
            list(parser.pipe(anew))
        else:
            parser.kbest(anew[0], 1)
        print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]), flush=True)


def _document(fields: dict[str, Any]) -> Document:
    edus, sentences, paragraphs = (
        tuple(Span(*one) for one in fields[name]) for name in ("edus", "sentences", "paragraphs")
    )
    return Document(fields["id"], fields["text"], edus, sentences=sentences, paragraphs=paragraphs)


def _turn_off_cache() -> None:
    """Disable the encoder cache; its class has had two names."""
    for module, name in (("genrst.chart.texts", "EncoderCache"), ("genrst.parser.chart_reading", "KnownStates")):
        try:
            getattr(importlib.import_module(module), name).most_pieces = 0
        except ImportError:
            continue
        return
    sys.exit("cannot find the encoder cache of this checkout")


def _turn_off_bfloat16() -> None:
    """Disable bfloat16 through a function that only older commits have."""
    search: Any = importlib.import_module("genrst.parser.search")
    if not hasattr(search, "computes_bfloat16"):
        sys.exit("this checkout has no genrst.parser.search.computes_bfloat16 to turn off")
    search.computes_bfloat16 = lambda device: False


if __name__ == "__main__":
    main()
