"""Does a chart label texts as a linguist would, where the marker leaves no doubt?

    python -m experiments.charts.checklist CHECKLIST.jsonl --model en

A line of the file is a text of two EDUs: `edus`, the name of its `phenomenon`, and the `labels` and `fine` labels that
are accepted, as RELATION/NUCLEARITY. Prints the texts that got another label, then a line of JSON with the counts.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from experiments.command import Rows, read_environment, run_command, start_parser
from genrst.cli.console import show
from genrst.document import require_tree
from genrst.encoder.device import choose_device
from genrst.errors import CorpusFormatError
from genrst.io import read_bytes
from genrst.parser import Relations
from genrst.parser.loading import load
from genrst.trees.node import Unit

KEYS = {"coarse": "labels", "fine": "fine"}


def main(words: Sequence[str] | None = None) -> None:
    """Print what was labelled otherwise, and how many texts were right."""
    parser = start_parser(__doc__)
    parser.add_argument("checklist", type=Path)
    parser.add_argument("--model", default="en")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    cases = read_cases(arguments.checklist)
    rows = Rows(read_environment(choose_device("cpu")), {"model": str(arguments.model)})
    right = {}
    for relations in get_args(Relations):
        parser = load(arguments.model, relations=relations)
        found = [require_tree(parser(case["edus"])) for case in cases]
        labels = [f"{tree.relation}/{tree.nuclearity}" if isinstance(tree, Unit) else "one EDU" for tree in found]
        wrong = [pair for pair in zip(cases, labels, strict=True) if pair[1] not in pair[0][KEYS[relations]]]
        for case, label in wrong:
            show(f"{relations}: {label} instead of {' or '.join(case[KEYS[relations]])}: {' | '.join(case['edus'])}")
        right[relations] = len(cases) - len(wrong)
    rows.add(texts=len(cases), **right)


def read_cases(path: Path) -> list[dict[str, Any]]:
    """Read a checklist; each line must have the texts and the labels."""
    cases = []
    for number, line in enumerate(read_bytes(path).splitlines(), start=1):
        try:
            case = json.loads(line)
            is_complete = all(isinstance(case[key], list) for key in ("edus", *KEYS.values()))
        except (KeyError, TypeError, ValueError):
            is_complete = False
        if not is_complete:
            raise CorpusFormatError("a line must be JSON with the lists edus, labels and fine", path, number)
        cases.append(case)
    return cases


if __name__ == "__main__":
    main()
