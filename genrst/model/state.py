"""The state of the stack, h_S (equation 8), from which actions and words are predicted, with what we add to it.

The paper joins the stack's vector and the structural features. Ours can also see the layout of the top two units, some
of their EDUs directly, and pass all of it through a hidden layer; without these options this is the paper's.
"""

import torch
from torch import Tensor, nn

from genrst.model.config import ModelConfig
from genrst.transitions.layout import n_classes

N_DIRECT = 6
"""EDUs that are seen directly: the first, the last and the nuclear one of the top unit, then of the second."""


class StateLayer(nn.Module):
    """Joins the parts of a state; `part_sizes` are their widths in order: stack, features, layout, EDUs, lookahead."""

    def __init__(self, config: ModelConfig, features_size: int, lookahead_size: int) -> None:
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
        """The vectors of states.

        Shape: stacks (states, stack_size), features (states, features_size), layout (states, 6), edus (EDUs, edu_size),
        direct_edus (states, 6), whose missing EDUs have the number of all, lookahead (states, lookahead_size)
        → (states, size)
        """
        parts = [stacks, features]
        parts += [table(layout[:, column]) for column, table in enumerate(self.layout)]
        if self.direct is not None:
            parts.append(_look_up(self.direct_vectors(edus), direct_edus))
        if lookahead is not None:
            parts.append(lookahead)
        return self.finish(torch.cat(parts, dim=1))

    def direct_vectors(self, edus: Tensor) -> Tensor:
        """What each EDU shows in each of the six places, and a row of zeros for none.

        Shape: (EDUs, edu_size) → (EDUs + 1, 6, direct_size)
        """
        assert self.direct is not None
        vectors: Tensor = self.direct(edus)
        return torch.cat([vectors, torch.zeros_like(vectors[:1])]).view(len(edus) + 1, N_DIRECT, -1)

    def finish(self, joined: Tensor) -> Tensor:
        """The hidden layer, if there is one."""
        if self.hidden is None:
            return joined
        return self.activate(self.hidden(joined))

    def activate(self, scores: Tensor) -> Tensor:
        """The other half of the hidden layer."""
        activated: Tensor = self.dropout(torch.relu(scores))
        return activated


def _look_up(vectors: Tensor, edus: Tensor) -> Tensor:
    """Shape: (EDUs + 1, 6, direct_size), (states, 6) → (states, 6 · direct_size)"""
    places = torch.arange(N_DIRECT, device=edus.device)
    return vectors.flatten(0, 1).index_select(0, (edus * N_DIRECT + places).flatten()).view(len(edus), -1)
