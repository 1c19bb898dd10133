"""Rows of tensors that grow, are addressed by numbers handed out once, and can be given up again.

The network as a scorer of single actions, behind the door that search knows (`genrst.search.scorer.Scorer`).

Units and stacks are rows of growing tables. The arithmetic is that of `genrst.model.network`, arranged so that what
hypotheses share is computed once: a unit's vectors for all stacks that hold it, the nuclear EDU's and the label's part
of a composition, the features' part of a score, the decoder's part of the language model.
"""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from genrst.model.examples import Example
from genrst.model.layers import HiddenCell
from genrst.model.network import Network
from genrst.model.scoring.features import FeatureLookup
from genrst.model.scoring.states import Shown, StateScores
from genrst.model.scoring.words import WordScores


class Table:
    """Several columns of equal height; a row's number stays when rows before it are given up."""

    def __init__(self, first: Sequence[Tensor]) -> None:
        # A copy, as they may be parameters of a network.
        self._columns = [column.clone() for column in first]
        self._n_rows = len(first[0])
        self._places = torch.arange(self._n_rows, device=first[0].device)
        self.n_numbers = self._n_rows
        """How many numbers have been handed out."""
        self._counted: Tensor | None = None
        """Rows and numbers, while they are counted on the device."""

    def rows(self, numbers: Tensor, columns: Sequence[int] | None = None) -> list[Tensor]:
        """Some rows of all columns, or of some."""
        places = self._places[numbers]
        chosen = self._columns if columns is None else [self._columns[column] for column in columns]
        return [column.index_select(0, places) for column in chosen]

    def append(self, rows: Sequence[Tensor]) -> int | Tensor:
        """Add rows; returns the number of the first, the others follow it."""
        n_new = len(rows[0])
        if self._counted is not None:
            return self._append_where_counted(rows, n_new)
        self._make_room(n_new)
        stop = self._n_rows + n_new
        for column, values in zip(self._columns, rows, strict=True):
            column[self._n_rows : stop] = values
        first, after = self.n_numbers, self.n_numbers + n_new
        self._places[first:after] = torch.arange(self._n_rows, stop, device=self._places.device)
        self._n_rows, self.n_numbers = stop, after
        return first

    def _append_where_counted(self, rows: Sequence[Tensor], n_new: int) -> Tensor:
        assert self._counted is not None
        places, numbers = self._counted[:, None] + torch.arange(n_new, device=self._places.device)
        for column, values in zip(self._columns, rows, strict=True):
            column.index_copy_(0, places, values)
        self._places.index_copy_(0, numbers, places)
        self._counted += n_new
        first: Tensor = numbers[0]
        return first

    def hold(self, n_new: int) -> None:
        """Make room for so many rows. Until `release` nothing moves in memory, and the device counts."""
        self._make_room(n_new, at_least=1)
        self._counted = torch.tensor([self._n_rows, self.n_numbers], device=self._places.device)

    def release(self, n_new: int) -> None:
        """Count as before; so many rows were added."""
        self._n_rows += n_new
        self.n_numbers += n_new
        self._counted = None

    def keep(self, numbers: Tensor) -> None:
        """Give up all rows but these. Their room stays, for rows to come."""
        for column, kept in zip(self._columns, self.rows(numbers), strict=True):
            column[: len(numbers)] = kept
        self._n_rows = len(numbers)
        self._places = torch.full_like(self._places, -1)
        self._places[numbers] = torch.arange(self._n_rows, device=self._places.device)

    def _make_room(self, n_new: int, at_least: int = 2) -> None:
        self._columns = [_with_room(column, self._n_rows + n_new, at_least) for column in self._columns]
        self._places = _with_room(self._places, self.n_numbers + n_new, at_least)


def _with_room(column: Tensor, n_rows: int, at_least: int) -> Tensor:
    """The column; if it is too short, with room for so many rows, and at least so many times as long as it was."""
    if n_rows <= len(column):
        return column
    n_more = max(n_rows, at_least * len(column)) - len(column)
    return torch.cat([column, column.new_empty(n_more, *column.shape[1:])])


States = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
"""Documents, stacks, first EDUs of the second and of the topmost unit (−1 for none), and generated EDUs."""


class NetworkScorer:
    """Scores computations of some documents one action at a time."""

    @torch.inference_mode()
    def __init__(self, network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool]) -> None:
        self._network = network
        self.device = network.embeddings.weight.device
        self.n_edus = tuple(example.n_edus for example in examples)
        self.n_labels = len(nucleus_is_right) - 1
        self._sizes = torch.tensor(self.n_edus, device=self.device)
        self._first_edu = torch.tensor([*accumulate(self.n_edus[:-1], initial=0)], device=self.device)
        self._is_right = torch.tensor(nucleus_is_right[1:], device=self.device)
        edus = network.encode_edus(examples)
        ahead = network.lookahead(edus, list(self.n_edus)) if network.lookahead is not None else None
        self._features = FeatureLookup(examples, self.device, network.has_kinds)
        self._state_scores = StateScores(network, examples, edus, ahead)
        self._word_scores = WordScores(network, examples) if network.language_model is not None else None
        self._split_inputs(edus)
        self._start_tables(edus)

    def _split_inputs(self, edus: Tensor) -> None:
        """The parts of a composition's gates that come from the nuclear EDU and from the label."""
        layer = self._network.composition
        sizes = [edus.shape[1], layer.relations.embedding_dim]
        of_edu, of_label = torch.split(layer.from_input.weight, sizes, dim=1)
        self._of_edu = torch.addmm(layer.from_input.bias, edus, of_edu.T)
        self._of_label = layer.relations.weight @ of_label.T

    def _start_tables(self, edus: Tensor) -> None:
        leaves = self._network.composition.leaves(edus)
        nuclear = torch.arange(len(edus), device=self.device)
        nothing = torch.full((1,), len(edus), device=self.device)
        self._units = Table([*leaves, self._network.stack.inputs(leaves.hidden), nuclear])
        self._stacks = Table([*self._network.stack.empty(), nothing, nothing])

    @torch.inference_mode()
    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> int | Tensor:
        """Make the units that join pairs of units."""
        left_hidden, left_cell, left_nuclear = self._units.rows(left, columns=[0, 1, 3])
        right_hidden, right_cell, right_nuclear = self._units.rows(right, columns=[0, 1, 3])
        nuclear = torch.where(self._is_right[labels], right_nuclear, left_nuclear)
        inputs = self._of_edu.index_select(0, nuclear) + self._of_label.index_select(0, labels)
        composed = self._network.composition(
            inputs, HiddenCell(left_hidden, left_cell), HiddenCell(right_hidden, right_cell)
        )
        return self._units.append([*composed, self._network.stack.inputs(composed.hidden), nuclear])

    @torch.inference_mode()
    def push(self, stacks: Tensor, units: Tensor) -> int | Tensor:
        """Make the stacks with a unit more on top."""
        inputs, nuclear = self._units.rows(units, columns=[2, 3])
        hidden, cell, nuclear_below, _ = self._stacks.rows(stacks)
        return self._stacks.append([*self._network.stack(inputs, HiddenCell(hidden, cell)), nuclear, nuclear_below])

    @torch.inference_mode()
    def score(self, states: States, n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the next action, and of the words of the next EDU of the first `n_words` states."""
        documents, stacks, second, top, n_generated = states
        hidden, nuclear, nuclear_below = self._stacks.rows(stacks, columns=[0, 2, 3])
        first = self._first_edu[documents]
        is_one, is_pair, read = top >= 0, second >= 0, n_generated + first
        start, start_below = torch.where(is_one, top + first, -1), torch.where(is_pair, second + first, -1)
        features = self._features.features(start_below, start, read)
        shown = Shown(start, read - 1, nuclear, start_below, start - 1, nuclear_below, read + documents)
        actions, queries = self._state_scores(hidden, features, shown)
        can_generate = n_generated < self._sizes[documents]
        action_logp = self._network.action_head.normalise(actions, can_generate, is_pair, features.boundaries)
        if self._word_scores is None or not n_words:
            return action_logp, actions.new_zeros(n_words)
        # Where no EDU is left any will do: its words count for nothing.
        edus = (first + n_generated)[:n_words].clamp_max(len(self._of_edu) - 1)
        return action_logp, self._word_scores.logp(queries[:n_words], edus, n_alike)

    @torch.inference_mode()
    def hold(self, n_new: int) -> None:
        """Make room for so many units and stacks, and count them on the device."""
        self._units.hold(n_new)
        self._stacks.hold(n_new)

    @torch.inference_mode()
    def release(self, n_new: int) -> None:
        """Count as before; so many units and stacks were made."""
        self._units.release(n_new)
        self._stacks.release(n_new)

    @torch.inference_mode()
    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Keep the vectors of these units and stacks, and of all leaves; forget the others."""
        n_leaves = len(self._of_edu)
        leaves = torch.arange(n_leaves, device=self.device)
        self._units.keep(torch.cat([leaves, units[units >= n_leaves]]))
        self._stacks.keep(stacks)
