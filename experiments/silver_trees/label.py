"""Replace the trees of silver documents by those that a trained parser, the teacher, finds by greedy search.

    python -m experiments.silver_trees.label --teacher runs/teacher/model --prepared FILE.npz --output LABELLED.npz

The teacher may have other symbols and another tokenizer than the prepared features. Training and dev documents stay as
they are. Prints the teacher's scores on dev, and how far it agrees with the silver trees there were.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.silver_trees.translation import Translation, make_translation
from genrst.errors import GenrstError, UsageError
from genrst.model.device import choose_device
from genrst.model.example import Example
from genrst.model.scorer import NetworkScorer
from genrst.model.store import Model, load_model
from genrst.model.symbols import Symbols
from genrst.search.beam import search_greedily
from genrst.training.dev import evaluate_parses, parseval_f1
from genrst.training.prepared import load_prepared, save_prepared


def main(words: Sequence[str] | None = None) -> None:
    """Read, label, write."""
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        run(arguments)
    except GenrstError as error:
        parser.exit(1, f"{error}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teacher", type=Path, required=True, help="the folder of a model")
    parser.add_argument("--prepared", type=Path, required=True, help="features with silver documents")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--documents", type=positive, default=2400, help="how many silver ones are kept, at random")
    parser.add_argument("--seed", type=int, default=1, help="which ones are kept")
    parser.add_argument("--min-edus", type=positive, default=10, help="shorter silver documents are left out")
    parser.add_argument("--max-edus", type=positive, default=250, help="longer silver documents are left out")
    parser.add_argument("--at-once", type=positive, default=120, help="documents that are searched side by side")
    parser.add_argument("--device", default="auto")
    return parser


def positive(word: str) -> int:
    """A number from 1 on."""
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    prepared = load_prepared(arguments.prepared)
    sizes = range(arguments.min_edus, arguments.max_edus + 1)
    prepared = replace(prepared, silver=choose(prepared.silver, sizes, arguments.documents, arguments.seed))
    teacher = load_model(arguments.teacher, choose_device(arguments.device))
    parse = Parse(teacher, make_translation(prepared, teacher), arguments.at_once)
    tell("dev", prepared.dev, parse(prepared.dev), prepared.symbols)
    found = parse(prepared.silver)
    tell("silver", prepared.silver, found, prepared.symbols)
    silver = [replace(example, actions=actions) for example, actions in zip(prepared.silver, found, strict=True)]
    notes = prepared.notes | {"teacher": str(arguments.teacher)}
    save_prepared(replace(prepared, silver=silver, notes=notes), arguments.output)


def choose(silver: Sequence[Example], sizes: range, n_documents: int, seed: int) -> list[Example]:
    """A random sample of the documents that have so many EDUs; all of them if there are no more."""
    fitting = [example for example in silver if example.n_edus in sizes]
    if not fitting:
        bounds = f"{sizes.start} to {sizes.stop - 1}"
        raise UsageError(f"the features must have a silver document of {bounds} EDUs, was: none of {len(silver)}")
    return random.Random(seed).sample(fitting, min(n_documents, len(fitting)))


@dataclass(frozen=True, slots=True)
class Parse:
    """Finds the actions of documents with a teacher, in their own numbers."""

    teacher: Model
    translation: Translation
    at_once: int

    def __call__(self, examples: Sequence[Example]) -> list[tuple[int, ...]]:
        """The actions of each document. Those of one length are searched together, so that few have to wait."""
        order = sorted(range(len(examples)), key=lambda number: examples[number].n_edus)
        found: dict[int, tuple[int, ...]] = {}
        for first in range(0, len(order), self.at_once):
            numbers = order[first : first + self.at_once]
            read = [self.translation.to_model(examples[number]) for number in numbers]
            parses = search_greedily(NetworkScorer(self.teacher.network, read, self.teacher.symbols.nucleus_is_right))
            actions = (self.translation.from_model(parse.actions) for parse in parses)
            found |= zip(numbers, actions, strict=True)
        return [found[number] for number in range(len(examples))]


def tell(name: str, examples: Sequence[Example], found: Sequence[tuple[int, ...]], symbols: Symbols) -> None:
    """Print how far the trees found agree with those that the documents have."""
    scores = parseval_f1(evaluate_parses(examples, found, symbols))
    rounded = {aspect: round(score, 2) for aspect, score in scores.items()}
    print(json.dumps({"documents": name, "n": len(examples), **rounded}), flush=True)


if __name__ == "__main__":
    main()
