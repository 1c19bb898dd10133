"""The searches of the tables: which there are, how one runs on all documents, and its result as a file.

A result has the actions of every tree, so that everything else can be computed from it again.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import torch

from experiments.environment import Environment, read_environment
from experiments.paper_tables.data import Split
from experiments.paper_tables.train import Member
from experiments.search import MAX_STACK
from experiments.search import find_trees as find_side_by_side
from genrst.config import from_mapping
from genrst.console import tell
from genrst.errors import ConfigError, UsageError
from genrst.io import write_atomically
from genrst.model.batch import make_batch
from genrst.model.device import choose_device
from genrst.model.examples import Example, derive
from genrst.model.model_config import ModelConfig
from genrst.model.storage import Model, load_model
from genrst.parser.ensemble import Member as ParserMember
from genrst.parser.packages import ParserConfig
from genrst.parser.packages import Search as Kind
from genrst.search.results import SearchResult

KINDS: dict[str, tuple[Kind, ...]] = {"generative": ("word", "bag", "greedy"), "discriminative": ("action", "greedy")}
"""The searches of each model; one without words is searched action by action."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search; greedy search and discriminative models give words no weight."""

    kind: Kind
    beam: int = 1
    word_weight: float = 0.0

    @property
    def name(self) -> str:
        """The name of its files."""
        weight = f"-weight-{self.word_weight:g}" if self.word_weight else ""
        return self.kind if self.kind == "greedy" else f"{self.kind}-{self.beam}{weight}"


def list_searches(model: str, kinds: Sequence[str], beams: Sequence[int], weights: Sequence[float]) -> list[Search]:
    """The searches of a model, of those kinds that are wanted."""
    wanted = [kind for kind in KINDS[model] if kind in kinds]
    settings = list(product(beams, weights if model == "generative" else [0.0]))
    beam_searches = [Search(kind, *setting) for kind in wanted if kind != "greedy" for setting in settings]
    return [*beam_searches, *(Search(kind) for kind in wanted if kind == "greedy")]


def list_bag_searches(config: ModelConfig, beam: int, weights: Sequence[float]) -> list[Search]:
    """Bag-level search by weights of words; a model without words is searched once."""
    return [Search("bag", beam, weight) for weight in (weights if config.kind == "generative" else [0.0])]


@dataclass(frozen=True, slots=True)
class Logp:
    """log p of the actions and of the words of a tree; words are 0 if they have no weight."""

    actions: float
    words: float

    def weighted(self, word_weight: float) -> float:
        """What a search maximises."""
        return self.actions + word_weight * self.words if word_weight else self.actions


@dataclass(frozen=True, slots=True)
class FoundTree:
    """The best tree of a document."""

    id: str
    actions: tuple[int, ...]
    logp: Logp
    gold_logp: Logp | None
    """None if the gold tree has a label that the model does not know: then it is impossible."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a search with a seed of a model found."""

    model: str
    seed: int
    search: Search
    trees: tuple[FoundTree, ...]
    seconds: float
    """Of the search alone."""
    n_bounded: int
    """Trees that come up to the bound on the stack."""
    environment: Environment


def result_path(member: Member, search: Search, split: Split) -> Path:
    """Where a result is kept."""
    return member.folder / "searches" / split.name / f"{search.name}.json"


def read_result(member: Member, search: Search, split: Split) -> Result:
    """A result that was written."""
    path = result_path(member, search, split)
    try:
        result = from_mapping(Result, json.loads(path.read_bytes()))
    except (ConfigError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: the file must hold a result, was: {error}") from error
    if tuple(tree.id for tree in result.trees) != split.ids:
        raise UsageError(f"{path}: the result is of other documents: --output starts another")
    return result


def run_search(member: Member, search: Search, split: Split, at_once: int, device: str) -> None:
    """Search the best tree of every document, and write the result."""
    processor = choose_device(device)
    model = load_model(member.model_folder, processor)
    _check_symbols(model, split, member)
    started = time.perf_counter()
    found = find_trees(model, search, split.examples, at_once)
    seconds = time.perf_counter() - started
    trees = tuple(
        FoundTree(example.id, parse.actions, Logp(parse.action_logp, parse.word_logp), gold_logp(model, example))
        for example, parse in zip(split.examples, (one.parses[0] for one in found), strict=True)
    )
    n_bounded = sum(one.is_bounded for one in found)
    result = Result(member.model, member.seed, search, trees, seconds, n_bounded, read_environment(processor))
    write_atomically(result_path(member, search, split), json.dumps(asdict(result)))
    tell(f"{member.model} seed {member.seed} {split.name} {search.name}: {seconds:.1f} s")


def _check_symbols(model: Model, split: Split, member: Member) -> None:
    own, given = model.symbols, split.symbols
    n_labels = len(own.actions.labels)
    has_labels = given.actions.labels[:n_labels] == own.actions.labels
    if not has_labels or (own.words, own.deprels) != (given.words, given.deprels):
        raise UsageError(f"{member.model_folder}: the model was trained with other features than these")


def find_trees(model: Model, search: Search, examples: Sequence[Example], at_once: int) -> list[SearchResult]:
    """What a search finds in each document, with up to `at_once` hypotheses side by side."""
    config = ParserConfig(search=search.kind, beam=search.beam, word_weight=search.word_weight)
    # A document has a beam for every size of the stack, or one.
    n_beams = MAX_STACK if search.kind == "bag" else 1
    return find_side_by_side([ParserMember(model)], [examples], config, max(1, at_once // (search.beam * n_beams)))


@torch.inference_mode()
def gold_logp(model: Model, example: Example) -> Logp | None:
    """log p of the gold tree and its words."""
    if max(example.actions) >= len(model.symbols.actions):
        return None
    gold = derive(example, model.symbols.nucleus_is_right, model.network.has_kinds)
    batch = make_batch([example], [gold], model.network.window_shape)
    found = model.network(batch.to(model.network.embeddings.weight.device))
    return Logp(float(found.actions.sum()), float(found.words.sum()))
