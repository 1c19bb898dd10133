"""The paper's equations, one action at a time, on the parameters of a network: the judge of the batched one.

Nothing here uses the layers of `genrst.rnng`, only their weights; states are Python lists of vectors.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from genrst.rnng.config import EOS_ID, FIRST_OUTPUT_ID, NONE_ID, PAD_ID, UNK_ID
from genrst.rnng.examples import Example
from genrst.rnng.layers import EduEncoder
from genrst.rnng.network import Network
from tests.rnng.transitions.definition import encode

Pair = tuple[Tensor, Tensor]


def lstm_cell(gates: Tensor, cell: Tensor, order: str) -> Pair:
    """An LSTM step from its gates, given in the order of the letters i, f, o, g."""
    named = dict(zip(order, gates.chunk(4), strict=True))
    cell = torch.sigmoid(named["f"]) * cell + torch.sigmoid(named["i"]) * torch.tanh(named["g"])
    return torch.sigmoid(named["o"]) * torch.tanh(cell), cell


def torch_lstm(lstm: torch.nn.LSTM, inputs: Sequence[Tensor], initial: Pair, suffix: str = "l0") -> list[Tensor]:
    """The hidden states of one layer and direction of `nn.LSTM`."""
    weights = dict(lstm.named_parameters())
    hidden, cell = initial
    states = []
    for vector in inputs:
        gates = weights[f"weight_ih_{suffix}"] @ vector + weights[f"bias_ih_{suffix}"]
        gates = gates + weights[f"weight_hh_{suffix}"] @ hidden + weights[f"bias_hh_{suffix}"]
        hidden, cell = lstm_cell(gates, cell, "ifgo")
        states.append(hidden)
    return states


class Reference:
    """Scores one document."""

    def __init__(self, network: Network, example: Example, is_blank: Tensor | None = None) -> None:
        self.network, self.example = network, example
        self.table = network.embeddings.weight
        if is_blank is not None:
            self.table = torch.where(is_blank[:, None], self.table[UNK_ID], self.table)
        # One look-up for all words of the document: a gradient as large as the table for each would be unfair.
        self.words = torch.tensor(sorted({*example.edu_words.tolist(), *example.token_words.tolist(), PAD_ID, NONE_ID}))
        self.vectors = dict(zip(self.words.tolist(), self.table[self.words], strict=True))
        ends = example.edu_lengths.cumsum()
        self.edu_words = [
            [int(word) for word in example.edu_words[end - length : end]]
            for end, length in zip(ends, example.edu_lengths, strict=True)
        ]
        self.edus = [self.encode(words) for words in self.edu_words]

    def embed(self, word: int) -> Tensor:
        vector: Tensor = self.vectors[word]
        return vector

    def encode(self, words: list[int]) -> Tensor:
        """Equations 2 and 3."""
        encoder = self.network.edu_encoder
        assert isinstance(encoder, EduEncoder)
        inputs = [self.embed(word) for word in words]
        for layer in range(self.network.config.edu_layers):
            starts = [
                (encoder.initial_hidden[2 * layer + way, 0], encoder.initial_cell[2 * layer + way, 0]) for way in (0, 1)
            ]
            forward = torch_lstm(encoder.lstm, inputs, starts[0], f"l{layer}")
            backward = torch_lstm(encoder.lstm, inputs[::-1], starts[1], f"l{layer}_reverse")[::-1]
            inputs = [torch.cat(pair) for pair in zip(forward, backward, strict=True)]
        return torch.cat([forward[-1], backward[0]])

    def leaf(self, edu: int) -> Pair:
        """Equation 4."""
        linear = self.network.composition.leaf
        hidden, cell = (linear.weight @ self.edus[edu] + linear.bias).chunk(2)
        return hidden, cell

    def compose(self, nuclear: int, label: int, left: Pair, right: Pair) -> Pair:
        """Equation 5."""
        layer = self.network.composition
        x = torch.cat([self.edus[nuclear], layer.relations.weight[label]])
        gates = layer.from_input.weight @ x + layer.from_input.bias
        gates = gates + layer.from_children.weight @ torch.cat([left[0], right[0]])
        i, f_left, f_right, o, u = gates.chunk(5)
        cell = torch.sigmoid(i) * torch.tanh(u)
        cell = cell + torch.sigmoid(f_left) * left[1] + torch.sigmoid(f_right) * right[1]
        return torch.sigmoid(o) * torch.tanh(cell), cell

    def embed_stack(self, units: Sequence[Tensor]) -> Tensor:
        """Equation 6, from the bottom up every time."""
        layer = self.network.stack
        hidden, cell = layer.initial_hidden[0], layer.initial_cell[0]
        for unit in units:
            gates = layer.from_unit.weight @ unit + layer.from_unit.bias + layer.from_below.weight @ hidden
            hidden, cell = lstm_cell(gates, cell, "ifog")
        return hidden

    def embed_features(self, spans: Sequence[tuple[int, int]]) -> Tensor:
        """Equation 7."""
        layer = self.network.features
        second, (top, stop) = spans[-2][0] if len(spans) > 1 else -1, spans[-1] if spans else (-1, 0)
        words, (sentence, paragraph), deprel = encode(self.example, second, top, stop)
        embedded = [self.embed(word) for word in words]
        return torch.cat(
            [*embedded, layer.sentence.weight[sentence], layer.paragraph.weight[paragraph], layer.deprel.weight[deprel]]
        )

    def action_logp(self, state: Tensor, n_read: int, size: int) -> Tensor:
        """Equation 9 over the legal actions of Table 1; the others are −∞."""
        layer = self.network.action_head
        scores = layer.scores.weight @ state + layer.scores.bias
        is_left = n_read < self.example.n_edus
        n_more = len(scores) - 1 - layer.n_labels
        legal = torch.tensor([is_left] + [size >= 2] * layer.n_labels + [is_left] * n_more)
        total = torch.logsumexp(scores[legal], dim=0)
        logp = torch.where(legal, scores - total, -torch.inf)
        kind = self.boundary(n_read) if n_more and is_left else 0
        return torch.cat([logp[kind + layer.n_labels if kind else 0][None], logp[1 : 1 + layer.n_labels]])

    def boundary(self, edu: int) -> int:
        """2 if the EDU begins a paragraph, 1 if only a sentence; with kinds, what the document says."""
        syntax = self.example.syntax
        if self.network.config.layout_kinds:
            return syntax.kinds[edu]
        if edu == 0 or syntax.paragraphs[edu] != syntax.paragraphs[edu - 1]:
            return 2
        return int(syntax.sentences[edu] != syntax.sentences[edu - 1])

    def state(
        self, units: Sequence[Tensor], spans: Sequence[tuple[int, int]], nuclear: Sequence[int], n_read: int
    ) -> Tensor:
        """Equation 8, and what is added to it."""
        layer, nothing = self.network.state, torch.zeros_like(self.edus[0])
        parts = [self.embed_stack(units), self.embed_features(spans)]
        shown = []
        tables = list(layer.layout)
        for place in (-1, -2):
            is_there = len(spans) >= -place
            start, stop = spans[place] if is_there else (0, 0)
            numbers = [0, 0, 0]
            if is_there:
                inside = max([self.boundary(edu) for edu in range(start + 1, stop)], default=0)
                sizes = (1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 65)
                numbers = [1 + self.boundary(start), 1 + inside, sum(stop - start >= size for size in sizes)]
            parts += [tables.pop(0).weight[number] for number in numbers if tables]  # type: ignore[index]
            shown += [self.edus[start], self.edus[stop - 1], self.edus[nuclear[place]]] if is_there else [nothing] * 3
        if layer.direct is not None:
            weights = layer.direct.weight.chunk(6)
            parts += [weight @ edu for weight, edu in zip(weights, shown, strict=True)]
        if self.network.lookahead is not None:
            parts.append(self.look_ahead(n_read))
        state = torch.cat(parts)
        return state if layer.hidden is None else torch.relu(layer.hidden.weight @ state + layer.hidden.bias)

    def look_ahead(self, n_read: int) -> Tensor:
        layer = self.network.lookahead
        assert layer is not None
        initial = layer.initial_hidden[0, 0], layer.initial_cell[0, 0]
        return [initial[0], *torch_lstm(layer.lstm, self.edus[n_read:][::-1], initial)][-1]

    def word_distributions(self, state: Tensor, edu: int) -> list[Tensor]:
        """Equations 10 to 14: log-probabilities of all words at each position of an EDU and at its end."""
        layer = self.network.language_model
        assert layer is not None
        initial = layer.initial_hidden[0, 0], layer.initial_cell[0, 0]
        inputs = [self.embed(word) for word in self.edu_words[edu]]
        decoded = [initial[0], *torch_lstm(layer.decoder, inputs, initial)]
        projection = torch.cat([layer.from_stack.weight, layer.from_decoder.weight], dim=1)
        distributions = []
        for hidden in decoded:
            query = projection @ torch.cat([state, hidden]) + layer.from_stack.bias
            scores = self.table[FIRST_OUTPUT_ID : FIRST_OUTPUT_ID + len(layer.bias)] @ query + layer.bias
            distributions.append(scores - torch.logsumexp(scores, dim=0))
        return distributions

    def score(self, nucleus_is_right: Sequence[bool]) -> tuple[list[Tensor], list[Tensor]]:
        """The log-probabilities of the gold actions and of the words they generate, in order."""
        units: list[Pair] = []
        spans: list[tuple[int, int]] = []
        nuclear: list[int] = []
        n_read = 0
        actions, words = [], []
        for action in self.example.actions:
            state = self.state([unit[0] for unit in units], spans, nuclear, n_read)
            actions.append(self.action_logp(state, n_read, len(units))[action])
            if action == 0:
                if self.network.language_model is not None:
                    targets = [*self.edu_words[n_read], EOS_ID]
                    distributions = self.word_distributions(state, n_read)
                    n_outputs = FIRST_OUTPUT_ID + len(distributions[0])
                    targets = [word if word < n_outputs else UNK_ID for word in targets]
                    words += [d[t - FIRST_OUTPUT_ID] for d, t in zip(distributions, targets, strict=True)]
                units.append(self.leaf(n_read))
                spans.append((n_read, n_read + 1))
                nuclear.append(n_read)
                n_read += 1
            else:
                right, left = units.pop(), units.pop()
                (_, stop), (start, _) = spans.pop(), spans.pop()
                right_nuclear, left_nuclear = nuclear.pop(), nuclear.pop()
                nuclear.append(right_nuclear if nucleus_is_right[action] else left_nuclear)
                units.append(self.compose(nuclear[-1], action - 1, left, right))
                spans.append((start, stop))
        return actions, words
