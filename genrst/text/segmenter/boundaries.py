"""From the tokens at which EDUs start to a document with these EDUs."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.document import Document
from genrst.corpora.words import spans_between


def with_edus(document: Document, starts_edu: NDArray[np.bool_]) -> Document:
    """The document with EDUs from token to token, each from its first to its last character; its tree is gone."""
    edus = spans_between(document.tokens, np.flatnonzero(starts_edu).tolist())
    return replace(document, edus=edus, tree=None, signals=(), secondary_edges=(), log_probability=None, model=None)
