"""Searching documents that are numbers already, with one model or with several that choose together."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from genrst.errors import UsageError
from genrst.model.examples import Example
from genrst.parser.ensemble import Member, check_labels, load_members
from genrst.parser.packages import EncoderPrecision, ParserConfig, find_model, is_ensemble, read_parser_config
from genrst.parser.search import TreeSearch
from genrst.search.results import SearchResult

MAX_STACK = 40
"""The bound on the stacks of bag-level search; the others need none to be fast."""


def load_together(names: Sequence[str], device: torch.device, precision: EncoderPrecision = "auto") -> list[Member]:
    """Models, by name or folder, that can choose together: they must have the same labels.

    `precision` is that of pretrained encoders.
    """
    members = [_load(name, device, precision) for name in names]
    check_labels(members, names)
    return members


def _load(name: str, device: torch.device, precision: EncoderPrecision) -> Member:
    folder = find_model(name)
    if is_ensemble(folder):
        raise UsageError(f"{name}: a model must have weights of its own, was: an ensemble")
    config = replace(read_parser_config(folder), encoder_precision=precision)
    (member,) = load_members(folder, config, device)
    return member


def find_trees(
    members: Sequence[Member], examples: Sequence[Sequence[Example]], config: ParserConfig, at_once: int
) -> list[SearchResult]:
    """What a search finds in each document, up to `at_once` side by side; every member has examples of its own.

    Documents of one length are searched together, so that few have to wait.
    """
    search = TreeSearch(members, config, MAX_STACK if config.search == "bag" else None)
    order = sorted(range(len(examples[0])), key=lambda number: examples[0][number].n_edus)
    found: dict[int, SearchResult] = {}
    for first in range(0, len(order), at_once):
        numbers = order[first : first + at_once]
        part = [[own[number] for number in numbers] for own in examples]
        found |= zip(numbers, search.find(part, config.beam), strict=True)
    return [found[number] for number in range(len(order))]
