"""Measure the speed of search, also relative to the peak speed of the machine.

    python -m benchmarks.search --prepared FILE --model DIR [--edus 50 100 200] [--beams 1 10] [--literal 30]

Prints one line of JSON per search of a document of m EDUs with a beam of k. Documents of a corpus are joined to that
length; without a corpus, words and weights are random, at the paper's sizes. `share` is the time that the arithmetic
needs at the machine's measured matrix rate, divided by the time taken. `--literal M` also runs the pseudo-code, one
state at a time, with the same scorer on a document of M EDUs. `--batch` also parses all dev documents at once.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.train import machine, peak_memory, random_example, random_prepared, synchronise
from genrst.encoder.model import Model
from genrst.encoder.tokenizer import IntArray
from genrst.rnng.config import RnngConfig
from genrst.rnng.examples import Example
from genrst.rnng.finder import RnngModel, load_rnng, make_network
from genrst.rnng.scoring.features import join_syntax
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.scorer import sync_is_free
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.transitions.actions import States
from genrst.rnng.transitions.features import Syntax
from genrst.training.prepared import load_prepared
from tests.rnng.search.literal import search_bags_literally

SEARCHES: dict[str, Callable[[NetworkScorer, int], object]] = {
    "bag": lambda scorer, beam: search_beams(scorer, BeamOptions(beam)),
    "word": lambda scorer, beam: search_words(scorer, WordOptions(beam)),
    "action": lambda scorer, beam: search_beams(scorer, BeamOptions(beam, level="action")),
}


class CountingScorer(NetworkScorer):
    """A scorer that counts its operations."""

    def __init__(self, model: RnngModel, examples: Sequence[Example]) -> None:
        self.counts: Counter[str] = Counter()
        super().__init__(model.network, examples, model.symbols.nucleus_is_right)

    def compose(self, left: Sequence[Tensor], right: Sequence[Tensor], labels: Tensor) -> Sequence[Tensor]:
        """Count and compose."""
        self.counts["units"] += len(labels)
        return super().compose(left, right, labels)

    def push(self, stacks: Sequence[Tensor], units: Sequence[Tensor]) -> Sequence[Tensor]:
        """Count and push."""
        self.counts["pushes"] += len(stacks[0])
        return super().push(stacks, units)

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Count and score."""
        self.counts["states"] += len(states[0])
        self.counts["generating"] += n_words
        return super().score(states, n_words, n_alike)


def needed_flops(model: RnngModel, example: Example, counts: Counter[str]) -> float:
    """Return the FLOPs of the matrix products that the search needs."""
    c, lm = model.network.config, model.network.language_model
    n_words = len(lm.bias) if lm is not None else 0
    predicted = len(model.network.action_head.scores.bias) + c.word_size
    hidden = c.hidden_size or predicted
    n_positions = len(example.edu_words) + example.n_edus
    encoder = 2 * 4 * c.edu_size * ((c.word_size + c.edu_size) + (c.edu_layers - 1) * 3 * c.edu_size)
    decoder = 4 * c.decoder_size * (c.word_size + c.decoder_size) + c.word_size * (c.decoder_size + n_words)
    mean_length = n_positions / example.n_edus
    return 2.0 * (
        len(example.edu_words) * encoder
        + n_positions * decoder
        + counts["units"] * (10 * c.unit_size**2 + 4 * c.unit_size * c.stack_size)
        + counts["pushes"] * 4 * c.stack_size**2
        + counts["states"] * hidden * (c.stack_size + (predicted if c.hidden_size else 0))
        + counts["generating"] * n_words * (c.word_size + mean_length)
    )


def matrix_rate(device: torch.device) -> float:
    """Return the FLOP/s of a large float32 matrix product."""
    a, b = torch.randn(3000, 3000, device=device), torch.randn(3000, 3000, device=device)
    times = []
    for _ in range(5):
        synchronise(device)
        started = time.perf_counter()
        a @ b
        synchronise(device)
        times.append(time.perf_counter() - started)
    return 2 * 3000**3 / min(times)


def measure(model: RnngModel, examples: Sequence[Example], search: str, beam: int, rate: float) -> dict[str, object]:
    """Measure one search of documents, the better of two runs."""
    device = model.network.embeddings.weight.device
    seconds = []
    for _ in range(2):
        synchronise(device)
        started = time.perf_counter()
        SEARCHES[search](NetworkScorer(model.network, examples, model.symbols.nucleus_is_right), beam)
        synchronise(device)
        seconds.append(time.perf_counter() - started)
    n_edus = sum(example.n_edus for example in examples)
    row = {
        "search": search,
        "edus": n_edus,
        "documents": len(examples),
        "beam": beam,
        "seconds": min(seconds),
        "edus_per_second": n_edus / min(seconds),
        "peak_memory_mib": peak_memory(device),
    }
    # A GPU computes every slot, needed or not, and replays recorded steps, so counts would be meaningless.
    return row | count(model, examples, search, beam, rate, min(seconds)) if sync_is_free(device) else row


def count(
    model: RnngModel, examples: Sequence[Example], search: str, beam: int, rate: float, seconds: float
) -> dict[str, object]:
    """Return the operations of the search, and the share of the machine's rate that it reached."""
    counting = CountingScorer(model, examples)
    SEARCHES[search](counting, beam)
    flops = sum(needed_flops(model, example, Counter()) for example in examples)
    flops += needed_flops(model, examples[0], counting.counts) - needed_flops(model, examples[0], Counter())
    return {"gflop": flops / 1e9, "share": flops / rate / seconds, **counting.counts}


def measure_literal(model: RnngModel, example: Example, beam: int) -> dict[str, object]:
    """Measure the pseudo-code and the fast search on the same document."""
    seconds = []
    searches: tuple[Callable[[NetworkScorer], object], ...] = (
        lambda scorer: search_bags_literally(scorer, beam),
        lambda scorer: SEARCHES["bag"](scorer, beam),
    )
    for search in searches:
        started = time.perf_counter()
        search(NetworkScorer(model.network, [example], model.symbols.nucleus_is_right))
        seconds.append(time.perf_counter() - started)
    literal, fast = seconds
    names = {"search": "bag, literal", "edus": example.n_edus, "beam": beam}
    return names | {"seconds": literal, "fast_seconds": fast, "ratio": literal / fast}


def join_examples(examples: Sequence[Example], n_edus: int) -> Example:
    """Concatenate examples into one with exactly n EDUs."""
    parts: list[Example] = []
    left = n_edus
    while left:
        example = examples[len(parts) % len(examples)]
        parts.append(first_edus(example, min(left, example.n_edus)))
        left -= parts[-1].n_edus

    def joined(column: str) -> IntArray:
        return np.concatenate([getattr(part, column) for part in parts])

    return Example(
        f"joined-{n_edus}",
        joined("edu_words"),
        joined("edu_lengths"),
        joined("token_words"),
        join_syntax([part.syntax for part in parts]),
        pieces=joined("pieces"),
        piece_lengths=joined("piece_lengths"),
    )


def first_edus(example: Example, n_edus: int) -> Example:
    """Return the first EDUs of a document, without a tree. A word whose head is cut off becomes a root."""
    syntax = example.syntax
    n_tokens = syntax.edu_tokens[n_edus]
    n_words, n_pieces = (lengths[:n_edus].sum() for lengths in (example.edu_lengths, example.piece_lengths))
    return replace(
        example,
        edu_words=example.edu_words[:n_words],
        edu_lengths=example.edu_lengths[:n_edus],
        token_words=example.token_words[:n_tokens],
        actions=(),
        pieces=example.pieces[:n_pieces],
        piece_lengths=example.piece_lengths[:n_edus],
        syntax=Syntax(
            [head if head < n_tokens else token for token, head in enumerate(syntax.heads[:n_tokens])],
            syntax.deprels[:n_tokens],
            syntax.edu_tokens[: n_edus + 1],
            syntax.sentences[:n_edus],
            syntax.paragraphs[:n_edus],
            syntax.kinds[:n_edus],
        ),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--edus", type=int, nargs="*", default=[50, 100, 200, 400, 800])
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 5, 10, 20, 80])
    parser.add_argument("--searches", nargs="*", default=list(SEARCHES), choices=list(SEARCHES))
    parser.add_argument("--literal", type=int, default=0, help="number of EDUs for the pseudo-code (0: skip it)")
    parser.add_argument("--literal-beam", type=int, default=20)
    parser.add_argument("--batch", action="store_true", help="also parse all dev documents at once")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    if (arguments.prepared is None) != (arguments.model is None):
        parser.error("--prepared and --model must be given together")
    device = torch.device(arguments.device)
    model, examples = load(arguments, device)
    rate = matrix_rate(device)
    about = {"machine": machine(device), "threads": torch.get_num_threads(), "gflop_per_second": rate / 1e9}
    print(json.dumps(about), flush=True)
    measure(model, [join_examples(examples, 20)], "bag", 5, rate)  # warms up
    for n_edus in arguments.edus:
        for search in arguments.searches:
            for beam in arguments.beams:
                row = measure(model, [join_examples(examples, n_edus)], search, beam, rate)
                print(json.dumps(row), flush=True)
    if arguments.batch:
        for beam in arguments.beams:
            print(json.dumps(measure(model, examples, "bag", beam, rate)), flush=True)
    if arguments.literal:
        row = measure_literal(model, join_examples(examples, arguments.literal), arguments.literal_beam)
        print(json.dumps(row), flush=True)


def load(arguments: argparse.Namespace, device: torch.device) -> tuple[RnngModel, list[Example]]:
    """Return a trained model with its dev documents, or a random model with random documents."""
    if arguments.prepared and arguments.model:
        return load_rnng(arguments.model, str(device)), load_prepared(arguments.prepared).dev
    symbols = random_prepared().symbols
    torch.manual_seed(1)
    network = make_network(RnngConfig(), symbols).to(device).eval()
    rng = random.Random(1)
    return Model(network, symbols), [random_example(f"random-{n}", 100, rng) for n in range(10)]


if __name__ == "__main__":
    main()
