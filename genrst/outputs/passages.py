"""Passages that can be read alone: whole sentences, in the order in which a summary takes them.

The most important sentence comes first. A sentence is as important as its most important EDU. Headings, bylines,
headers, greetings, questions, quoted e-mails, references, code, tables and short list items are left out. A sentence
that begins with a word such as *this* or *however* comes after the one before it, and so does a very short sentence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

from genrst.document import Document, require_tree
from genrst.trees.measures import importance

FRAGMENT_WORDS = 8
"""Up to this many words without final punctuation are not a sentence but a title, a byline or a greeting."""
SHORT_WORDS = 3
"""A sentence of up to this many words depends on the sentence before."""
ANSWER_WORDS = 6
"""An answer of up to this many words depends on its question."""
UNREADABLE = frozenset({"head", "header", "code", "table", "signature"})
"""The kinds of paragraphs that are not prose."""

_CLOSING = r"\"'”’»)\]"
_END = re.compile(rf"[.!?…。！？][{_CLOSING}]*$")
_QUESTION = re.compile(rf"[?？][{_CLOSING}]*$")
_OPEN = re.compile(rf"[:;,–—][{_CLOSING}]*$")
"""The end of a text that continues in the next paragraph."""
_LEANING = re.compile(
    r"(?:this|these|that|those|it|its|he|she|they|his|her|their|such|however|but|so|therefore|thus|hence|then|also|"
    r"moreover|furthermore|besides|instead|otherwise|still|yet|and|or|nevertheless|nonetheless|consequently|similarly|"
    r"yes|no(?=,)|(?:the )?(?:first|second|third|fourth|former|latter)(?=,| is\b| was\b))\b",
    re.IGNORECASE,
)
"""The openings of sentences that depend on the sentence before."""
_COURTESY = re.compile(
    r"(?:many thanks|thanks|thank you|welcome|hello|hi|good (?:morning|afternoon|evening)|dear|my pleasure)\b"
    r"|[^,]*, thank(?:s| you)\b",
    re.IGNORECASE,
)
_BYLINE = re.compile(r"(?:By|Published|Posted|(?:Last )?[Uu]pdated|Recorded|Photo|Share|Additional reporting)\b")
_CREDIT = re.compile(
    r"Transcript (?:by|edited|from)\b|(?:[A-Z]\S* ){1,5}(?:is|was) (?:edited|hosted|presented|produced) by [A-Z]"
)
_YEAR = re.compile(r"\b[12][0-9]{3}\b")
_FACT = re.compile(r"[A-Z][\w'’ -]{0,20}:\s")
"""The opening of a line of facts, such as `Makes: 1 loaf`."""
_PART = re.compile(r"(?:\([a-z]{1,4}\)\s+)?[a-z]")
"""The opening of an item that continues the sentence above."""
_SPEAKER = re.compile(r"(?:[\[(]?[0-9][0-9:.,]*[\])]?\s+)?[^:\n]{1,60}:\s+")
_ASIDE_SECTION = re.compile(
    r"\W*(?:[0-9.]+\s+)?(?:references|bibliography|literature(?: cited)?|works cited|further reading|"
    r"acknowledge?ments?)\W*",
    re.IGNORECASE,
)
"""The heading of a section that is not about the subject."""
_QUOTED = re.compile(r"^>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Sentence:
    edus: range
    text: str
    """The text without the name of a speaker; empty if the document has no text."""
    paragraph: int
    label: str

    @property
    def n_words(self) -> int:
        return len(self.text.split())


def reading_order(document: Document, *, everything: bool = False) -> list[range]:
    """Return the sentences of a document as ranges of EDUs, in the order in which a summary takes them.

    With `everything`, headings and the like are included.
    """
    found = [*_sentences(document)]
    readable = found if everything else [*_readable(document, found)] or found
    scores = importance(require_tree(document))
    rank = {number: (-max(scores[one.edus.start : one.edus.stop]), number) for number, one in enumerate(readable)}
    leaning = {
        number
        for number, (before, one) in enumerate(pairwise(readable), start=1)
        if before.edus.stop == one.edus.start and (_leans(one) or _is_answer(before, one))
    }
    ready = [rank[number] for number in rank if number not in leaning]
    heapify(ready)
    order = []
    while ready:
        _, number = heappop(ready)
        order.append(readable[number].edus)
        if number + 1 in leaning:
            heappush(ready, rank[number + 1])
    return order


def _sentences(document: Document) -> Iterator[_Sentence]:
    """Yield the sentences; if they are unknown, final punctuation ends them."""
    texts = document.edu_texts
    sentences, paragraphs = document.sentence_of_edus(), document.paragraph_of_edus()
    labels = [span.label for span in document.paragraphs] or [""]
    start = 0
    for edu in range(1, len(texts) + 1):
        is_end = edu == len(texts) or paragraphs[edu] != paragraphs[edu - 1]
        is_end = is_end or (sentences[edu] != sentences[edu - 1] if document.sentences else _ends(texts[edu - 1]))
        if is_end:
            text, paragraph = document.slice(start, edu) or "", paragraphs[start]
            is_turn = labels[paragraph] == "sp" and (start == 0 or paragraphs[start - 1] != paragraph)
            name = _SPEAKER.match(text) if is_turn else None
            yield _Sentence(range(start, edu), text[name.end() if name else 0 :], paragraph, labels[paragraph])
            start = edu


def _ends(text: str) -> bool:
    return not text or _END.search(text) is not None


def _leans(sentence: _Sentence) -> bool:
    """Return whether a sentence depends on the one before."""
    return _LEANING.match(sentence.text) is not None or 0 < sentence.n_words <= SHORT_WORDS


def _is_answer(before: _Sentence, sentence: _Sentence) -> bool:
    """Return whether a sentence is a short answer to the one before."""
    return _QUESTION.search(before.text) is not None and (sentence.n_words <= ANSWER_WORDS or _leans(sentence))


def _readable(document: Document, sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """Yield the sentences that are prose, or all of them if the document has no text.

    A sentence that depends on one that is left out is left out as well. Only the first sentence of a section may begin
    with *this*, because its heading often says what is meant.
    """
    left_out = _left_out(document)
    before: _Sentence | None = None
    was_readable = True
    for sentence in sentences:
        is_readable = sentence.paragraph not in left_out and _is_prose(sentence)
        if before is not None and not was_readable and is_readable:
            is_dangling = sentence.paragraph == before.paragraph and _leans(sentence)
            is_readable = not is_dangling and not _is_answer(before, sentence)
        if is_readable:
            yield sentence
        before, was_readable = sentence, is_readable


def _is_prose(sentence: _Sentence) -> bool:
    text, n_words = sentence.text, sentence.n_words
    if not text:
        return True
    if sentence.label in UNREADABLE or _QUESTION.search(text) or _OPEN.search(text):
        return False
    if (sentence.label == "item" and _PART.match(text)) or (n_words <= FRAGMENT_WORDS and _COURTESY.match(text)):
        return False
    if _END.search(text):
        is_credit = _CREDIT.match(text) or (_BYLINE.match(text) and _YEAR.search(text))
        return n_words > FRAGMENT_WORDS or not is_credit
    return n_words > FRAGMENT_WORDS and not _BYLINE.match(text) and not _FACT.match(text)


def _left_out(document: Document) -> set[int]:
    """Return the paragraphs of sections such as references, and those of an e-mail that quote an earlier one."""
    found, is_aside, text = set(), False, document.text or ""
    is_mail = bool(document.paragraphs) and document.paragraphs[0].label == "header"
    for number, paragraph in enumerate(document.paragraphs):
        if paragraph.label == "head":
            is_aside = _ASIDE_SECTION.fullmatch(text, paragraph.start, paragraph.end) is not None
        if is_aside or (is_mail and _QUOTED.search(text[paragraph.start : paragraph.end])):
            found.add(number)
    return found
