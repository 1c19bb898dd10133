"""From annotated words to running text: offsets for tokens, sentences and paragraphs.

Treebanks (CoNLL-U, AMALGUM) give words and whether a space follows; everything else in genrst counts characters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genrst.document import Span, Token


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a treebank; `head` counts from 1 inside the sentence, 0 is the root."""

    form: str
    head: int
    deprel: str
    tag: str
    space_after: bool


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text with character offsets for everything that a treebank says about it."""

    text: str
    tokens: tuple[Token, ...]
    sentences: tuple[Span, ...]
    paragraphs: tuple[Span, ...]
    entities: tuple[Span, ...] = ()
    edu_starts: tuple[int, ...] = ()
    """Tokens at which an EDU starts, where the treebank says so."""


def assemble(
    sentences: Sequence[Sequence[Word]], paragraph_starts: Mapping[int, str], speakers: Mapping[int, str]
) -> AnnotatedText:
    """Join words into a text: a space where the treebank has one, a blank line before each paragraph.

    `paragraph_starts` gives the kind of the paragraph that starts with a sentence, `speakers` who says it. The first
    sentence always starts a paragraph.
    """
    kinds = {0: "p", **paragraph_starts}
    pieces: list[str] = []
    tokens: list[Token] = []
    sentence_spans: list[Span] = []
    gap, offset = "", 0
    for number, words in enumerate(sentences):
        gap = "\n\n" if number in kinds and number else gap
        first = len(tokens)
        for position, word in enumerate(words):
            start, head = offset + len(gap), first + (word.head - 1 if word.head else position)
            offset = start + len(word.form)
            tokens.append(Token(start, offset, head, word.deprel, word.tag))
            pieces += [gap, word.form]
            gap = " " if word.space_after else ""
        sentence_spans.append(Span(tokens[first].start, offset, speakers.get(number, "")))
    return AnnotatedText("".join(pieces), tuple(tokens), tuple(sentence_spans), _paragraphs(sentence_spans, kinds))


def _paragraphs(sentences: Sequence[Span], kinds: Mapping[int, str]) -> tuple[Span, ...]:
    starts = sorted(kinds)
    stops = [*starts[1:], len(sentences)]
    return tuple(
        Span(sentences[start].start, sentences[stop - 1].end, kinds[start])
        for start, stop in zip(starts, stops, strict=True)
    )


def spans_between(tokens: Sequence[Token], starts: Sequence[int]) -> tuple[Span, ...]:
    """Character spans of runs of tokens, given the first token of each run."""
    stops = [*starts[1:], len(tokens)]
    return tuple(Span(tokens[start].start, tokens[stop - 1].end) for start, stop in zip(starts, stops, strict=True))
