"""From the words of a treebank to running text, with the offsets of tokens, sentences and paragraphs.

Treebanks (CoNLL-U, AMALGUM) list words and whether a space follows; everything else in genrst counts characters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genrst.document import Span, Token, join_runs


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

    By the number of a sentence, `paragraph_starts` gives the kind of the paragraph that it starts, `speakers` who says
    it. The first sentence always starts a paragraph.
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
    starts = sorted(kinds)
    runs = zip(starts, join_runs(sentence_spans, starts), strict=True)
    paragraphs = tuple(Span(run.start, run.end, kinds[start]) for start, run in runs)
    return AnnotatedText("".join(pieces), tuple(tokens), tuple(sentence_spans), paragraphs)
