"""The whole network, which computes p(actions, words) of documents with their trees level by level.

Its layers are in `genrst.rnng.layers`, and `docs/concepts/generative-model.md` explains them equation by equation.
Search uses the same layers one action at a time (`genrst.rnng.scoring`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from genrst.encoder.batch import PieceWindows
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.encoder.windows import WindowShape
from genrst.rnng.batch import Batch, Trees, Words, pack_examples, pack_words
from genrst.rnng.config import SPECIALS, UNK_ID, RnngConfig
from genrst.rnng.examples import Example
from genrst.rnng.layers import (
    ActionHead,
    Composition,
    DocumentEncoder,
    EduEncoder,
    FeatureEmbeddings,
    LanguageModel,
    Lookahead,
    StackLSTM,
    StateLayer,
    stack_rows,
)
from genrst.rnng.transitions.features import n_boundaries


class LogProbabilities(NamedTuple):
    """The log-probabilities of the correct actions at every step, and of every generated word."""

    actions: Tensor
    words: Tensor


class Network(nn.Module):
    """The paper's model, generative, or discriminative with a lookahead instead of a language model."""

    def __init__(
        self,
        config: RnngConfig,
        n_words: int,
        n_deprels: int,
        n_labels: int,
        pretrained: PretrainedEncoder | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        edu_size = 2 * config.edu_size
        self.embeddings = nn.Embedding(n_words, config.word_size)
        # The embeddings are also the output layer. Rows of norm 1 keep its initial scores small.
        nn.init.normal_(self.embeddings.weight, std=config.word_size**-0.5)
        self.edu_encoder = (
            EduEncoder(config.word_size, config.edu_size, config.edu_layers) if pretrained is None else pretrained
        )
        self.composition = Composition(edu_size, config.relation_size, config.unit_size, n_labels)
        self.stack = StackLSTM(config.unit_size, config.stack_size)
        self.features = FeatureEmbeddings(config.word_size, config.boundary_size, config.deprel_size, n_deprels)
        self.lookahead = Lookahead(edu_size, config.lookahead_size) if config.kind == "discriminative" else None
        self.state = StateLayer(config, self.features.size, config.lookahead_size if self.lookahead else 0)
        n_outputs = min(n_words, len(SPECIALS) + (config.output_words or n_words))
        self.language_model = (
            LanguageModel(config.word_size, self.state.size, config.decoder_size, n_outputs)
            if config.kind == "generative"
            else None
        )
        n_kinds = 1 if config.layout_size is None else n_boundaries(self.has_kinds)
        self.action_head = ActionHead(self.state.size, n_labels, n_kinds)
        self.document = (
            DocumentEncoder(edu_size, config.document_size, config.kind == "generative")
            if config.document_size
            else None
        )
        self.dropout = nn.Dropout(config.dropout)
        self.word_dropout = nn.Dropout(config.word_dropout)

    def forward(self, batch: Batch, is_blank: Tensor | None = None) -> LogProbabilities:
        """Score the correct actions at every step of the derivations of a batch.

        `is_blank` (documents, vocabulary) marks words whose input and output embeddings are replaced by that of
        `<unk>`.
        """
        packed = self.embed_packed(batch.words, is_blank)
        edus = self._encode(packed if batch.windows is None else batch.windows, batch.n_edus)
        states = self.state_vectors(batch, edus, is_blank)
        action_logp = self._action_logp(batch, states)
        if self.language_model is None:
            return LogProbabilities(action_logp, action_logp.new_zeros(0))
        return LogProbabilities(action_logp, self._word_logp(batch, states, packed, is_blank))

    @property
    def has_kinds(self) -> bool:
        """Whether the network distinguishes headings, list items and turns of speakers from other paragraphs."""
        return self.config.layout_kinds

    @property
    def window_shape(self) -> WindowShape | None:
        """The shape of the windows for the pretrained encoder; None if there is none."""
        return self.edu_encoder.shape if isinstance(self.edu_encoder, PretrainedEncoder) else None

    def encode_edus(self, examples: Sequence[Example]) -> Tensor:
        """Return the vectors of all EDUs of documents.

        Shape: → (EDUs, 2 · edu_size)
        """
        device = self.embeddings.weight.device
        if self.window_shape is None:
            read: PackedSequence | PieceWindows = self.embed_packed(pack_words(examples).to(device))
        else:
            read = pack_examples(examples, self.window_shape).to(device)
        return self._encode(read, [example.n_edus for example in examples])

    def _encode(self, read: PackedSequence | PieceWindows, n_edus: Sequence[int]) -> Tensor:
        """Return the vectors of EDUs, given the input of the encoder: words, or windows of word pieces."""
        edus: Tensor = self.dropout(self.edu_encoder(read))
        return edus if self.document is None else edus + self.dropout(self.document(edus, n_edus))

    def embed_packed(self, words: Words, is_blank: Tensor | None = None) -> PackedSequence:
        """Return the embeddings of all words, packed."""
        return words.pack(self.embeddings(_blank(words.words, words.documents, is_blank)))

    def state_vectors(self, batch: Batch, edus: Tensor, is_blank: Tensor | None = None) -> Tensor:
        """Return h_S before every step (equation 8).

        Shape: (steps, state.size)
        """
        units = self._compose_all(batch.trees, edus)
        stacks = self._push_all(batch.trees, units)
        steps = batch.steps
        documents = steps.documents[:, None].expand_as(steps.features.words)
        words = self.embeddings(_blank(steps.features.words, documents, is_blank))
        features = self.features(words, steps.features.comparisons, steps.features.deprels)
        ahead = None
        if self.lookahead is not None:
            ahead = self.lookahead(edus, list(batch.n_edus)).index_select(0, steps.n_read)
        stacks = stacks.index_select(0, batch.trees.state_rows)
        states: Tensor = self.state(stacks, features, steps.features.layout, edus, steps.direct_edus, ahead)
        return states

    def _compose_all(self, trees: Trees, edus: Tensor) -> Tensor:
        """Return the hidden states of all units, in the order of their steps."""
        waiting = self.composition.leaves(edus)
        inputs = self.composition.inputs(edus.index_select(0, trees.nuclear_edus), trees.labels)
        done, first = [waiting.hidden], 0
        for left, right, keep in trees.tree_levels:
            composed = self.composition(inputs[first : first + len(left)], waiting.rows(left), waiting.rows(right))
            waiting = stack_rows([waiting.rows(keep), composed])
            done.append(composed.hidden)
            first += len(left)
        return torch.cat(done).index_select(0, trees.unit_rows)

    def _push_all(self, trees: Trees, units: Tensor) -> Tensor:
        """Return the hidden states of the empty stack and of all others, depth by depth."""
        inputs = self.stack.inputs(units)
        level = self.stack.empty()
        done = [level.hidden.to(inputs.dtype)]
        for pushed, below in trees.stack_levels:
            level = self.stack(inputs.index_select(0, pushed), level.rows(below))
            done.append(level.hidden)
        return torch.cat(done)

    def _action_logp(self, batch: Batch, states: Tensor) -> Tensor:
        steps = batch.steps
        logp: Tensor = self.action_head(states, steps.can_generate, steps.can_reduce, steps.features.boundaries)
        first, second = logp.gather(1, steps.correct_actions).unbind(dim=1)
        return torch.where(
            steps.correct_actions[:, 0] == steps.correct_actions[:, 1], first, torch.logaddexp(first, second)
        )

    def _word_logp(self, batch: Batch, states: Tensor, packed: PackedSequence, is_blank: Tensor | None) -> Tensor:
        assert self.language_model is not None
        targets = batch.targets
        decoded = self.language_model.from_decoder(self.language_model.decode(packed))
        from_stack = self.language_model.from_stack(states)
        queries = from_stack.index_select(0, targets.steps) + decoded.index_select(0, targets.decoder_rows)
        queries = self.word_dropout(queries)
        blank = None if is_blank is None else is_blank.index_select(0, targets.documents)
        logp: Tensor = self.language_model(queries, self.embeddings.weight, blank, self.embeddings.weight[UNK_ID])
        return logp.gather(1, self.language_model.targets(targets.words)[:, None])[:, 0]


def _blank(words: Tensor, documents: Tensor, is_blank: Tensor | None) -> Tensor:
    """Replace words that are blanked in their document by `<unk>`."""
    if is_blank is None:
        return words
    return torch.where(is_blank[documents, words], UNK_ID, words)
