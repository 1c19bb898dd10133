"""Train one seed of a model and search with it; each step writes files that later runs reuse.

The result of a search holds the actions of every tree, from which everything else can be computed. Scheduling is in
`experiments/jobs.py`.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import torch

from experiments.command import Environment, read_environment
from experiments.data import Split
from genrst.config import from_mapping
from genrst.encoder.device import choose_device
from genrst.errors import ConfigError, UsageError
from genrst.io import tell, write_atomically
from genrst.parser import RnngSearch
from genrst.parser.folders import is_model
from genrst.rnng.batch import derive, make_batch
from genrst.rnng.examples import Example
from genrst.rnng.finder import Member, RnngFinder, RnngModel, RnngSettings, load_rnng
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.results import SearchResult
from genrst.rnng.search.word import WordOptions, search_words
from genrst.training.kinds import AnyConfig
from genrst.training.prepared import Prepared
from genrst.training.run import CONFIG, LOG, MODEL, Run, read_log
from genrst.training.run_config import RunConfig, load_config

TRAINED = "trained.json"
"""Written last, so a run that has this file is finished."""

MAX_STACK = 40
"""The limit on stacks in bag-level search; other searches are fast without a limit."""


@dataclass(frozen=True, slots=True)
class SeedRun:
    """One seed of a model, and the folder of its run."""

    model: str
    """The name of the model; in the tables, generative or discriminative."""
    seed: int
    config: RunConfig
    folder: Path

    @property
    def model_folder(self) -> Path:
        """The folder of the best epoch."""
        return self.folder / MODEL

    @property
    def is_trained(self) -> bool:
        """Whether training is finished. A model without a log was put there by hand and is used as it is."""
        is_given = is_model(self.model_folder) and not (self.folder / LOG).exists()
        return is_given or (self.folder / TRAINED).is_file()

    def check_settings(self) -> None:
        """Raise an error if the folder holds a run with other settings."""
        path = self.folder / CONFIG
        if not path.is_file():
            return
        earlier = load_config(path)
        training = replace(earlier.training, seeds=self.config.training.seeds)
        if (earlier.model, training) != (self.config.model, self.config.training):
            raise UsageError(f"{self.folder} holds a run with other settings; choose another --output")

    def summary(self) -> dict[str, Any]:
        """Summarise the training; only model and seed if the model was put there by hand."""
        path = self.folder / TRAINED
        known = json.loads(path.read_bytes()) if path.is_file() else {}
        return {"model": self.model, "seed": self.seed, **known}


def list_seeds(name: str, config: RunConfig, seeds: Sequence[int], folder: Path) -> Iterator[SeedRun]:
    """Yield a run for each seed of a model."""
    for seed in seeds:
        own = replace(config, training=replace(config.training, seeds=(seed,)))
        yield SeedRun(name, seed, own, folder / f"seed-{seed}")


def train(seed_run: SeedRun, prepared: Prepared, device: str) -> None:
    """Train a seed to the end, resuming from its checkpoint if there is one."""
    run = Run(seed_run.config, seed_run.seed, seed_run.folder, choose_device(device))
    for record in run.records(prepared, run.find_checkpoint()):
        scores = " ".join(f"{aspect} {score:.1f}" for aspect, score in record.dev_scores.items())
        tell(f"{seed_run.model} seed {seed_run.seed} epoch {record.epoch}: {scores}")
    records = read_log(seed_run.folder / LOG)
    best = [record for record in records if record.is_best][-1]
    summary = {
        "epochs": len(records),
        "best_epoch": best.epoch,
        "dev": best.dev_scores,
        "dev_loss": best.dev_loss,
        "seconds": sum(record.train_seconds + record.dev_seconds for record in records),
    }
    write_atomically(seed_run.folder / TRAINED, json.dumps(summary))
    # Release the memory used for parsing dev, which other processes on the GPU need.
    torch.cuda.empty_cache()


KINDS: dict[str, tuple[RnngSearch, ...]] = {
    "generative": ("word", "bag", "greedy"),
    "discriminative": ("action", "greedy"),
}
"""The searches of each model. Without words, action-level search replaces the others."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search. In greedy search and in discriminative models, words have no weight."""

    kind: RnngSearch
    beam: int = 1
    word_weight: float = 0.0
    word_beam: int | None = None
    """k_w of word-level search (default: the beam)."""
    fast_beam: int | None = None
    """k_s of word-level search (default: a tenth of the beam)."""
    max_stack: int = MAX_STACK
    """The limit on stacks in bag-level search."""

    @property
    def name(self) -> str:
        """The name of its result files."""
        weight = f"-weight-{self.word_weight:g}" if self.word_weight else ""
        more = "".join(f"-{name}-{value}" for name, value in self.unusual.items())
        return self.kind if self.kind == "greedy" else f"{self.kind}-{self.beam}{weight}{more}"

    @property
    def unusual(self) -> dict[str, int | None]:
        """The non-default settings besides beam and weight, by the paper's names."""
        settings = (("k_w", self.word_beam, None), ("k_s", self.fast_beam, None), ("stack", self.max_stack, MAX_STACK))
        return {name: value for name, value, usual in settings if value != usual}


def list_searches(
    model: str,
    kinds: Sequence[str],
    beams: Sequence[int],
    weights: Sequence[float],
    word_beams: Sequence[int | None] = (None,),
    fast_beams: Sequence[int | None] = (None,),
    max_stacks: Sequence[int] = (MAX_STACK,),
) -> list[Search]:
    """List the searches of a model, of the given kinds, with all combinations of their settings."""
    beam_settings = list(product(beams, weights if model == "generative" else [0.0]))
    searches: dict[RnngSearch, list[Search]] = {
        "word": [Search("word", *one, *more) for one in beam_settings for more in product(word_beams, fast_beams)],
        "bag": [Search("bag", *one, max_stack=bound) for one in beam_settings for bound in max_stacks],
        "action": [Search("action", *one) for one in beam_settings],
        "greedy": [Search("greedy")],
    }
    return [search for kind in KINDS[model] if kind in kinds for search in searches[kind]]


def list_bag_searches(config: AnyConfig, beam: int, weights: Sequence[float]) -> list[Search]:
    """List bag-level searches with each weight of words; a model without words is searched once."""
    return [Search("bag", beam, weight) for weight in (weights if config.kind == "generative" else [0.0])]


@dataclass(frozen=True, slots=True)
class Logp:
    """log p of the actions and of the words of a tree; 0 for words that have no weight."""

    actions: float
    words: float

    def weighted(self, word_weight: float) -> float:
        """Return the score that a search maximises."""
        return self.actions + word_weight * self.words if word_weight else self.actions


@dataclass(frozen=True, slots=True)
class FoundTree:
    """The best tree of a document."""

    id: str
    actions: tuple[int, ...]
    logp: Logp
    gold_logp: Logp | None
    """None if the gold tree has an unknown label, which makes it impossible."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a search with one seed of a model."""

    model: str
    seed: int
    search: Search
    trees: tuple[FoundTree, ...]
    seconds: float
    """The time of the search alone."""
    n_bounded: int
    """The number of trees that reach the limit on the stack."""
    environment: Environment


def result_path(seed_run: SeedRun, search: Search, split: Split) -> Path:
    """Return the path of a result."""
    return seed_run.folder / "searches" / split.name / f"{search.name}.json"


def read_result(seed_run: SeedRun, search: Search, split: Split) -> Result:
    """Read a result."""
    path = result_path(seed_run, search, split)
    try:
        result = from_mapping(Result, json.loads(path.read_bytes()))
    except (ConfigError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: the file does not hold a valid result: {error}") from error
    if tuple(tree.id for tree in result.trees) != split.ids:
        raise UsageError(f"{path}: the result is for other documents; choose another --output")
    return result


def run_search(seed_run: SeedRun, search: Search, split: Split, at_once: int, device: str) -> None:
    """Find the best tree of every document, with up to `at_once` hypotheses at once, and write the result."""
    processor = choose_device(device)
    model = load_rnng(seed_run.model_folder, str(processor))
    _check_symbols(model, split, seed_run)
    # In bag-level search, a document has a beam for each stack size; otherwise it has one beam.
    n_beams = search.max_stack if search.kind == "bag" else 1
    n_documents = max(1, at_once // (search.beam * n_beams))
    started = time.perf_counter()
    if search.kind == "word":
        found = find_by_words(model, split.examples, search, n_documents)
    else:
        settings = RnngSettings(None, search.kind, search.beam, search.word_weight, search.max_stack)
        found = find_trees([Member(model)], [split.examples], settings, n_documents)
    seconds = time.perf_counter() - started
    trees = tuple(
        FoundTree(example.id, parse.actions, Logp(parse.action_logp, parse.word_logp), gold_logp(model, example))
        for example, parse in zip(split.examples, (one.parses[0] for one in found), strict=True)
    )
    n_bounded = sum(one.is_bounded for one in found)
    result = Result(seed_run.model, seed_run.seed, search, trees, seconds, n_bounded, read_environment(processor))
    write_atomically(result_path(seed_run, search, split), json.dumps(asdict(result)))
    tell(f"{seed_run.model} seed {seed_run.seed} {split.name} {search.name}: {seconds:.1f} s")


def _check_symbols(model: RnngModel, split: Split, seed_run: SeedRun) -> None:
    own, given = model.symbols, split.symbols
    has_labels = given.actions.labels[: len(own.actions.labels)] == own.actions.labels
    if not has_labels or (own.words, own.deprels) != (given.words, given.deprels):
        raise UsageError(f"{seed_run.model_folder}: the model was trained with different features")


def find_trees(
    models: Sequence[Member], examples: Sequence[Sequence[Example]], settings: RnngSettings, at_once: int
) -> list[SearchResult]:
    """Search every document, up to `at_once` of them at once; every model has its own examples.

    Only bag-level search has a limit on stacks.
    """
    finder = RnngFinder(models, settings if settings.search == "bag" else replace(settings, max_stack=None))
    return _in_parts(examples, at_once, lambda part: finder.search(part, settings.beam))


def find_by_words(model: RnngModel, examples: Sequence[Example], search: Search, at_once: int) -> list[SearchResult]:
    """Run word-level search on every document, with all three beams as given."""
    options = WordOptions(search.beam, search.word_beam, search.fast_beam, search.word_weight)
    is_right = model.symbols.nucleus_is_right
    return _in_parts(
        [examples], at_once, lambda part: search_words(NetworkScorer(model.network, part[0], is_right), options)
    )


def _in_parts(
    examples: Sequence[Sequence[Example]],
    at_once: int,
    find: Callable[[Sequence[Sequence[Example]]], list[SearchResult]],
) -> list[SearchResult]:
    """Search documents of similar length together, so that short ones do not wait for long ones."""
    order = sorted(range(len(examples[0])), key=lambda number: examples[0][number].n_edus)
    found: dict[int, SearchResult] = {}
    for first in range(0, len(order), at_once):
        numbers = order[first : first + at_once]
        found |= zip(numbers, find([[own[number] for number in numbers] for own in examples]), strict=True)
    return [found[number] for number in range(len(order))]


@torch.inference_mode()
def gold_logp(model: RnngModel, example: Example) -> Logp | None:
    """Return log p of the gold tree and of its words."""
    if max(example.actions) >= len(model.symbols.actions):
        return None
    gold = derive(example, model.symbols.nucleus_is_right, model.network.has_kinds)
    batch = make_batch([example], [gold], model.network.window_shape)
    found = model.network(batch.to(model.network.embeddings.weight.device))
    return Logp(float(found.actions.sum()), float(found.words.sum()))
