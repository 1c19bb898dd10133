"""How good the trees of several models are that choose together, by their weights; and minimum-risk decoding.

    python -m experiments.combination.run GUM --models A B --weights 1,0 1,0.25 1,0.5 --word-weights 0.25 0.5
    python -m experiments.combination.run --prepared FILE.npz --models A --minimum-risk 10 --temperatures 1 5 20

Bag-level search, gold EDUs; syntax and entities are spaCy's, found once for all settings. `--prepared` takes the dev
documents of features that `genrst train --prepare-only` has made elsewhere, and needs no spaCy. Prints a line of JSON
for every setting: Parseval, micro-averaged, coarse relations; and EDUs a second, of encoders and search.

With `--minimum-risk K` there are lines for trees that are chosen among the K best: by the highest expected F, where a
tree is as likely as exp(score / temperature), and with the gold tree in hand (`oracle`).
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import perf_counter

from experiments.combination.documents import Documents, read_corpus, read_prepared
from experiments.combination.minimum_risk import choose_least_risk, choose_oracle, units_of
from experiments.command import Rows, count, positive, run_command, scores_of, start_parser
from experiments.environment import read_environment, read_seeds
from experiments.search import find_trees, load_together
from genrst.corpora.corpus import load_corpus
from genrst.errors import CorpusNotFoundError, UsageError
from genrst.model.device import choose_device
from genrst.parser.packages import ParserConfig, find_model, read_parser_config
from genrst.parser.search import WeightedModel
from genrst.search.results import Parse


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each setting."""
    run_command(make_parser(), run, words)


def make_parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", help="the folder of a corpus")
    parser.add_argument("--prepared", metavar="FILE", type=Path, help="features, whose dev documents are used instead")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--version", default="11.1", help="of GUM, whose list of documents is used")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--models", metavar="MODEL", nargs="+", required=True, help="names, or folders")
    parser.add_argument("--weights", metavar="W,W", type=_weights, nargs="+", help="of the models; 1 each if not given")
    parser.add_argument("--word-weights", metavar="W", type=float, nargs="+", default=[0.5], help="of words")
    parser.add_argument("--beam", metavar="K", type=count, default=10)
    parser.add_argument("--minimum-risk", metavar="K", type=count, help="choose among the K best trees, too")
    parser.add_argument("--temperatures", metavar="T", type=positive, nargs="+", help="of that choice (default: 1)")
    parser.add_argument("--at-once", type=count, default=8, help="documents that are searched side by side")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, help="a file for what is printed")
    return parser


def _weights(word: str) -> tuple[float, ...]:
    try:
        weights = tuple(map(float, word.split(",")))
    except ValueError:
        weights = ()
    if not any(weights) or not all(0 <= weight < math.inf for weight in weights):
        raise argparse.ArgumentTypeError(f"must be numbers from 0 on, with commas, and not all 0, was: {word!r}")
    return weights


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    _check(arguments)
    settings = list(_settings(arguments))
    device = choose_device(arguments.device)
    seeds = [seed for name in arguments.models for seed in read_seeds(find_model(name))]
    members = load_together(arguments.models, device)
    documents = _read(arguments, members)
    rows = Rows(read_environment(device), {"models": arguments.models, "seeds": seeds, "split": arguments.split})
    for setting in settings:
        for row in _score(setting, members, documents, arguments):
            rows.add(**row)
    rows.write(arguments.results)


def _check(arguments: argparse.Namespace) -> None:
    if (arguments.corpus is None) == (arguments.prepared is None):
        raise UsageError("documents must come from a corpus or from --prepared, was: both or neither")
    if arguments.prepared is not None and arguments.split != "dev":
        raise UsageError(f"--prepared has dev documents alone, was: --split {arguments.split}")
    if arguments.temperatures and not arguments.minimum_risk:
        raise UsageError("--temperatures needs --minimum-risk")
    for weights in arguments.weights or ():
        if len(weights) != len(arguments.models):
            raise UsageError(f"--weights: there must be one for each of {len(arguments.models)} models, was: {weights}")


@dataclass(frozen=True, slots=True)
class Setting:
    """What models count for, and how they are searched."""

    weights: tuple[float, ...]
    config: ParserConfig


def _settings(arguments: argparse.Namespace) -> Iterator[Setting]:
    beam = max(arguments.beam, arguments.minimum_risk or 1)
    for weights, word_weight in product(arguments.weights or [(1.0,) * len(arguments.models)], arguments.word_weights):
        yield Setting(weights, ParserConfig(beam=beam, word_weight=word_weight))


def _read(arguments: argparse.Namespace, members: Sequence[WeightedModel]) -> Documents:
    if arguments.prepared is not None:
        return read_prepared(arguments.prepared, arguments.documents, members)
    gold = list(load_corpus(arguments.corpus, split=arguments.split, version=arguments.version))[: arguments.documents]
    if not gold:
        raise CorpusNotFoundError(f"{arguments.corpus}: split {arguments.split!r} must have a document, was: none")
    return read_corpus(gold, read_parser_config(find_model(arguments.models[0])).pipeline, members)


def _score(
    setting: Setting, members: Sequence[WeightedModel], documents: Documents, arguments: argparse.Namespace
) -> Iterator[dict[str, object]]:
    """The rows of a setting: the best trees, then those of other choices."""
    started = perf_counter()
    found = search(setting, members, documents, arguments.at_once)
    seconds = perf_counter() - started
    about = {"weights": setting.weights, "word_weight": setting.config.word_weight, "beam": setting.config.beam}
    about |= {"documents": len(found), "edus": documents.n_edus}
    evaluate = documents.split.evaluate
    best = scores_of(evaluate([parses[0].actions for parses in found]))
    yield {**about, **best, "seconds": round(seconds, 2), "edus_per_second": round(documents.n_edus / seconds, 1)}
    if arguments.minimum_risk:
        about["among"] = arguments.minimum_risk
        few = [parses[: arguments.minimum_risk] for parses in found]
        for temperature in arguments.temperatures or [1.0]:
            chosen = [_least_risk(parses, setting.config.word_weight, temperature) for parses in few]
            yield {**about, "choice": "minimum risk", "temperature": temperature, **scores_of(evaluate(chosen))}
        pairs = zip(few, documents.split.examples, strict=True)
        yield {**about, "choice": "oracle", **scores_of(evaluate([_oracle(one, gold.actions) for one, gold in pairs]))}


def search(setting: Setting, members: Sequence[WeightedModel], documents: Documents, at_once: int) -> list[list[Parse]]:
    """The best computations of each document, the best first, in numbers of the split; models of weight 0 stay out."""
    triples = zip(members, setting.weights, documents.read, strict=True)
    asked = [(replace(member, weight=weight), own) for member, weight, own in triples if weight]
    chosen, read = zip(*asked, strict=True)
    found = find_trees(chosen, read, setting.config, at_once)
    return [[replace(parse, actions=documents.translate(parse.actions)) for parse in one.parses] for one in found]


def _least_risk(parses: Sequence[Parse], word_weight: float, temperature: float) -> tuple[int, ...]:
    scores = [parse.action_logp + word_weight * parse.word_logp for parse in parses]
    return parses[choose_least_risk([units_of(parse.actions) for parse in parses], scores, temperature)].actions


def _oracle(parses: Sequence[Parse], gold: Sequence[int]) -> tuple[int, ...]:
    return parses[choose_oracle([units_of(parse.actions) for parse in parses], units_of(gold))].actions


if __name__ == "__main__":
    main()
