"""The structural action distribution p_trans (equation 9): a softmax over the legal actions."""

import torch
from torch import Tensor, nn


class ActionHead(nn.Module):
    """Scores for GEN (column 0) and every RE(r, n).

    If GEN comes in several kinds, all but the first (with a new sentence, with a new paragraph, …) stand in columns at
    the end. The text says which kind comes, so only that one is asked for.
    """

    def __init__(self, state_size: int, n_labels: int, n_kinds: int = 1) -> None:
        super().__init__()
        self.n_labels = n_labels
        self.scores = nn.Linear(state_size, n_kinds + n_labels)

    def forward(self, states: Tensor, can_generate: Tensor, can_reduce: Tensor, boundaries: Tensor) -> Tensor:
        """Log-probabilities of the actions; illegal ones have −∞. `boundaries` are what the next EDUs begin.

        Shape: states (states, state_size), can_generate (states), can_reduce (states), boundaries (states)
        → (states, 1 + labels)
        """
        return self.normalise(self.scores(states), can_generate, can_reduce, boundaries)

    def normalise(self, scores: Tensor, can_generate: Tensor, can_reduce: Tensor, boundaries: Tensor) -> Tensor:
        """The same from scores."""
        n_kinds = scores.shape[1] - self.n_labels
        reduces = can_reduce[:, None].expand(-1, self.n_labels)
        is_legal = torch.cat([can_generate[:, None], reduces, can_generate[:, None].expand(-1, n_kinds - 1)], dim=1)
        logp = torch.log_softmax(scores.masked_fill(~is_legal, -torch.inf), dim=1)
        if n_kinds == 1:
            return logp
        column = torch.where(boundaries == 0, 0, self.n_labels + boundaries)
        return torch.cat([logp.gather(1, column[:, None]), logp[:, 1 : 1 + self.n_labels]], dim=1)
