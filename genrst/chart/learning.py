"""What a chart learns: the units of trees and their labels, by the log-likelihood of whole trees (not the paper's).

−log p(tree) is log Z, a sum over all trees, less the scores of the tree's units; its gradient is the probabilities of
all units, less 1 where the tree has one. Labels are learned at the tree's units only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from genrst.chart.inference import inside, split_logp
from genrst.chart.layout import edu_boundaries, make_layout
from genrst.chart.network import ChartNetwork
from genrst.chart.noise import make_noise
from genrst.chart.posterior import LabelledUnit, read_documents
from genrst.chart.teaching import make_soft_starts
from genrst.encoder.files import PieceTokenizer
from genrst.errors import ConfigError
from genrst.evaluation.report import Evaluation
from genrst.rnng.examples import Example, SoftTree
from genrst.rnng.transitions.actions import GENERATE
from genrst.rnng.transitions.boundaries import Kind
from genrst.training.dev import Likelihood, evaluate_parses
from genrst.training.lessons import Lesson, Lessons
from genrst.training.prepared import Prepared
from genrst.training.run_config import TrainingConfig
from genrst.trees.constraints import resolve_constraints


class ChartLessons(Lessons[ChartNetwork]):
    """The lessons of a chart."""

    def __init__(self, prepared: Prepared, config: TrainingConfig, seed: int) -> None:
        super().__init__(prepared, config, seed)
        tokenizer = PieceTokenizer(prepared.tokenizer) if prepared.tokenizer else None
        mask = tokenizer.mask if tokenizer else None
        if config.piece_noise and mask is None:
            raise ConfigError("training.piece_noise: the encoder's tokenizer must have a piece for masks, was: without")
        self._add_noise = make_noise(config, mask, tokenizer.punctuation if tokenizer else ())

    def loss(self, network: ChartNetwork, lessons: Sequence[Lesson], epoch: int) -> Tensor:
        """Of trees, labels and segments."""
        examples = [self._add_noise(lesson.example, self._generator(epoch, lesson)) for lesson in lessons]
        trees, labels, fine, segments = find_losses(network, examples)
        return (trees + labels + fine + self._config.segment_weight * segments).sum()

    def _generator(self, epoch: int, lesson: Lesson) -> np.random.Generator:
        return np.random.default_rng(self._noise(epoch, lesson).initial_seed())

    @torch.inference_mode()
    def likelihood(self, network: ChartNetwork) -> Likelihood:
        """That of the trees and labels of dev."""
        dev, size, total = self._prepared.dev, self._config.batch_documents, Likelihood()
        for first in range(0, len(dev), size):
            group = dev[first : first + size]
            found = find_losses(network, group)
            nll = float((found.trees + found.labels).sum())
            total += Likelihood(nll, sum(example.n_edus for example in group))
        return total

    def evaluate(self, network: ChartNetwork) -> Evaluation:
        """The trees of minimum risk, with whole sentences, a document at a time."""
        dev = self._prepared.dev
        labels = self._prepared.symbols.actions.pairs
        derivations = []
        for example in dev:
            demands = resolve_constraints(example.n_edus, (), labels, [example.syntax.sentences])
            (posterior,) = read_documents([(network, 1.0)], [[example]], [demands])
            derivations.append(actions_of_units(posterior.minimum_risk(), example.n_edus))
        return evaluate_parses(dev, derivations, self._prepared.symbols)

    def scores(self, network: ChartNetwork) -> dict[str, float]:
        """Those of trees and, if texts are read, of EDUs."""
        found = super().scores(network)
        if network.segments is None:
            return found
        dev = self._prepared.dev
        starts = [starts for one in dev for starts in make_soft_starts([network], [one])]
        return {**found, "Seg": segment_f1(starts, dev)}


class Losses(NamedTuple):
    """Of each document. Shape: (documents) each"""

    trees: Tensor
    """The negative log-likelihood of its tree. If it has a soft tree, these are cross-entropies."""
    labels: Tensor
    """That of the labels of its tree."""
    fine: Tensor
    """That of the finer relations of its tree; zero where they are not known."""
    segments: Tensor
    """That of its EDUs and sentences, or the cross-entropies if it has soft ones; zeros without a pretrained
    encoder."""


def segment_f1(starts: Sequence[NDArray[np.float32]], examples: Sequence[Example]) -> float:
    """How well EDUs are found, as F1 of their starts in percent; the first one of a document does not count.

    Paragraphs are known, and every sentence starts an EDU. `starts` are their probabilities in each document.
    """
    n_right = n_found = n_gold = 0
    for p, example in zip(starts, examples, strict=True):
        found, gold = p.max(axis=1) > 0.5, segment_starts(example)[:, 0]
        first = np.cumsum(example.piece_lengths) - example.piece_lengths
        found[first[np.array(example.syntax.kinds) > Kind.SENTENCE]] = True
        n_right += int((found & gold)[1:].sum())
        n_found += int(found[1:].sum())
        n_gold += int(gold[1:].sum())
    return 200 * n_right / max(n_found + n_gold, 1)


def find_losses(network: ChartNetwork, examples: Sequence[Example]) -> Losses:
    """What a network has to learn from documents."""
    kinds = [edu_boundaries(example, network.config.layout_kinds) for example in examples]
    layout = make_layout(kinds, [(number, range(example.n_edus + 1)) for number, example in enumerate(examples)])
    batch = network.make_batch(examples).to(network.device)
    states = network.read(batch.read)
    chart = network(network.encode(batch, states), layout.to(network.device))
    targets = [_target(one) for one in examples]
    row, (start, split, stop), weights, labels, label_weights = _join(targets, network.device)
    scores = chart.scores.float()
    table, _ = inside(scores, chart.sizes)
    tree_logp = weights * split_logp(scores, table, row, split, start, stop)
    label_logp = network.label_logp(chart, row, split, start, stop).gather(1, labels)
    label_logp = weights * (label_weights * label_logp).sum(1)
    zeros = scores.new_zeros(len(examples))
    fine_loss = zeros
    if network.fine is not None:
        fine = torch.from_numpy(np.concatenate([_fine(*pair) for pair in zip(examples, targets, strict=True)]))
        fine = fine.to(network.device)
        (known,) = torch.where(fine >= 0)
        fine_logp = network.fine_logp(chart, *(part[known] for part in (row, split, start, stop, labels[:, 0])))
        fine_loss = zeros.index_add(0, row[known], fine_logp.gather(1, fine[known, None])[:, 0], alpha=-1)
    return Losses(
        zeros.index_add(0, row, tree_logp, alpha=-1),
        zeros.index_add(0, row, label_logp, alpha=-1),
        fine_loss,
        zeros if network.segments is None else _segment_losses(network, examples, states),
    )


def _fine(example: Example, target: SoftTree) -> NDArray[np.int64]:
    """The finer relations of the units of a target; −1 where they are not known."""
    is_known = example.soft is None and len(example.fine) == len(target.p)
    return example.fine if is_known else np.full(len(target.p), -1)


def _segment_losses(network: ChartNetwork, examples: Sequence[Example], states: Tensor) -> Tensor:
    """Shape: (pieces, size) → (documents)"""
    assert network.segments is not None
    logits = network.segments(network.dropout(states)).float()
    targets = torch.from_numpy(np.concatenate([_start_targets(example) for example in examples])).to(logits)
    losses = binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(1)
    rows = np.repeat(np.arange(len(examples)), [len(example.pieces) for example in examples])
    return losses.new_zeros(len(examples)).index_add(0, torch.from_numpy(rows).to(losses.device), losses)


def _start_targets(example: Example) -> NDArray[np.float32]:
    """What is to be learned of segments: their probabilities, or its own ones with probability 1."""
    return segment_starts(example).astype(np.float32) if example.starts is None else example.starts


def segment_starts(example: Example) -> NDArray[np.bool_]:
    """Whether an EDU, and whether a sentence starts with each word piece.

    Shape: → (pieces, 2)
    """
    starts = np.zeros((len(example.pieces), 2), dtype=np.bool_)
    first = np.cumsum(example.piece_lengths) - example.piece_lengths
    starts[first, 0] = True
    sentences = np.array(example.syntax.sentences)
    starts[first[np.flatnonzero(np.diff(sentences, prepend=-1))], 1] = True
    return starts


def _target(example: Example) -> SoftTree:
    """What is to be learned from a document: its soft tree, or its tree with probability 1."""
    if example.soft is not None:
        return example.soft
    units = np.array(units_of(example.actions), dtype=np.int64).reshape(-1, 4)
    ones = np.ones(len(units), dtype=np.float32)
    return SoftTree(units[:, :3], ones, units[:, 3:], ones[:, None])


def _join(
    targets: Sequence[SoftTree], device: torch.device
) -> tuple[Tensor, tuple[Tensor, ...], Tensor, Tensor, Tensor]:
    """The units of all documents: their documents, places, probabilities, labels and probabilities of labels.

    What is known of labels is given as much weight as if all were known.
    """
    width = max(target.labels.shape[1] for target in targets)
    labels, label_p = (
        np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
        for parts in ([one.labels for one in targets], [one.label_p for one in targets])
    )
    label_p = label_p / np.maximum(label_p.sum(1, keepdims=True), 1e-6)
    arrays = (
        np.repeat(np.arange(len(targets)), [len(target.p) for target in targets]),
        np.concatenate([target.units for target in targets]),
        np.concatenate([target.p for target in targets]),
        labels,
        label_p.astype(np.float32),
    )
    row, units, p, numbers, shares = (torch.from_numpy(array).to(device, non_blocking=True) for array in arrays)
    return row, units.unbind(1), p, numbers, shares


def units_of(actions: Sequence[int]) -> list[LabelledUnit]:
    """The units that actions build; their labels are numbered from 0."""
    stack: list[tuple[int, int]] = []
    units, n_edus = [], 0
    for action in actions:
        if action == GENERATE:
            stack.append((n_edus, n_edus + 1))
            n_edus += 1
        else:
            (split, stop), (start, _) = stack.pop(), stack.pop()
            units.append(LabelledUnit(start, split, stop, action - 1))
            stack.append((start, stop))
    return units


def actions_of_units(units: Sequence[LabelledUnit], n_edus: int) -> list[int]:
    """The actions that build these units: the inverse of `units_of`."""
    ends: dict[int, list[LabelledUnit]] = {}
    for unit in units:
        ends.setdefault(unit.stop, []).append(unit)
    actions = []
    for edu in range(n_edus):
        actions.append(GENERATE)
        # Of units that end together, the shortest is built first.
        actions += [1 + unit.label for unit in sorted(ends.get(edu + 1, ()), key=lambda unit: -unit.start)]
    return actions
