"""The structural action distribution p_trans (equation 9): a softmax over the legal actions."""

import torch
from torch import Tensor, nn


class ActionHead(nn.Module):
    """Scores for GEN (column 0) and every RE(r, n)."""

    def __init__(self, state_size: int, n_actions: int) -> None:
        super().__init__()
        self.scores = nn.Linear(state_size, n_actions)

    def forward(self, states: Tensor, can_generate: Tensor, can_reduce: Tensor) -> Tensor:
        """Log-probabilities of the actions; illegal ones have −∞.

        Shape: states (states, state_size), can_generate (states), can_reduce (states) → (states, actions)
        """
        scores = self.scores(states)
        is_illegal = torch.cat([~can_generate[:, None], ~can_reduce[:, None].expand(-1, scores.shape[1] - 1)], dim=1)
        return torch.log_softmax(scores.masked_fill(is_illegal, -torch.inf), dim=1)
