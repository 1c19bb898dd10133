"""The words of treebanks: reading CoNLL-U, and turning words into running text with offsets.

Treebanks (CoNLL-U, AMALGUM) list words and whether a space follows; everything else in genrst counts characters. Of a
CoNLL-U file only what parsing uses is read: tokens, sentences, paragraphs, speakers, entities and EDU starts. Multiword
ranges give the spacing, and empty nodes are skipped, as in GUM.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from genrst.document import Span, Token, join_runs
from genrst.errors import CorpusFormatError
from genrst.io import decode

_NUMBER = re.compile("[0-9]{1,9}")
_ENTITY = re.compile(r"(\()?([^()]+)(\))?")
_BLOCK_PRIORITY = ("head", "item", "caption", "quote", "sp")


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


def read_conllu(content: bytes, path: Path) -> AnnotatedText:
    """Read one document; paragraphs come from `# newpar`, EDU starts from `Discourse=` in the last column."""
    reader = _Reader(path)
    for number, line in enumerate(decode(content, path).split("\n"), start=1):
        reader.read_line(number, line)
    reader.end_sentence()
    if not reader.sentences:
        raise CorpusFormatError("a CoNLL-U file must hold at least one sentence, was: none", path)
    # A mark after the last sentence starts nothing.
    reader.paragraph_starts.pop(len(reader.sentences), None)
    annotated = assemble(reader.sentences, reader.paragraph_starts, reader.speakers)
    entities = _entity_spans(reader.entity_marks, annotated.tokens)
    return replace(annotated, entities=entities, edu_starts=tuple(reader.edu_starts))


@dataclass(slots=True)
class _Reader:
    """The state between two lines."""

    path: Path
    sentences: list[list[Word]] = field(default_factory=list)
    paragraph_starts: dict[int, str] = field(default_factory=dict)
    speakers: dict[int, str] = field(default_factory=dict)
    entity_marks: list[tuple[int, str]] = field(default_factory=list)
    edu_starts: list[int] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    word_lines: list[int] = field(default_factory=list)
    n_tokens: int = 0
    range_stop: int = 0
    range_has_space: bool = True
    range_line: int = 0

    def read_line(self, number: int, line: str) -> None:
        if not line.strip():
            self.end_sentence()
        elif line.startswith("#"):
            self._read_comment(line)
        else:
            self._read_word(number, line.split("\t"))

    def end_sentence(self) -> None:
        n_words = len(self.words)
        for word, line in zip(self.words, self.word_lines, strict=True):
            if word.head > n_words:
                message = f"a head must be one of the {n_words} words of its sentence, was: {word.head}"
                raise CorpusFormatError(message, self.path, line)
        if self.range_stop > n_words:
            message = f"a range must end with a word of its sentence, was: {self.range_stop} of {n_words}"
            raise CorpusFormatError(message, self.path, self.range_line)
        if self.words:
            self.sentences.append(self.words)
        self.words, self.word_lines, self.range_stop = [], [], 0

    def _read_comment(self, line: str) -> None:
        key, _, value = line[1:].partition("=")
        sentence = len(self.sentences)
        match key.strip():
            case "newpar" | "newpar id":
                self.paragraph_starts.setdefault(sentence, "p")
            case "newpar_block":
                self.paragraph_starts[sentence] = _paragraph_kind(value)
            case "speaker":
                self.speakers[sentence] = value.strip()

    def _read_word(self, number: int, columns: list[str]) -> None:
        if len(columns) != 10:
            raise CorpusFormatError(f"a word line must have 10 columns, was: {len(columns)}", self.path, number)
        identifier, form, _, _, tag, _, head, deprel, _, misc = columns
        if "." in identifier:
            return
        has_space = "SpaceAfter=No" not in misc.split("|")
        if "-" in identifier:
            self._begin_range(number, identifier, has_space)
            return
        position = _integer(identifier, self.path, number)
        if position != len(self.words) + 1:
            raise CorpusFormatError(f"word {len(self.words) + 1} must come next, was: {identifier}", self.path, number)
        if position <= self.range_stop:
            has_space = position == self.range_stop and self.range_has_space
        self.words.append(Word(form, _integer(head, self.path, number), deprel, tag, has_space))
        self.word_lines.append(number)
        self._read_misc(misc)
        self.n_tokens += 1

    def _begin_range(self, number: int, identifier: str, has_space: bool) -> None:
        first, _, last = identifier.partition("-")
        start, stop = _integer(first, self.path, number), _integer(last, self.path, number)
        if not start == len(self.words) + 1 <= stop:
            message = f"a range must start with the next word, {len(self.words) + 1}, was: {identifier}"
            raise CorpusFormatError(message, self.path, number)
        self.range_stop, self.range_has_space, self.range_line = stop, has_space, number

    def _read_misc(self, misc: str) -> None:
        for entry in misc.split("|"):
            key, _, value = entry.partition("=")
            if key == "Discourse":
                self.edu_starts.append(self.n_tokens)
            elif key == "Entity":
                self.entity_marks.append((self.n_tokens, value))


def _integer(value: str, path: Path, line: int) -> int:
    if not _NUMBER.fullmatch(value):
        raise CorpusFormatError(f"a word id or head must be a number, was: {value[:30]!r}", path, line)
    return int(value)


def _paragraph_kind(blocks: str) -> str:
    """One kind for nested blocks such as `item (1 s) | p (1 s)`: the one that tells most about the layout."""
    names = [block.split()[0] for block in blocks.split("|") if block.strip()]
    return next((kind for kind in _BLOCK_PRIORITY if kind in names), names[0] if names else "p")


def _entity_spans(marks: list[tuple[int, str]], tokens: tuple[Token, ...]) -> tuple[Span, ...]:
    """Pair the brackets of GUM's entity notation: `(1-person-…` opens, `1)` closes, `(1-person-…)` does both."""
    open_marks: dict[str, list[tuple[int, str]]] = {}
    spans = []
    for token, value in marks:
        for opens, body, closes in _ENTITY.findall(value):
            name, _, rest = body.partition("-")
            if opens:
                open_marks.setdefault(name, []).append((token, rest.split("-")[0]))
            if closes and open_marks.get(name):
                first, kind = open_marks[name].pop()
                spans.append(Span(tokens[first].start, tokens[token].end, kind))
    return tuple(sorted(spans, key=lambda span: (span.start, -span.end)))
