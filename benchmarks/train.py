"""Measure training speed: the batched network against a reference that computes one action at a time.

    python -m benchmarks.train [--prepared FILE] [--device cuda] [--documents 16] [--precision bfloat16]

Prints one JSON object. Without prepared features of a corpus, it uses random documents of GUM's sizes. The reference is
the implementation that the tests compare the network with. It runs on one short document, because an epoch would take
hours.
"""

import argparse
import json
import platform
import random
import resource
import time
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import torch

from genrst.rnng.config import NONE, SPECIALS, UNK, RnngConfig, Symbols, Vocabulary
from genrst.rnng.examples import Example
from genrst.rnng.finder import make_network
from genrst.rnng.network import Network
from genrst.rnng.transitions.actions import ActionSet, Reduce
from genrst.rnng.transitions.features import Syntax
from genrst.training.prepared import Prepared, load_prepared
from genrst.training.run_config import TrainingConfig
from genrst.training.tasks import make_task
from genrst.training.trainer import Trainer
from tests.rnng.random_examples import random_actions
from tests.rnng.reference import Reference

N_DOCUMENTS, N_EDUS, N_EDU_WORDS, N_WORDS, N_LABELS = 177, 130, 7, 7200, 28
"""GUM train: documents with text, mean EDUs per document, words per EDU, vocabulary, coarse labels."""


def main() -> None:
    """Measure and print."""
    arguments = parse_arguments()
    prepared = load_prepared(arguments.prepared) if arguments.prepared else random_prepared()
    if arguments.documents:
        prepared = replace(prepared, train=prepared.train[: arguments.documents])
    network = make_network(RnngConfig(kind=arguments.kind), prepared.symbols).to(arguments.device)
    speed = measure_batched(network, prepared, arguments)
    speed["reference_edus_per_second"] = measure_reference(network, prepared, arguments.reference_edus)
    speed["ratio"] = speed["edus_per_second"] / speed["reference_edus_per_second"]
    print(json.dumps(describe(arguments, prepared) | speed))


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, help="file of prepared features (from genrst train --prepare-only)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--documents", type=int, default=0, help="train on the first N documents (0: all)")
    parser.add_argument("--batch-documents", type=int, default=8)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--kind", choices=("generative", "discriminative"), default="generative")
    parser.add_argument(
        "--epochs", type=int, default=3, help="number of epochs, of which the first is a warm-up (default: 3)"
    )
    parser.add_argument("--reference-edus", type=int, default=30, help="number of EDUs for the reference (default: 30)")
    return parser.parse_args()


def describe(arguments: argparse.Namespace, prepared: Prepared) -> dict[str, object]:
    """Describe the machine, the settings and the data."""
    return {
        "machine": machine(torch.device(arguments.device)),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "kind": arguments.kind,
        "precision": arguments.precision,
        "batch_documents": arguments.batch_documents,
        "corpus": "prepared" if arguments.prepared else "random documents of GUM's sizes",
        "documents": len(prepared.train),
        "edus": sum(example.n_edus for example in prepared.train),
        "words": int(sum(len(example.edu_words) for example in prepared.train)),
    }


def measure_batched(network: Network, prepared: Prepared, arguments: argparse.Namespace) -> dict[str, float]:
    """Time whole epochs of training steps, including the optimizer; return the best one after the first."""
    device = network.embeddings.weight.device
    config = TrainingConfig(batch_documents=arguments.batch_documents, precision=arguments.precision)
    trainer = Trainer(network, make_task(replace(prepared, dev=[]), network, config, seed=1), config, seed=1)
    seconds = []
    for _ in range(arguments.epochs):
        synchronise(device)
        started = time.perf_counter()
        losses = [trainer._train_on(lessons) for lessons in trainer._batches()]
        torch.stack(losses).sum().item()
        seconds.append(time.perf_counter() - started)
        trainer.progress.epoch += 1
    best = min(seconds[1:] or seconds)
    n_edus = sum(example.n_edus for example in prepared.train)
    return {"epoch_seconds": best, "edus_per_second": n_edus / best, "peak_memory_mib": peak_memory(device)}


def measure_reference(network: Network, prepared: Prepared, n_edus: int) -> float:
    """Return EDUs per second of the reference, forward and backward, on the document closest to the given size."""
    example: Example = min(prepared.train, key=lambda one: abs(one.n_edus - n_edus))
    device = network.embeddings.weight.device
    torch.set_default_device(device)
    started = time.perf_counter()
    actions, words = Reference(network, example).score(prepared.symbols.nucleus_is_right)
    torch.autograd.backward(-torch.stack([*actions, *words]).sum())
    synchronise(device)
    seconds = time.perf_counter() - started
    torch.set_default_device("cpu")
    return example.n_edus / seconds


def machine(device: torch.device) -> str:
    """Return the name of the GPU or the CPU."""
    return torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or platform.machine()


def synchronise(device: torch.device) -> None:
    """Wait for the GPU, if there is one."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_memory(device: torch.device) -> float:
    """Return the peak memory of the GPU or of the process, in MiB."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def random_prepared() -> Prepared:
    """Make random documents of GUM's sizes."""
    rng = random.Random(1)
    words = Vocabulary((*SPECIALS, *(f"w{number}" for number in range(N_WORDS - len(SPECIALS)))))
    deprels = Vocabulary((NONE, UNK, *(f"d{number}" for number in range(45))))
    labels = tuple(Reduce(f"r{number:02}", ("NS", "SN", "NN")[number % 3]) for number in range(N_LABELS))
    sizes = [rng.randint(N_EDUS // 2, 3 * N_EDUS // 2) for _ in range(N_DOCUMENTS)]
    examples = [random_example(f"random-{number}", size, rng) for number, size in enumerate(sizes)]
    return Prepared("rnng", Symbols(words, deprels, ActionSet(labels)), examples, [], None, {})


def random_example(name: str, n_edus: int, rng: random.Random) -> Example:
    """Make a document of short sentences in which every word depends on the first, with a random tree."""
    lengths = [rng.randint(1, 2 * N_EDU_WORDS) for _ in range(n_edus)]
    edu_tokens = [0, *accumulate(lengths)]
    sentences = [edu // 2 for edu in range(n_edus)]
    heads = [edu_tokens[2 * (edu // 2)] for edu, length in enumerate(lengths) for _ in range(length)]
    words = np.array([rng.randrange(len(SPECIALS), N_WORDS) for _ in heads], dtype=np.int64)
    syntax = Syntax(
        heads, [2 + head % 45 for head in heads], edu_tokens, sentences, [edu // 6 for edu in range(n_edus)]
    )
    # These probabilities keep the stack about as deep as in real trees.
    actions = random_actions(n_edus, rng, N_LABELS, lambda size: 0.52 if size < 15 else 0.4)
    return Example(name, words, np.array(lengths, dtype=np.int64), words, syntax, actions)


if __name__ == "__main__":
    main()
