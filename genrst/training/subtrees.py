"""Parts of training documents as documents of their own: what a unit covers, with the tree that it has there."""

import random
from dataclasses import replace

import numpy as np

from genrst.model.examples import Example
from genrst.model.schedule import Units
from genrst.transitions.features import Syntax

LEAST = 4
"""The fewest EDUs of a part: in less there is nothing above a sentence to be learned."""


def draw_subtree(example: Example, units: Units, generator: random.Random) -> Example:
    """The part of a document that a random unit covers; all of it if it has no smaller unit that is large enough."""
    sizes = units.stop - units.start
    steps = np.flatnonzero((sizes >= LEAST) & (sizes < example.n_edus)).tolist()
    return cut_out(example, units, generator.choice(steps)) if steps else example


def cut_out(example: Example, units: Units, step: int) -> Example:
    """The part of a document that the unit made by a step covers, with its tree."""
    start, stop = int(units.start[step]), int(units.stop[step])
    n_steps = 2 * (stop - start) - 1
    return replace(cut_edus(example, start, stop), actions=example.actions[step + 1 - n_steps : step + 1])


def cut_edus(example: Example, start: int, stop: int) -> Example:
    """The EDUs [start, stop) of a document, without a tree. A word whose head is outside becomes a root."""
    syntax = example.syntax
    first, last = syntax.edu_tokens[start], syntax.edu_tokens[stop]
    heads = [head if first <= head < last else token for token, head in enumerate(syntax.heads[first:last], first)]
    part = replace(
        example,
        id=f"{example.id} {start}-{stop}",
        token_words=example.token_words[first:last],
        actions=(),
        syntax=Syntax(
            [head - first for head in heads],
            syntax.deprels[first:last],
            [token - first for token in syntax.edu_tokens[start : stop + 1]],
            [number - syntax.sentences[start] for number in syntax.sentences[start:stop]],
            [number - syntax.paragraphs[start] for number in syntax.paragraphs[start:stop]],
            syntax.kinds[start:stop],
        ),
    )
    for values, lengths in (("edu_words", "edu_lengths"), ("pieces", "piece_lengths")):
        ends = np.concatenate([[0], np.cumsum(getattr(example, lengths))])
        own = getattr(example, lengths)[start:stop]
        # A document without word pieces has none to cut.
        inside = slice(ends[start], ends[stop]) if len(own) else slice(0)
        part = replace(part, **{values: getattr(example, values)[inside], lengths: own})
    return part
