"""The paper's Table 3 on development documents: word-level and bag-level search with beams of 10, 20, 40 and 80.

    python -m experiments.paper_tables.search --model runs/paper/model --prepared cache/FILE.npz --output table3.json

Also counts search errors: how often the gold tree, or the tree of another search, is likelier than the one returned.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch

from genrst.corpora.files import write_atomically
from genrst.model.batch import make_batch
from genrst.model.device import choose_device
from genrst.model.example import Example, follow_gold
from genrst.model.scorer import NetworkScorer
from genrst.model.store import Model, load_model
from genrst.search.beam import BeamOptions, search_beams
from genrst.search.parse import Parse
from genrst.search.word import WordOptions, search_words
from genrst.training.dev import evaluate_parses, parseval_f1
from genrst.training.prepared import load_prepared

Search = Callable[[NetworkScorer], list[Parse]]


def bag(beam: int, weight: float) -> Search:
    """Bag-level search; the best tree of each document."""
    options = BeamOptions(beam, word_weight=weight)
    return lambda scorer: [found.parses[0] for found in search_beams(scorer, options)]


def word(beam: int, weight: float) -> Search:
    """Word-level search with k_w = k and k_s = k/10."""
    options = WordOptions(beam, word_weight=weight)
    return lambda scorer: [found.parses[0] for found in search_words(scorer, options)]


KINDS = {"word": word, "bag": bag}


def main() -> None:
    """Run every search on every document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--beams", type=int, nargs="+", default=[10, 20, 40, 80])
    parser.add_argument("--searches", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--word-weights", type=float, nargs="+", default=[1.0], help="of words against structure")
    parser.add_argument("--documents-at-once", type=int, default=30)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    model = load_model(arguments.model, choose_device(arguments.device))
    examples = load_prepared(arguments.prepared).dev
    settings = product(arguments.beams, arguments.searches, arguments.word_weights)
    searches = {f"{kind} {k} weight {weight}": KINDS[kind](k, weight) for k, kind, weight in settings}
    parses: dict[str, list[Parse]] = {}
    rows: list[dict[str, Any]] = []
    for name, search in searches.items():
        parses[name], seconds = run(search, model, examples, arguments.documents_at_once)
        scores = parseval_f1(evaluate_parses(examples, [parse.actions for parse in parses[name]], model.symbols))
        n_edus = sum(example.n_edus for example in examples)
        rows.append({"search": name, **scores, "seconds": seconds, "edus_per_second": n_edus / seconds})
        print(json.dumps(rows[-1]), flush=True)
    count_errors(rows, parses, gold_logp(model, examples))
    write_atomically(arguments.output, json.dumps(rows, indent=1))


def run(search: Search, model: Model, examples: Sequence[Example], at_once: int) -> tuple[list[Parse], float]:
    """The best tree of every document, and the seconds it took."""
    started = time.perf_counter()
    parses: list[Parse] = []
    for first in range(0, len(examples), at_once):
        part = examples[first : first + at_once]
        parses += search(NetworkScorer(model.network, part, model.symbols.nucleus_is_right))
    return parses, time.perf_counter() - started


def gold_logp(model: Model, examples: Sequence[Example]) -> list[float]:
    """log p of the gold trees and their words."""
    device = model.network.embeddings.weight.device
    values = []
    with torch.inference_mode():
        for example in examples:
            batch = make_batch([example], [follow_gold(example, model.symbols.nucleus_is_right)]).to(device)
            found = model.network(batch)
            values.append(float(found.actions.sum() + found.words.sum()))
    return values


def count_errors(rows: list[dict[str, Any]], parses: dict[str, list[Parse]], gold: Sequence[float]) -> None:
    """Add to each row in how many documents something likelier than its tree is known."""
    best = [max(parse.logp for parse in found) for found in zip(*parses.values(), strict=True)]
    for row in rows:
        mine = [parse.logp for parse in parses[row["search"]]]
        row["mean_logp"] = sum(mine) / len(mine)
        row["gold_is_likelier"] = sum(g > m + 1e-3 for g, m in zip(gold, mine, strict=True))
        row["another_is_likelier"] = sum(b > m + 1e-3 for b, m in zip(best, mine, strict=True))
        row["documents"] = len(mine)


if __name__ == "__main__":
    main()
