"""From the tokens at which EDUs start to a document with these EDUs."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.document import Document
from genrst.corpora.words import spans_between
from genrst.text.speakers import speech_start


def with_edus(document: Document, starts_edu: NDArray[np.bool_]) -> Document:
    """The document with EDUs from token to token, each from its first to its last character; its tree is gone.

    The name of a speaker is no EDU: it belongs to the first one of the turn.
    """
    starts = starts_edu.copy()
    offsets = np.array([token.start for token in document.tokens])
    for paragraph in document.paragraphs:
        if paragraph.label == "sp":
            borders = [paragraph.start, speech_start(document.text or "", paragraph.start)]
            starts[slice(*np.searchsorted(offsets, borders, side="right"))] = False
    edus = spans_between(document.tokens, np.flatnonzero(starts).tolist())
    return replace(document, edus=edus, tree=None, signals=(), secondary_edges=(), log_probability=None, model=None)
