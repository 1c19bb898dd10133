"""Random documents as numbers, with random trees over them."""

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from genrst.rnng.config import SPECIALS
from genrst.rnng.examples import Example
from genrst.rnng.transitions.features import Syntax
from genrst.text.layout import Kind

N_WORDS, N_DEPRELS, N_LABELS = 23, 5, 6
NUCLEUS_IS_RIGHT = (False, *(label % 3 == 1 for label in range(N_LABELS)))


def random_actions(
    n_edus: int, rng: random.Random, n_labels: int = N_LABELS, eagerness: Callable[[int], float] = lambda size: 0.5
) -> tuple[int, ...]:
    """A random computation; `eagerness` is how likely it generates when it could reduce, by the size of the stack."""
    actions, size, n_read = [], 0, 0
    while n_read < n_edus or size > 1:
        if n_read < n_edus and (size < 2 or rng.random() < eagerness(size)):
            actions.append(0)
            size, n_read = size + 1, n_read + 1
        else:
            actions.append(rng.randint(1, n_labels))
            size -= 1
    return tuple(actions)


def random_kinds(sentences: Sequence[int], paragraphs: Sequence[int], seed: int) -> list[int]:
    rng = random.Random(f"{seed} kinds")
    kinds = [rng.choice((Kind.ITEM, Kind.PARAGRAPH, Kind.HEADING))]
    for edu in range(1, len(sentences)):
        if paragraphs[edu] != paragraphs[edu - 1]:
            kinds.append(rng.choice((Kind.ITEM, Kind.PARAGRAPH, Kind.TURN, Kind.HEADING)))
        elif sentences[edu] != sentences[edu - 1]:
            kinds.append(rng.choice((Kind.SENTENCE, Kind.TURN)))
        else:
            kinds.append(Kind.NOTHING)
    return [int(kind) for kind in kinds]


def random_example(n_edus: int, seed: int = 0) -> Example:
    rng = random.Random(seed)
    lengths = [rng.randint(1, 5) for _ in range(n_edus)]
    edu_tokens = [0, *np.cumsum(lengths).tolist()]
    sentences = np.cumsum([0] + [rng.random() < 0.5 for _ in range(n_edus - 1)]).tolist()
    paragraphs = np.cumsum([0] + [a != b and rng.random() < 0.5 for a, b in pairwise(sentences)]).tolist()
    heads = []
    for edu, length in enumerate(lengths):
        same = [other for other in range(n_edus) if sentences[other] == sentences[edu]]
        first, last = edu_tokens[same[0]], edu_tokens[same[-1] + 1]
        heads += [rng.randrange(first, last) for _ in range(length)]
    words = np.array([rng.randrange(len(SPECIALS) - 2, N_WORDS) for _ in heads], dtype=np.int64)
    deprels = [rng.randrange(1, N_DEPRELS) for _ in heads]
    return Example(
        id=f"random-{seed}",
        edu_words=words,
        edu_lengths=np.array(lengths, dtype=np.int64),
        token_words=words,
        syntax=Syntax(heads, deprels, edu_tokens, sentences, paragraphs, random_kinds(sentences, paragraphs, seed)),
        actions=random_actions(n_edus, rng),
    )
