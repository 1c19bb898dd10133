"""The layers of the network, in the order of the paper's equations (2 to 14), with our additions.

Each layer is independent of the others, of trees and of search. `genrst.rnng.network` combines them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_sequence, unpack_sequence

from genrst.rnng.config import FIRST_OUTPUT_ID, UNK_ID, RnngConfig
from genrst.rnng.transitions.features import N_HEAD_WORDS, Comparison, n_classes


class HiddenCell(NamedTuple):
    """The hidden states and memory cells of a recurrent layer, one row each."""

    hidden: Tensor
    cell: Tensor

    def rows(self, index: Tensor) -> "HiddenCell":
        """Select rows."""
        return HiddenCell(self.hidden.index_select(0, index), self.cell.index_select(0, index))


def stack_rows(parts: Sequence[HiddenCell]) -> HiddenCell:
    """Concatenate blocks of rows."""
    return HiddenCell(torch.cat([part.hidden for part in parts]), torch.cat([part.cell for part in parts]))


def _initial(lstm: "EduEncoder | DocumentEncoder | Lookahead | LanguageModel", count: int) -> tuple[Tensor, Tensor]:
    """Repeat the learned initial states of an LSTM for each sequence."""
    hidden, cell = lstm.initial_hidden.expand(-1, count, -1), lstm.initial_cell.expand(-1, count, -1)
    return hidden.contiguous(), cell.contiguous()


EDUS_AT_ONCE = 4096
"""EDUs to read at once when no gradients are needed, so that memory does not grow with the text."""


class EduEncoder(nn.Module):
    """h_EDU(e): the concatenated last states of a bidirectional LSTM over the words of an EDU (equations 2 and 3).

    The vector does not depend on other EDUs, so a generative model may condition on it. Initial states are learned.
    """

    def __init__(self, word_size: int, edu_size: int, n_layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(word_size, edu_size, n_layers, bidirectional=True)
        self.initial_hidden = nn.Parameter(torch.zeros(2 * n_layers, 1, edu_size))
        self.initial_cell = nn.Parameter(torch.zeros(2 * n_layers, 1, edu_size))

    def forward(self, words: PackedSequence) -> Tensor:
        """Encode EDUs.

        Shape: words (EDUs, length, word_size) packed → (EDUs, 2 · edu_size)
        """
        parts = [words] if torch.is_grad_enabled() else _split(words, EDUS_AT_ONCE)
        found = torch.cat([self._last_states(part) for part in parts])
        return found if len(parts) == 1 else found[words.unsorted_indices]

    def _last_states(self, words: PackedSequence) -> Tensor:
        _, (hidden, _) = self.lstm(words, _initial(self, int(words.batch_sizes[0])))
        return torch.cat([hidden[-2], hidden[-1]], dim=1)


def _split(words: PackedSequence, n_sequences: int) -> list[PackedSequence]:
    """Divide sequences into batches of at most `n_sequences`, in packed order."""
    sizes = words.batch_sizes
    if sizes[0] <= n_sequences:
        return [words]
    parts = []
    for first in range(0, int(sizes[0]), n_sequences):
        of_part = (sizes - first).clamp(0, n_sequences)
        steps = zip(torch.split(words.data, sizes.tolist()), of_part[of_part > 0].tolist(), strict=False)
        parts.append(PackedSequence(torch.cat([step[first : first + n] for step, n in steps]), of_part[of_part > 0]))
    return parts


class DocumentEncoder(nn.Module):
    """Contextual EDU vectors: the output of an LSTM over the EDU vectors is added to them (not in the paper).

    In a generative model, it runs from left to right, because EDUs must not depend on later ones. Otherwise it runs in
    both directions.
    """

    def __init__(self, edu_size: int, document_size: int, is_causal: bool) -> None:
        super().__init__()
        n_directions = 1 if is_causal else 2
        self.lstm = nn.LSTM(edu_size, document_size, bidirectional=not is_causal)
        self.initial_hidden = nn.Parameter(torch.zeros(n_directions, 1, document_size))
        self.initial_cell = nn.Parameter(torch.zeros(n_directions, 1, document_size))
        self.project = nn.Linear(n_directions * document_size, edu_size)

    def forward(self, edus: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the contextual part of each EDU's vector.

        Shape: (EDUs of all documents, edu_size) → the same
        """
        documents = pack_sequence(list(torch.split(edus, list(sizes))), enforce_sorted=False)
        states, _ = self.lstm(documents, _initial(self, len(sizes)))
        added: Tensor = self.project(torch.cat(unpack_sequence(states)))
        return added


class Composition(nn.Module):
    """h_U: a binary TreeLSTM over the children, with the nuclear EDU and the relation (equations 4 and 5).

    The paper cites the TreeLSTM of Teng and Zhang (2017) without giving equations. The gates here are the common binary
    ones (Tai et al. 2015), with a forget gate per child. Both the memory cell and the hidden state of a leaf are linear
    maps of its EDU.
    """

    def __init__(self, edu_size: int, relation_size: int, unit_size: int, n_labels: int) -> None:
        super().__init__()
        self.leaf = nn.Linear(edu_size, 2 * unit_size)
        self.relations = nn.Embedding(n_labels, relation_size)
        self.from_input = nn.Linear(edu_size + relation_size, 5 * unit_size)
        self.from_children = nn.Linear(2 * unit_size, 5 * unit_size, bias=False)

    def leaves(self, edus: Tensor) -> HiddenCell:
        """Return the states of EDUs as units.

        Shape: (EDUs, edu_size) → 2 × (EDUs, unit_size)
        """
        hidden, cell = self.leaf(edus).chunk(2, dim=-1)
        return HiddenCell(hidden, cell)

    def inputs(self, nuclear_edus: Tensor, labels: Tensor) -> Tensor:
        """Return the part of the gates that does not depend on the children, computed for all units at once.

        Shape: (units, edu_size), (units) → (units, 5 · unit_size)
        """
        gates: Tensor = self.from_input(torch.cat([nuclear_edus, self.relations(labels)], dim=-1))
        return gates

    def forward(self, inputs: Tensor, left: HiddenCell, right: HiddenCell) -> HiddenCell:
        """Compose pairs of units.

        Shape: (units, 5 · unit_size), 2 × (units, unit_size) twice → 2 × (units, unit_size)
        """
        gates = inputs + self.from_children(torch.cat([left.hidden, right.hidden], dim=-1))
        size = left.hidden.shape[1]
        enter, keep_left, keep_right, leave = torch.sigmoid(gates[:, : 4 * size]).chunk(4, dim=1)
        cell = torch.addcmul(keep_left * left.cell, keep_right, right.cell)
        cell = torch.addcmul(cell, enter, torch.tanh(gates[:, 4 * size :]))
        return HiddenCell(leave * torch.tanh(cell), cell)


class StackLSTM(nn.Module):
    """h_S^N: an LSTM over the stack from bottom to top (equation 6), as in Dyer et al. (2015).

    The state of the empty stack is learned.
    """

    def __init__(self, unit_size: int, stack_size: int) -> None:
        super().__init__()
        self.from_unit = nn.Linear(unit_size, 4 * stack_size)
        self.from_below = nn.Linear(stack_size, 4 * stack_size, bias=False)
        self.initial_hidden = nn.Parameter(torch.zeros(1, stack_size))
        self.initial_cell = nn.Parameter(torch.zeros(1, stack_size))

    def empty(self) -> HiddenCell:
        """Return the state of the empty stack, as one row."""
        return HiddenCell(self.initial_hidden, self.initial_cell)

    def inputs(self, units: Tensor) -> Tensor:
        """Return the part of the gates that comes from the unit, which is computed once per unit.

        Shape: (units, unit_size) → (units, 4 · stack_size)
        """
        gates: Tensor = self.from_unit(units)
        return gates

    def forward(self, inputs: Tensor, below: HiddenCell) -> HiddenCell:
        """Push units onto stacks.

        Shape: (stacks, 4 · stack_size), 2 × (stacks, stack_size) → 2 × (stacks, stack_size)
        """
        gates = inputs + self.from_below(below.hidden)
        size = below.hidden.shape[1]
        enter, keep, leave = torch.sigmoid(gates[:, : 3 * size]).chunk(3, dim=1)
        cell = torch.addcmul(keep * below.cell, enter, torch.tanh(gates[:, 3 * size :]))
        return HiddenCell(leave * torch.tanh(cell), cell)


N_WORDS = 2 * N_HEAD_WORDS + 2
"""Words per state: three per unit, and two for the dominance relation."""


class FeatureEmbeddings(nn.Module):
    """h_S^F: concatenated embeddings of head words, sentence and paragraph comparisons, and dominance (equation 7).

    Word embeddings are shared.
    """

    def __init__(self, word_size: int, boundary_size: int, deprel_size: int, n_deprels: int) -> None:
        super().__init__()
        self.sentence = nn.Embedding(len(Comparison), boundary_size)
        self.paragraph = nn.Embedding(len(Comparison), boundary_size)
        self.deprel = nn.Embedding(n_deprels, deprel_size)
        self.size = N_WORDS * word_size + 2 * boundary_size + deprel_size

    def forward(self, words: Tensor, comparisons: Tensor, deprels: Tensor) -> Tensor:
        """Embed the features of states.

        Shape: words (states, 8, word_size), comparisons (states, 2), deprels (states) → (states, size)
        """
        parts = [
            words.flatten(1),
            self.sentence(comparisons[:, 0]),
            self.paragraph(comparisons[:, 1]),
            self.deprel(deprels),
        ]
        return torch.cat(parts, dim=1)


class Lookahead(nn.Module):
    """The lookahead of the discriminative baseline: a backward LSTM over unread EDUs (section 5.2 of the paper).

    It reads the document from its end back to the next EDU. If no EDU is left, the state is learned.
    """

    def __init__(self, edu_size: int, lookahead_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(edu_size, lookahead_size)
        self.initial_hidden = nn.Parameter(torch.zeros(1, 1, lookahead_size))
        self.initial_cell = nn.Parameter(torch.zeros(1, 1, lookahead_size))

    def forward(self, edus: Tensor, sizes: list[int]) -> Tensor:
        """Return a row for each number of EDUs already read, 0 … m, for all documents in order.

        Shape: (EDUs of all documents, edu_size) → (EDUs + documents, lookahead_size)
        """
        backward = [document.flip(0) for document in torch.split(edus, sizes)]
        states, _ = self.lstm(pad_sequence(backward), _initial(self, len(sizes)))
        end = self.initial_hidden[0].to(states.dtype)
        rows = [states[:size, document].flip(0) for document, size in enumerate(sizes)]
        return torch.cat([part for row in rows for part in (row, end)])


N_DIRECT = 6
"""The number of EDUs with a direct connection: the first, last and nuclear EDU of each of the top two units."""


class StateLayer(nn.Module):
    """h_S (equation 8), from which actions and words are predicted.

    The paper concatenates the stack's vector and the structural features. As options, we add the layout of the top two
    units, direct connections to some of their EDUs, and a hidden layer. `part_sizes` are the widths of the parts in
    order: stack, features, layout, EDUs, lookahead.
    """

    def __init__(self, config: RnngConfig, features_size: int, lookahead_size: int) -> None:
        super().__init__()
        self.layout = nn.ModuleList(
            nn.Embedding(n, config.layout_size) for n in n_classes(config.layout_kinds) * 2 if config.layout_size
        )
        self.direct = (
            nn.Linear(2 * config.edu_size, N_DIRECT * config.direct_size, bias=False) if config.direct_size else None
        )
        self.part_sizes = [
            config.stack_size,
            features_size,
            len(self.layout) * (config.layout_size or 0),
            N_DIRECT * (config.direct_size or 0),
            lookahead_size,
        ]
        self.hidden = nn.Linear(sum(self.part_sizes), config.hidden_size) if config.hidden_size else None
        self.dropout = nn.Dropout(config.dropout)
        self.size = config.hidden_size or sum(self.part_sizes)

    def forward(
        self,
        stacks: Tensor,
        features: Tensor,
        layout: Tensor,
        edus: Tensor,
        direct_edus: Tensor,
        lookahead: Tensor | None,
    ) -> Tensor:
        """Return the vectors of states.

        Shape: stacks (states, stack_size), features (states, features_size), layout (states, 6), edus (EDUs, edu_size),
        direct_edus (states, 6), lookahead (states, lookahead_size) → (states, size). In `direct_edus`, a missing EDU
        has the total number of EDUs as its number.
        """
        parts = [stacks, features]
        parts += [table(layout[:, column]) for column, table in enumerate(self.layout)]
        if self.direct is not None:
            parts.append(_look_up(self.direct_vectors(edus), direct_edus))
        if lookahead is not None:
            parts.append(lookahead)
        return self.finish(torch.cat(parts, dim=1))

    def direct_vectors(self, edus: Tensor) -> Tensor:
        """Return the vector of each EDU in each of its six roles, and a row of zeros for a missing EDU.

        Shape: (EDUs, edu_size) → (EDUs + 1, 6, direct_size)
        """
        assert self.direct is not None
        vectors: Tensor = self.direct(edus)
        return torch.cat([vectors, torch.zeros_like(vectors[:1])]).view(len(edus) + 1, N_DIRECT, -1)

    def finish(self, joined: Tensor) -> Tensor:
        """Apply the hidden layer, if there is one."""
        if self.hidden is None:
            return joined
        return self.activate(self.hidden(joined))

    def activate(self, scores: Tensor) -> Tensor:
        """Apply the second half of the hidden layer, after its linear map."""
        activated: Tensor = self.dropout(torch.relu(scores))
        return activated


def _look_up(vectors: Tensor, edus: Tensor) -> Tensor:
    """Look up the EDUs of states. Shape: (EDUs + 1, 6, direct_size), (states, 6) → (states, 6 · direct_size)"""
    roles = torch.arange(N_DIRECT, device=edus.device)
    return vectors.flatten(0, 1).index_select(0, (edus * N_DIRECT + roles).flatten()).view(len(edus), -1)


class ActionHead(nn.Module):
    """p_trans: a softmax over the legal actions, GEN (column 0) and every RE(r, n) (equation 9).

    If there are several kinds of GEN, all but the first (with a new sentence, with a new paragraph, …) are in columns
    at the end. The text determines the kind, so only the probability of that kind is returned.
    """

    def __init__(self, state_size: int, n_labels: int, n_kinds: int = 1) -> None:
        super().__init__()
        self.n_labels = n_labels
        self.scores = nn.Linear(state_size, n_kinds + n_labels)

    def forward(self, states: Tensor, can_generate: Tensor, can_reduce: Tensor, boundaries: Tensor) -> Tensor:
        """Return the log-probabilities of actions, −∞ for illegal ones. `boundaries` are those before the next EDUs.

        Shape: states (states, state_size), can_generate (states), can_reduce (states), boundaries (states)
        → (states, 1 + labels)
        """
        return self.normalise(self.scores(states), can_generate, can_reduce, boundaries)

    def normalise(self, scores: Tensor, can_generate: Tensor, can_reduce: Tensor, boundaries: Tensor) -> Tensor:
        """Return the log-probabilities, given the scores."""
        n_kinds = scores.shape[1] - self.n_labels
        reduces = can_reduce[:, None].expand(-1, self.n_labels)
        is_legal = torch.cat([can_generate[:, None], reduces, can_generate[:, None].expand(-1, n_kinds - 1)], dim=1)
        logp = torch.log_softmax(scores.masked_fill(~is_legal, -torch.inf), dim=1)
        if n_kinds == 1:
            return logp
        column = torch.where(boundaries == 0, 0, self.n_labels + boundaries)
        return torch.cat([logp.gather(1, column[:, None]), logp[:, 1 : 1 + self.n_labels]], dim=1)


class LanguageModel(nn.Module):
    """p_gen: a decoder LSTM over the words of an EDU, combined with the stack in its output (equations 10 to 14).

    The decoder reads only the words of the EDU, so its states are the same for every stack. The scores of a word are
    the sum of a part from the stack and a part from the decoder. W_gen is tied: [h_S; h_DEC] is projected to the width
    of a word and multiplied by the shared embeddings.
    """

    def __init__(self, word_size: int, state_size: int, decoder_size: int, n_words: int) -> None:
        super().__init__()
        self.decoder = nn.LSTM(word_size, decoder_size)
        self.initial_hidden = nn.Parameter(torch.zeros(1, 1, decoder_size))
        self.initial_cell = nn.Parameter(torch.zeros(1, 1, decoder_size))
        self.from_stack = nn.Linear(state_size, word_size)
        self.from_decoder = nn.Linear(decoder_size, word_size, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_words - FIRST_OUTPUT_ID))

    @property
    def outputs(self) -> slice:
        """The words that can be generated. All others are generated as `<unk>`."""
        return slice(FIRST_OUTPUT_ID, FIRST_OUTPUT_ID + len(self.bias))

    def targets(self, words: Tensor) -> Tensor:
        """Return the number of each word among those that can be generated."""
        return torch.where(words < self.outputs.stop, words, UNK_ID) - FIRST_OUTPUT_ID

    def decode(self, words: PackedSequence) -> Tensor:
        """Return the initial state, then the decoder state after each word, in packed order.

        Shape: (EDUs, length, word_size) packed → (1 + words, decoder_size)
        """
        states, _ = self.decoder(words, _initial(self, int(words.batch_sizes[0])))
        return torch.cat([self.initial_hidden[0].to(states.data.dtype), states.data])

    def forward(self, queries: Tensor, embeddings: Tensor, is_blank: Tensor | None, unknown: Tensor) -> Tensor:
        """Return the log-probabilities of all words that can be generated.

        `queries` are the sums of both projections. `is_blank` marks the words whose embedding is replaced by that of
        `<unk>` (blank noise).

        Shape: queries (words, word_size), embeddings (vocabulary, word_size), is_blank (words, vocabulary),
        unknown (word_size) → (words, outputs)
        """
        scores = queries @ embeddings[self.outputs].T
        if is_blank is not None:
            scores = torch.where(is_blank[:, self.outputs], (queries @ unknown)[:, None], scores)
        return torch.log_softmax(scores + self.bias, dim=1)
