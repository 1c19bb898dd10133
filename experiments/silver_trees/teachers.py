"""The teachers: parsers that find the trees of prepared documents together, and how far they agree one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

import torch

from experiments.search import find_trees, load_together
from experiments.translation import Translation, make_translation
from genrst.model.examples import Example
from genrst.model.symbols import Symbols
from genrst.parser.packages import ParserConfig
from genrst.parser.search import WeightedModel
from genrst.training.data import Prepared
from genrst.training.dev import evaluate_parses


@dataclass(frozen=True, slots=True)
class Teachers:
    """One or more parsers of equal weight, which read documents that were prepared for others."""

    members: Sequence[WeightedModel]
    translations: Sequence[Translation]
    config: ParserConfig
    at_once: int
    """Documents that are searched side by side."""

    def __call__(self, examples: Sequence[Example]) -> list[tuple[int, ...]]:
        """The actions of each document, in its own numbers."""
        read = [[translation.to_model(example) for example in examples] for translation in self.translations]
        found = find_trees(self.members, read, self.config, self.at_once)
        return [self.translations[0].from_model(one.parses[0].actions) for one in found]

    @property
    def alone(self) -> "list[Teachers]":
        """Each teacher by itself."""
        pairs = zip(self.members, self.translations, strict=True)
        return [replace(self, members=[member], translations=[translation]) for member, translation in pairs]


def load_teachers(
    names: Sequence[str], prepared: Prepared, device: torch.device, config: ParserConfig, at_once: int
) -> Teachers:
    """Teachers by name or folder; their encoders compute as in training."""
    members = load_together(names, device, "float32")
    translations = [make_translation(prepared, member.model) for member in members]
    return Teachers(members, translations, config, at_once)


def measure_agreement(teachers: Teachers, examples: Sequence[Example], symbols: Symbols) -> list[float]:
    """For each document the mean F of the trees of any two teachers, which each of them finds alone."""
    trees = [teacher(examples) for teacher in teachers.alone]
    of_pairs = [_compare(examples, *pair, symbols) for pair in combinations(trees, 2)]
    return [fmean(of_document) for of_document in zip(*of_pairs, strict=True)]


def _compare(
    examples: Sequence[Example], one: Sequence[Sequence[int]], other: Sequence[Sequence[int]], symbols: Symbols
) -> list[float]:
    with_trees = [replace(example, actions=tuple(actions)) for example, actions in zip(examples, one, strict=True)]
    return [counts.f1 for counts in evaluate_parses(with_trees, other, symbols).document_counts()]


def choose_agreed(agreement: Sequence[float], share: float) -> list[int]:
    """The documents with the highest agreement, in their own order: a share of all, but one at least."""
    n_kept = max(1, round(share * len(agreement)))
    return sorted(sorted(range(len(agreement)), key=lambda number: -agreement[number])[:n_kept])
