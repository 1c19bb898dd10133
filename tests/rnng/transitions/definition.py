"""The structural features of two units by their definition, token by token: the judge of the tables."""

from bisect import bisect_right
from collections.abc import Sequence

from genrst.rnng.config import NONE_ID, PAD_ID
from genrst.rnng.examples import Example
from genrst.rnng.transitions.features import NOTHING, Comparison, Syntax
from genrst.text.layout import SIZES


def tokens(syntax: Syntax, start: int, stop: int) -> range:
    return range(syntax.edu_tokens[start], syntax.edu_tokens[stop])


def head_words(syntax: Syntax, start: int, stop: int) -> tuple[int, ...]:
    """Up to three words of a unit whose head is outside it; the head of a root is outside everything."""
    unit = tokens(syntax, start, stop)
    outside = [token for token in unit if syntax.heads[token] == token or syntax.heads[token] not in unit]
    return (*outside, *[NOTHING] * 3)[:3]


def dominance(syntax: Syntax, start: int, middle: int, stop: int) -> tuple[int, int, int]:
    """The first dependency between two units: a word, its head, the relation."""
    left, right = tokens(syntax, start, middle), tokens(syntax, middle, stop)
    for token in (*left, *right):
        if syntax.heads[token] in (right if token in left else left):
            return token, syntax.heads[token], syntax.deprels[token]
    return NOTHING, NOTHING, NOTHING


def compare(groups: Sequence[int], start: int, middle: int, stop: int) -> Comparison:
    left, right = set(groups[start:middle]), set(groups[middle:stop])
    if len(left) > 1 or len(right) > 1:
        return Comparison.INCOMPARABLE
    return Comparison.SAME if left == right else Comparison.DIFFERENT


def unit_layout(found: Sequence[int], start: int, stop: int) -> tuple[int, int, int]:
    """The boundary before a unit, the strongest one inside it, and the class of its size; zeros for no unit."""
    if start < 0:
        return 0, 0, 0
    return 1 + found[start], 1 + max(found[start + 1 : stop], default=0), 1 + bisect_right(SIZES, stop - start)


def encode(example: Example, second: int, top: int, stop: int) -> tuple[list[int], tuple[int, int], int]:
    """Words, comparisons and dependency relation of a state as the network looks them up; −1 for no unit."""
    syntax = example.syntax

    def words(found: Sequence[int], missing: int) -> list[int]:
        return [missing if token == NOTHING else int(example.token_words[token]) for token in found]

    heads = words(head_words(syntax, top, stop), PAD_ID) if top >= 0 else [NONE_ID] * 3
    if second < 0:
        return [*heads, *[NONE_ID] * 5], (Comparison.NO_PAIR, Comparison.NO_PAIR), 0
    word, head, deprel = dominance(syntax, second, top, stop)
    heads += [*words(head_words(syntax, second, top), PAD_ID), *words([word, head], NONE_ID)]
    compared = compare(syntax.sentences, second, top, stop), compare(syntax.paragraphs, second, top, stop)
    return heads, compared, max(deprel, 0)
