"""The training task of a chart: units of trees and their labels, by the log-likelihood of trees (not the paper's).

−log p(tree) is log Z, a sum over all trees, minus the scores of the tree's units. Its gradient is the probability of
each unit, minus 1 for the units of the tree. Labels are learned only at the tree's units. Documents are corrupted in
training, so that a chart does not rely on a single cue: some word pieces are masked in every document, and some
documents lose their layout or their punctuation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from genrst.chart.examples import ChartExample, FloatArray, LabelledUnit, SoftTree, boundaries, tree_of
from genrst.chart.labels import IntArray, Labels
from genrst.chart.layout import make_layout
from genrst.chart.learning.crf import inside, split_logp
from genrst.chart.learning.network import ChartNetwork, TorchScorer, on_device
from genrst.chart.learning.teaching import make_context, make_soft_starts
from genrst.chart.posterior import infer
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import ConfigError
from genrst.evaluation.report import Evaluation, evaluate_trees
from genrst.task import Lesson, Likelihood, TrainingTask
from genrst.text.layout import Kind
from genrst.trees.constraints import resolve_constraints
from genrst.trees.node import relabel

WITHOUT_KINDS = 0.5
"""Of the documents that lose their layout, the share that keep their paragraphs."""


@dataclass(frozen=True, slots=True)
class NoiseRates:
    """How much noise is added to documents in training."""

    pieces: float = 0.0
    """The share of a document's word pieces that are masked."""
    layout: float = 0.0
    """The share of documents that lose their layout: paragraphs, or only their kinds."""
    punctuation: float = 0.0
    """The share of documents that lose their punctuation."""


class ChartTask(TrainingTask[ChartExample, ChartNetwork]):
    """The training task of a chart."""

    def __init__(
        self,
        train: Sequence[ChartExample],
        dev: Sequence[ChartExample],
        labels: Labels,
        tokenizer: PieceTokenizer,
        silver: Sequence[ChartExample] = (),
        *,
        silver_epochs: int = 0,
        noise: NoiseRates | None = None,
        segment_weight: float = 0.1,
        balance: float = 0.0,
        batch_documents: int = 8,
        seed: int = 0,
    ) -> None:
        super().__init__(train, silver, silver_epochs, seed)
        self._label_bias = balance * label_log_prior(train, labels)
        self._dev, self._labels, self._noise = dev, labels, noise or NoiseRates()
        self._segment_weight, self._batch_documents = segment_weight, batch_documents
        self._tokenizer, self._mask, self._punctuation = tokenizer, tokenizer.mask, tokenizer.punctuation
        if self._noise.pieces and self._mask is None:
            raise ConfigError("training.piece_noise: the encoder's tokenizer has no mask token, so this must be 0")

    def loss(self, network: ChartNetwork, lessons: Sequence[Lesson[ChartExample]], epoch: int) -> Tensor:
        """Return the loss of trees, labels and segments."""
        examples = [self._add_noise(lesson.example, self._noise_seed(epoch, lesson)) for lesson in lessons]
        trees, labels, segments = find_losses(network, examples, self._label_bias)
        return (trees + labels + self._segment_weight * segments).sum()

    def _add_noise(self, example: ChartExample, seed: int) -> ChartExample:
        generator = np.random.default_rng(seed)
        # All are drawn in any case, so that one kind of noise does not change another.
        losses = generator.random(3)
        if losses[0] < self._noise.layout:
            example = without_kinds(example) if losses[1] < WITHOUT_KINDS else without_paragraphs(example)
        if losses[2] < self._noise.punctuation:
            example = without_pieces(example, np.isin(example.pieces, self._punctuation))
        if self._mask is not None and self._noise.pieces:
            is_masked = generator.random(len(example.pieces)) < self._noise.pieces
            example = replace(example, pieces=np.where(is_masked, self._mask, example.pieces))
        return example

    @torch.inference_mode()
    def likelihood(self, network: ChartNetwork) -> Likelihood:
        """Return the loss of the dev trees and labels."""
        total = Likelihood()
        for first in range(0, len(self._dev), self._batch_documents):
            group = self._dev[first : first + self._batch_documents]
            found = find_losses(network, group)
            nll = float((found.trees + found.labels).sum())
            total += Likelihood(nll, sum(example.n_edus for example in group))
        return total

    def scores(self, network: ChartNetwork) -> dict[str, float]:
        """Return the scores of trees and of EDUs."""
        scorer = TorchScorer(network, self._labels, self._tokenizer)
        starts = [starts for one in self._dev for starts in make_soft_starts([scorer], [one])]
        found = [_find_tree(scorer, example) for example in self._dev]
        coarse, fine = (evaluate_units(self._dev, found, self._labels, fine=fine) for fine in (False, True))
        of_relations = {f"fine {aspect}": fine.percentages()[aspect] for aspect in "RF"}
        return {**coarse.percentages(), **of_relations, "Seg": segment_f1(starts, self._dev)}


@torch.inference_mode()
def _find_tree(scorer: TorchScorer, example: ChartExample) -> list[LabelledUnit]:
    """Return the minimum Bayes risk tree in which every sentence is a unit."""
    constraints = resolve_constraints(example.n_edus, (), scorer.labels.pairs, [example.sentences])
    return infer(make_context([(scorer, 1.0)], [example], constraints)).mbr()


def evaluate_units(
    examples: Sequence[ChartExample], found: Sequence[Sequence[Sequence[int]]], labels: Labels, *, fine: bool = False
) -> Evaluation:
    """Score the trees of some units against the gold trees, by relation classes or by relations."""
    sides = ([example.units.tolist() for example in examples], found)
    gold, trees = ([tree_of(units, labels) for units in side] for side in sides)
    if not fine:
        gold, trees = ([relabel(tree, labels.class_of.__getitem__) for tree in side] for side in (gold, trees))
    return evaluate_trees(examples, gold, trees)


class Losses(NamedTuple):
    """The losses of each document. Shape: (documents) each"""

    trees: Tensor
    """The negative log-likelihood of the tree, or the cross-entropy if the tree is soft."""
    labels: Tensor
    """The same for the labels of the tree."""
    segments: Tensor
    """The same for EDUs and sentences."""


def segment_f1(starts: Sequence[FloatArray], examples: Sequence[ChartExample]) -> float:
    """Return F1 of EDU starts in percent, without the first EDU of each document.

    Paragraphs are given, and every sentence starts an EDU. `starts` has the probabilities of each document.
    """
    n_right = n_found = n_gold = 0
    for p, example in zip(starts, examples, strict=True):
        found, gold = p.max(axis=1) > 0.5, segment_starts(example)[:, 0]
        first = np.cumsum(example.piece_lengths) - example.piece_lengths
        found[first[np.array(example.kinds) > Kind.SENTENCE]] = True
        n_right += int((found & gold)[1:].sum())
        n_found += int(found[1:].sum())
        n_gold += int(gold[1:].sum())
    return 200 * n_right / max(n_found + n_gold, 1)


def label_log_prior(examples: Sequence[ChartExample], labels: Labels) -> FloatArray:
    """Return the log of each label's share of its group, over the units of documents. Shape: (labels)"""
    numbers = np.concatenate([example.units[:, 3] for example in examples])
    counts = 1 + np.bincount(numbers[numbers < len(labels)], minlength=len(labels))
    totals = np.bincount(labels.group_of_labels, counts, len(labels.groups))
    prior: FloatArray = np.log(counts / totals[labels.group_of_labels]).astype(np.float32)
    return prior


def find_losses(
    network: ChartNetwork, examples: Sequence[ChartExample], label_bias: FloatArray | None = None
) -> Losses:
    """Return the losses of a network on documents.

    If `label_bias` has the log-frequencies of labels (logit adjustment), the network learns how much more or less
    likely a label is than its frequency suggests, and finds rare relations more often. Shape: (labels)
    """
    kinds = [boundaries(example.kinds) for example in examples]
    layout = make_layout(kinds, [(number, range(example.n_edus + 1)) for number, example in enumerate(examples)])
    batch = network.make_batch(examples).to(network.device)
    states = network.edu_encoder.read(batch.windows)
    chart = network(network.encode(batch, states), layout)
    targets = [_target(one) for one in examples]
    units, p, known_labels, label_p = _join(targets)
    row, split, start, stop = on_device(network.device, *units.T)
    weights, labels, label_weights = on_device(network.device, p, known_labels, label_p)
    scores = chart.scores.float()
    table, _ = inside(scores, layout.sizes)
    tree_logp = weights * split_logp(scores, table, row, split, start, stop)
    label_logp = network.label_logp(chart, units, label_bias).gather(1, labels)
    label_logp = weights * (label_weights * label_logp).sum(1)
    zeros = scores.new_zeros(len(examples))
    return Losses(
        zeros.index_add(0, row, tree_logp, alpha=-1),
        zeros.index_add(0, row, label_logp, alpha=-1),
        _segment_losses(network, examples, states),
    )


def _segment_losses(network: ChartNetwork, examples: Sequence[ChartExample], states: Tensor) -> Tensor:
    """Shape: (pieces, size) → (documents)"""
    logits = network.segments(network.dropout(states)).float()
    targets = torch.from_numpy(np.concatenate([_start_targets(example) for example in examples])).to(logits)
    losses = binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(1)
    rows = np.repeat(np.arange(len(examples)), [len(example.pieces) for example in examples])
    return losses.new_zeros(len(examples)).index_add(0, torch.from_numpy(rows).to(losses.device), losses)


def _start_targets(example: ChartExample) -> FloatArray:
    """Return the segment targets: soft probabilities, or the document's own segments with probability 1."""
    return segment_starts(example).astype(np.float32) if example.starts is None else example.starts


def segment_starts(example: ChartExample) -> NDArray[np.bool_]:
    """Return whether an EDU, and whether a sentence, starts at each word piece.

    Shape: → (pieces, 2)
    """
    starts = np.zeros((len(example.pieces), 2), dtype=np.bool_)
    first = np.cumsum(example.piece_lengths) - example.piece_lengths
    starts[first, 0] = True
    sentences = np.array(example.sentences)
    starts[first[np.flatnonzero(np.diff(sentences, prepend=-1))], 1] = True
    return starts


def _target(example: ChartExample) -> SoftTree:
    """Return the tree target of a document: its soft tree, or its tree with probability 1."""
    if example.soft is not None:
        return example.soft
    ones = np.ones(len(example.units), dtype=np.float32)
    return SoftTree(example.units[:, :3], ones, example.units[:, 3:], ones[:, None])


def _join(targets: Sequence[SoftTree]) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Return the units of all documents, their probabilities, their labels and the probabilities of these.

    Known label probabilities are rescaled to sum to 1.
    Shape: (units, 4), as document, split, start and stop; (units); (units, labels) twice
    """
    width = max(target.labels.shape[1] for target in targets)
    labels, label_p = (
        np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
        for parts in ([one.labels for one in targets], [one.label_p for one in targets])
    )
    label_p = label_p / np.maximum(label_p.sum(1, keepdims=True), 1e-6)
    rows = np.repeat(np.arange(len(targets)), [len(target.p) for target in targets])
    start, split, stop = np.concatenate([target.units for target in targets]).T
    units = np.stack([rows, split, start, stop], axis=1)
    return units, np.concatenate([target.p for target in targets]), labels, label_p.astype(np.float32)


# Noise.


def without_kinds(example: ChartExample) -> ChartExample:
    """Return a document whose headings, items and turns are marked as plain paragraphs or sentences."""
    starts = _starts(example.paragraphs)
    kinds = [Kind.PARAGRAPH if starts[edu] else min(kind, Kind.SENTENCE) for edu, kind in enumerate(example.kinds)]
    return replace(example, kinds=[int(kind) for kind in kinds])


def without_paragraphs(example: ChartExample) -> ChartExample:
    """Return a document with one paragraph; other paragraph starts become sentence starts."""
    first, others = example.kinds[:1], example.kinds[1:]
    kinds = [int(Kind.PARAGRAPH) if kind else kind for kind in first]
    kinds += [min(kind, int(Kind.SENTENCE)) for kind in others]
    paragraphs = [0] * len(example.paragraphs)
    return replace(example, kinds=kinds, paragraphs=paragraphs)


def _starts(numbers: Sequence[int]) -> list[bool]:
    return [True, *(left != right for left, right in pairwise(numbers))]


def without_pieces(example: ChartExample, is_lost: NDArray[np.bool_]) -> ChartExample:
    """Return a document without some of its word pieces; every EDU keeps at least its first piece."""
    edus = np.repeat(np.arange(example.n_edus), example.piece_lengths)
    n_kept = np.bincount(edus, weights=~is_lost, minlength=example.n_edus)
    first = np.cumsum(example.piece_lengths) - example.piece_lengths
    is_kept = ~is_lost
    is_kept[first[n_kept == 0]] = True
    lengths = np.bincount(edus[is_kept], minlength=example.n_edus)
    starts = example.starts
    if starts is not None:
        # A boundary at a removed piece moves to the next piece.
        (kept,) = np.nonzero(is_kept)
        starts = np.maximum.reduceat(starts[: kept[-1] + 1], [0, *(kept[:-1] + 1)])
    return replace(example, pieces=example.pieces[is_kept], piece_lengths=lengths, starts=starts)
