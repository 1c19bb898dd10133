"""Find speakers by the name and colon before their words: `Interviewer: Why?`, `JOHN SMITH (laughing): No.`, `Q: …`.

A time may precede the name (`[00:12] Q: …`), or have a line of its own, as in subtitles and chats.
`genrst.text.layout` decides whether a text is a transcript, in which such lines are turns.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from genrst.document import Span

_CLOCK = r"(?:[0-9]{1,2}:)?[0-9]{1,2}:[0-9]{2}(?:[.,][0-9]{1,3})?(?: ?[AaPp]\.?[Mm]\b\.?)?"
_TIMES = rf"{_CLOCK}(?: ?(?:-->|[-–—]) ?{_CLOCK})?"
_NAME = r"[^\W\d_][\w.'’-]{0,30}(?: [\w.'’-]{1,30}){0,3}"

STAMP = re.compile(
    # The line before may hold the number of a subtitle.
    rf"(?:[0-9]{{1,5}}[ \t]*[\n\r]{{1,2}})?(?:[\[(]{_TIMES}[\])](?: ?[-–—])?(?=\s|$)|{_TIMES}(?=[ \t]*(?:[\n\r]|$)))"
)
"""A time, in brackets or on a line of its own."""
TURN = re.compile(
    rf"(?:(?:[\[(]{_TIMES}[\])]|{_TIMES})(?: ?[-–—])?[ \t]+)?[*_]{{0,2}}(?P<name>{_NAME})"
    r"(?: ?[(\[][^()\[\]\n]{1,40}[)\]])?[*_]{0,2}:[*_]{0,2}[ \t\u00a0]+\S"
)
"""A name of up to four words, perhaps bold, after a time or with a remark in brackets; a colon; and what follows."""
_SENDER = re.compile(
    rf"(?:{_CLOCK}[ \t]+(?P<after>{_NAME})|(?P<before>{_NAME}),?[ \t]+{_CLOCK}|(?P<lone>{_NAME}):)[ \t]*(?=[\n\r])"
)
"""A name on a line of its own, with a time or a colon."""

_MAX_ABBREVIATION = 5  # characters, with the full stop: `Prof.`
_PARTICLES = {"al", "and", "bin", "da", "de", "del", "der", "di", "du", "el", "la", "le", "of", "the", "van", "von"}
_NUMBERED = {"caller", "guest", "interviewer", "participant", "person", "respondent", "speaker", "student", "voice"}
_WORDS = """
abstract act added address advantages age aim aims also answers attention author authors background bcc capacity
category caution cause cc changed chapter chorus climate conclusion conclusions cons contact copyright cost credit
credits danger date debug definition description details difficulty directions disadvantages discussion duration edit
effect email episode equipment error evidence example examples exception exercise fact facts family fatal fax figure
fixed fixme format from genre genus goal habitat height hint hours image important info ingredients input instructions
interview introduction issue key keywords language length level link links location makes materials meaning method
methods myth name nb next note notes notice objective objectives occupation options origin output overview part phase
phone photo picture points population posted preparation pros ps published publisher purpose range rating re reason
references related reminder removed result results round scene season section see sent serves servings size solution
source sources species spoiler status step steps subject summary symptoms table tags tel temperature time tip tips
title to todo topic total trace type update updated updates url usage verse version video volume warn warning website
week weight what when where who why yield
"""
_NO_NAMES = frozenset(_WORDS.split())
"""Words before a colon that are not names, as in headers, recipes, fact sheets, papers, logs and asides."""


def speaker(text: str, start: int = 0) -> str:
    """Return the name of the speaker at `start`; empty unless there is a name and a colon."""
    turn = TURN.match(text, start)
    return turn["name"] if turn and _is_name(turn["name"]) else ""


def speech_start(text: str, start: int = 0) -> int:
    """Return where the speech begins, after the name and the colon; `start` if there are none."""
    turn = TURN.match(text, start)
    return turn.end() - 1 if turn and _is_name(turn["name"]) else start


def introduction_end(text: str, start: int, is_turn: bool) -> int:
    """Return where the first words of a paragraph begin, after times and names; `start` if there are none.

    A name counts only in a turn of a transcript, after a time, or on a line of its own.
    """
    end = start
    if stamp := STAMP.match(text, end):
        end = _after_spaces(text, stamp.end())
    sender = _SENDER.match(text, end)
    if sender and _is_name(sender["after"] or sender["before"] or sender["lone"]):
        end = _after_spaces(text, sender.end())
    return speech_start(text, end) if is_turn or end > start else end


def _after_spaces(text: str, start: int) -> int:
    return next((place for place in range(start, len(text)) if not text[place].isspace()), len(text))


def _is_name(name: str) -> bool:
    first, *others = words = name.split(" ")
    if words[-1].isdigit():
        return len(words) == 2 and first.casefold() in _NUMBERED
    if words[-1].strip(".").casefold() in _NO_NAMES or not first[0].isupper():
        return False
    # A full stop after a longer word ends a sentence: `Preface. London: …` in a list of books.
    if any(word.endswith(".") and word.count(".") == 1 and len(word) > _MAX_ABBREVIATION for word in words):
        return False
    return all(word[0].isupper() or word in _PARTICLES for word in others)


def with_speakers(sentences: Sequence[Span], text: str, paragraphs: Sequence[Span]) -> tuple[Span, ...]:
    """Label each sentence in a turn (a paragraph `sp`) with the name of its speaker."""
    starts = [paragraph.start for paragraph in paragraphs]
    speakers = [speaker(text, paragraph.start) if paragraph.label == "sp" else "" for paragraph in paragraphs]
    numbers = (bisect_right(starts, sentence.start) - 1 for sentence in sentences)
    return tuple(
        Span(sentence.start, sentence.end, speakers[number] if number >= 0 else "")
        for sentence, number in zip(sentences, numbers, strict=True)
    )
