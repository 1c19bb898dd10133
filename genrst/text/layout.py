"""Find the paragraphs of plain text or Markdown: prose (`p`), headings (`head`), list items (`item`), turns (`sp`), ….

A blank line always ends a paragraph, except in fenced code (`code`). Headings, rules (`---`), list items, tables
(`table`), times (`[00:12]`) and, in transcripts, the turns of speakers start a paragraph even without a blank line.
Other line breaks belong to the paragraph, as in hard-wrapped text and poems. But if a line of the block is too long to
have been wrapped, then lines that end like a sentence end a paragraph. In an e-mail, each line of the header is a
paragraph (`header`), and so is the signature (`signature`). Models see the layout as the kind of boundary before each
EDU (`edu_kinds`).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from genrst.document import Document, Span
from genrst.text.speakers import STAMP, introduction_end, speaker

SIGNATURE = "--"
"""The line above the signature of an e-mail."""
TITLE_WORDS = 12
"""The maximum number of words in a heading. Nine in ten headings of GUM have at most 10."""
WRAPPED_WORDS = 30
"""The maximum number of words in a hard-wrapped line. 120 columns of English hold about 20."""
ITEM = re.compile(r"(?:[-*+•‣◦▪●○■·☐☑☒✓✔✗✘►▶]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{2,5})\)|[0-9]{1,3}\.)\s+\S")
"""The mark of a list item and the first character after it."""
MARK = re.compile(
    r"(?:>[ \t]*)*(?:(?:#{1,6}|[-*+•‣◦▪●○■·☐☑☒✓✔✗✘►▶])(?=\s)|([-*_=])(?:[ \t]*\1)+[ \t]*(?=[\n\r]|$)"
    r"|(?:`{3,}|~{3,})[^`\n\r]*(?=[\n\r]|$))?"
)
"""The Markdown markup at the start of a line, or on a line without words. It may be empty."""
WHOLE = frozenset({"code", "table", "header", "signature"})
"""The kinds of paragraphs that are a single EDU, because their lines are not clauses."""

# A line starts with its first visible character, so that runs of white space are not scanned twice.
_LINE = re.compile("\\S[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*")
_HASHES = re.compile(r"#{1,6}\s+\S")
_UNDERLINE = re.compile(r"={2,}|-{3,}")
_RULE = re.compile(r"([-*_=])(?:\s*\1){2,}")
_NUMBER = re.compile(
    r"(?:#{1,6}\s+)?(?:[^\W\d_]{4,9}\s+)?(?:[0-9]{1,3}|[IVXLC]{1,6}|[A-Z])(?:\.[0-9]{1,3}){0,5}[.):]?\s+(?=\S)"
)
_BOX = re.compile(r"\[[ xX]\]\s+(?=\S)")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*")
_HEADER = re.compile(r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Re|RE|Fwd|FW|AW):\s")
_KEY = re.compile(r"[A-Z][\w-]*:\s")
_SUBJECT = re.compile(r"(?:Subject|Re|RE|Fwd|FW):\s")
_BYLINE = re.compile(
    r"(?:[Bb]y|BY)\s+[A-Z]|(?:(?:Last )?[Uu]pdated|Published|Posted)\b"
    r"|(?:(?:[A-Z][a-z]+day),?\s+)?(?:[0-9]{1,2}\s+[A-Z][a-z]+|[A-Z][a-z]+\s+[0-9]{1,2}),?\s+[0-9]{4}"
    r"(?:,?\s+(?:at\s+)?[0-9]{1,2}[:.][0-9]{2}.{0,10})?$"
)
_CLAUSE = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){1,4}\.?\s+(?=[\"“‘(]?[A-Z])")
"""The number of a clause or a section: `2.1 The tenant shall …`."""
_DATELINE = re.compile(
    r"[A-Z][A-Z.'’-]+(?: [A-Z.'’-]+){0,3}(?:, [A-Z][\w. ]{1,30})?(?: \([^()\n]{2,30}\))? (?:[–—]|--?) (?=\S)"
)
"""Where a news report was written: `PARIS (Reuters) - …`."""
_SECTION = re.compile(r"(?:[0-9]{1,3}|[IVXLC]{1,6})\.\s+(?=[A-Z])")
_DASH = re.compile(r"[–—]\s+\S")
_FIRST_ITEM = re.compile(r"[^\w(]|\(?[1aAi][.)]")
_CLOSING = "\"'”’»)]}*_"
_FINAL = tuple(".!?…:。！？")
_NOT_IN_TITLE = (*_FINAL, *",;—–-")


def paragraphs(text: str) -> tuple[Span, ...]:
    """Return the paragraphs of a text, in order, without the white space around them.

    Every visible character is in a paragraph, including markup (`#`, `-`, `1.`, fences), times and names. The label of
    a span is `p`, `head`, `item`, `sp` or one of `WHOLE`.
    """
    blocks = list(_blocks(text))
    header = [_Paragraph("header", [line], False) for line in blocks.pop(0)] if _is_header(blocks) else []
    speakers = _speakers(blocks)
    found = [*header, *(paragraph for block in blocks for paragraph in _split(block, speakers))]
    for paragraph in found[:-1]:  # the last one is left out: a short last line is a whole text or a signature
        if paragraph.is_title:
            paragraph.label = "head"
    for before, paragraph, after in zip([None, *found], found, found[1:], strict=False):
        if paragraph.is_section and after.label != "item" and (before is None or before.label != "item"):
            paragraph.label = "head"
    return tuple(Span(paragraph.lines[0].start, paragraph.lines[-1].end, paragraph.label) for paragraph in found)


def ends_sentence(text: str) -> bool:
    """Whether a text ends in sentence-final punctuation, perhaps inside quotes or brackets."""
    return text.rstrip(_CLOSING).endswith(_FINAL)


def content_start(text: str, paragraph: Span) -> int:
    """Return where the words of a paragraph begin: after its mark, number (`2.3`), place, times and names.

    The characters before do not form a sentence or an EDU.
    """
    start = paragraph.start
    if paragraph.label == "head" and (number := _NUMBER.match(text, start, paragraph.end)):
        return number.end()
    if paragraph.label == "item" and (mark := ITEM.match(text, start) or _DASH.match(text, start)):
        box = _BOX.match(text, mark.end() - 1)
        return box.end() if box else mark.end() - 1
    if paragraph.label == "p" and (mark := _CLAUSE.match(text, start) or _DATELINE.match(text, start)):
        return min(mark.end(), paragraph.end)
    return min(introduction_end(text, start, paragraph.label == "sp"), paragraph.end)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is not blank, stripped of white space."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_rule(self) -> bool:
        return _RULE.fullmatch(self.text) is not None

    @property
    def is_item(self) -> bool:
        return not self.is_rule and ITEM.match(self.text) is not None

    @property
    def is_dashed(self) -> bool:
        """Whether it starts with a dash: a list item in a list, but prose or speech elsewhere."""
        return _DASH.match(self.text) is not None

    @property
    def is_row(self) -> bool:
        """Whether it is a row of a table."""
        return self.text.startswith("|") and "|" in self.text[1:]

    @property
    def speaker(self) -> str:
        return speaker(self.text)

    @property
    def is_timed(self) -> bool:
        """Whether it starts with a time in brackets, or consists of a time."""
        return STAMP.match(self.text) is not None

    @property
    def is_marked(self) -> bool:
        """Whether it is a Markdown heading with `#`."""
        return _HASHES.match(self.text) is not None and not self.has_more_words(WRAPPED_WORDS)

    @property
    def is_title(self) -> bool:
        """Whether it looks like a heading without markup: it is short, has a letter and no final punctuation."""
        return (
            not self.has_more_words(TITLE_WORDS)
            and not self.text.rstrip(_CLOSING).endswith(_NOT_IN_TITLE)
            and not _BYLINE.match(self.text)
            and any(character.isalpha() for character in self.text)
        )

    def has_more_words(self, limit: int) -> bool:
        return len(self.text.split(None, limit)) > limit


@dataclass(slots=True)
class _Paragraph:
    label: str
    lines: list[_Line]
    is_alone: bool
    """Whether the line is a paragraph of its own, so that it can be a heading without markup."""

    @property
    def is_title(self) -> bool:
        return self.label == "p" and self.is_alone and len(self.lines) == 1 and self.lines[0].is_title

    @property
    def is_section(self) -> bool:
        """Whether it may be a numbered heading, which looks like an item but is not in a list."""
        line = self.lines[0]
        is_alone = self.label == "item" and self.is_alone and len(self.lines) == 1
        return is_alone and line.is_title and _SECTION.match(line.text) is not None

    @property
    def is_time(self) -> bool:
        """Whether it has only a time so far, perhaps below a subtitle number. The next line belongs to it."""
        return all(line.text.isdigit() or STAMP.fullmatch(line.text) for line in self.lines)

    @property
    def is_closed(self) -> bool:
        return self.label == "head" or self.lines[-1].is_rule


def _blocks(text: str) -> Iterator[list[_Line]]:
    """Yield the blocks: runs of lines without a blank line between them, and fenced code."""
    lines = [_Line(match.start(), match[0].rstrip()) for match in _LINE.finditer(text)]
    fences = dict(_fences(lines))
    number = 0
    while number < len(lines):
        start, number = number, fences.get(number, number) + 1
        while start not in fences and number < len(lines) and number not in fences:
            gap = text[lines[number - 1].end : lines[number].start]
            if "\u2029" in gap or len(f"{gap}.".splitlines()) > 2:
                break
            number += 1
        yield lines[start:number]


def _fences(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each fenced code block. A fence that is never closed is ignored."""
    start, marks = 0, ""
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line.text)
        if fence and not marks:
            start, marks = number, fence[1]
        elif fence and line.text.startswith(marks) and not line.text.strip(marks[0]):
            yield start, number
            marks = ""


def _is_header(blocks: Sequence[list[_Line]]) -> bool:
    """Whether the text begins with the header of an e-mail."""
    lines = [line.text for line in blocks[0]] if blocks else []
    n_known = sum(_HEADER.match(line) is not None for line in lines)
    is_subject = len(lines) == 1 and _SUBJECT.match(lines[0]) is not None and not ends_sentence(lines[0])
    return len(blocks) > 1 and (is_subject or (n_known > 1 and all(map(_KEY.match, lines))))


def _speakers(blocks: Sequence[list[_Line]]) -> Collection[str]:
    """Return the names before the turns of a transcript; none if the text is not a transcript.

    At least half of the turns must end like sentences, and half must be by speakers who speak more than once. If there
    is only one name, or a question and an answer, half of the blocks must be turns instead. These conditions exclude
    most lists of keys and values.
    """
    turns = [_turns(block) for block in blocks]
    names = Counter(name for of_block in turns for name, _ in of_block)
    n_turns, n_ended = names.total(), sum(is_ended for of_block in turns for _, is_ended in of_block)
    if len(names) > 1 and n_turns > 2:
        is_transcript = 2 * sum(count for count in names.values() if count > 1) >= n_turns
    else:
        is_transcript = n_turns >= max(2, sum(not of_block for of_block in turns))
    return names.keys() if is_transcript and 2 * n_ended >= n_turns else ()


def _turns(block: list[_Line]) -> list[tuple[str, bool]]:
    """Return the speakers of the possible turns of a block, and whether each turn ends like a sentence.

    Wrapped lines may also start with a word and a colon, so a turn must start the block or follow the end of a
    sentence.
    """
    starts = [
        number
        for number, line in enumerate(block)
        if line.speaker and (number == 0 or ends_sentence(block[number - 1].text))
    ]
    if not starts or starts[0] != 0:
        return []
    return [
        (block[start].speaker, ends_sentence(block[stop - 1].text)) for start, stop in pairwise([*starts, len(block)])
    ]


def _split(block: list[_Line], speakers: Collection[str]) -> list[_Paragraph]:
    """Divide a block into paragraphs."""
    if len(block) > 1 and next(_fences(block), None) == (0, len(block) - 1):
        return [_Paragraph("code", block, False)]
    is_list = sum(line.is_item for line in block) > 1
    has_dashes = sum(line.is_dashed for line in block) > 1
    is_unwrapped = any(line.has_more_words(WRAPPED_WORDS) for line in block)
    found: list[_Paragraph] = []
    for line in block:
        above = found[-1] if found else None
        is_turn = line.speaker in speakers
        if above is not None and _is_underline(line, above):
            above.label = "head"
            above.lines.append(line)
        elif above is not None and above.is_time and (line.is_timed or not above.lines[-1].text.isdigit()):
            above.lines.append(line)
            above.label = "sp" if is_turn else above.label
        elif above is None or is_turn or _is_start(line, above, is_list, has_dashes, is_unwrapped):
            label = "sp" if is_turn else _label(line, above, has_dashes)
            found.append(_Paragraph(label, [line], is_unwrapped or len(block) == 1))
        else:
            above.lines.append(line)
    return found


def _is_underline(line: _Line, above: _Paragraph) -> bool:
    """Whether a line underlines the line above it, which makes that a heading."""
    is_heading = above.label == "p" and len(above.lines) == 1 and not above.lines[0].has_more_words(TITLE_WORDS)
    return is_heading and not above.is_closed and _UNDERLINE.fullmatch(line.text) is not None


def _is_start(line: _Line, above: _Paragraph, is_list: bool, has_dashes: bool, is_unwrapped: bool) -> bool:
    """Whether a line starts a new paragraph without a blank line before it."""
    if above.label == "signature":
        return False
    if above.is_closed or line.is_rule or line.is_marked or line.is_timed or line.text == SIGNATURE:
        return True
    if line.is_row or above.label == "table":
        return not (line.is_row and above.label == "table")
    last = above.lines[-1]
    if line.is_item:
        # In prose, only the first item of a list counts, because wrapped lines may also start with a dash or `1.`.
        is_first = _FIRST_ITEM.match(line.text) is not None and (is_list or ends_sentence(last.text))
        return above.label == "item" or is_first
    if line.is_dashed and (above.label == "item" or (has_dashes and ends_sentence(last.text))):
        return True
    return is_unwrapped and (ends_sentence(last.text) or last.is_title)


def _label(line: _Line, above: _Paragraph | None, has_dashes: bool) -> str:
    if line.is_row or line.text == SIGNATURE:
        return "table" if line.is_row else "signature"
    is_among_items = has_dashes or (above is not None and above.label == "item")
    is_item = line.is_item or (line.is_dashed and is_among_items)
    return "head" if line.is_marked else "item" if is_item else "p"


# The layout as models see it.


class Kind(IntEnum):
    """The kind of boundary before an EDU, from the weakest to the strongest."""

    NOTHING = 0
    SENTENCE = 1
    ITEM = 2
    """A list item."""
    PARAGRAPH = 3
    TURN = 4
    """A turn of another speaker, which is a paragraph or only a sentence."""
    HEADING = 5


SIZES = (2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 65)
"""The lower bounds of the classes of a unit's size, in EDUs. The class before the first is a single EDU."""

_PARAGRAPH_KINDS = {"head": Kind.HEADING, "item": Kind.ITEM}


def edu_kinds(document: Document) -> list[int]:
    """Return the `Kind` of boundary before each EDU, from sentences, paragraphs, their kinds and speakers."""
    sentences, paragraphs = document.sentence_of_edus(), document.paragraph_of_edus()
    labels = [span.label for span in document.paragraphs] or [""]
    speakers = [span.label for span in document.sentences] or [""]
    found = [_PARAGRAPH_KINDS.get(labels[paragraphs[0]], Kind.PARAGRAPH)]
    for edu in range(1, len(document.edus)):
        before, now = speakers[sentences[edu - 1]], speakers[sentences[edu]]
        if paragraphs[edu] != paragraphs[edu - 1]:
            other = Kind.TURN if now and now != before else Kind.PARAGRAPH
            found.append(_PARAGRAPH_KINDS.get(labels[paragraphs[edu]], other))
        elif sentences[edu] != sentences[edu - 1]:
            found.append(Kind.TURN if before and now and now != before else Kind.SENTENCE)
        else:
            found.append(Kind.NOTHING)
    return [int(kind) for kind in found]
