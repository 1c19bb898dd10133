"""What falls off the beams of a search, for those who ask where a tree was lost."""

from collections.abc import Sequence

import torch
from torch import Tensor

from genrst.search.hypotheses import Beams
from genrst.search.results import Fallen, Found
from genrst.search.successors import Chosen


def trace_successors(
    found: Sequence[Found], documents: Tensor, scores: Tensor, best: Tensor, beams: Beams, offered: Chosen
) -> None:
    """Report the successors that were offered to beams and are not among their best.

    Shape: documents (beams), scores (beams, offered), best (beams, places): columns of the scores
    """
    is_generate = offered.actions == 0
    n_generated = beams.n_generated.flatten()[offered.parents] + is_generate
    sizes = beams.sizes.flatten()[offered.parents] + torch.where(is_generate, 1, -1)
    trace_places(found, documents, scores, best, n_generated, sizes)


def trace_places(
    found: Sequence[Found], documents: Tensor, scores: Tensor, best: Tensor, n_generated: Tensor, sizes: Tensor
) -> None:
    """Report the places of beams that are not among their best."""
    is_fallen = (scores > -torch.inf).scatter(1, best, False)
    kept = scores.gather(1, best[:, -1:])[:, 0]
    beams, _ = is_fallen.nonzero(as_tuple=True)
    columns = (documents[beams], n_generated[is_fallen], sizes[is_fallen], scores[is_fallen], kept[beams])
    for document, generated, size, logp, kept_logp in zip(*(column.tolist() for column in columns), strict=True):
        found[document].trace.append(Fallen(generated, generated - size, logp, kept_logp))
