"""The words of treebanks: reading CoNLL-U, and turning words into running text with offsets.

Treebanks (CoNLL-U, AMALGUM) list words and whether a space follows; everything else in genrst counts characters. Of a
CoNLL-U file only what parsing uses is read: tokens, sentences, paragraphs, speakers, entities and EDU starts. Multiword
ranges give the spacing, and empty nodes are skipped, as in GUM. The files of DISRPT (`.conllu`, and `.tok` without
syntax) hold many documents.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from pathlib import Path

from genrst.document import Document, Span, Token, join_runs
from genrst.errors import CorpusFormatError
from genrst.formats.plain import align_edus
from genrst.io import decode, read_bytes

_NUMBER = re.compile("[0-9]{1,9}")
_ENTITY = re.compile(r"(\()?([^()]+)(\))?")
_NEW_DOCUMENT = re.compile(r"#\s*newdoc[ _]id\s*=\s*(.+)")
_EDU_START = re.compile(r"(^|\|)(Discourse=|BeginSeg=Yes|Seg=B-seg)", re.IGNORECASE)
"""The first word of an EDU in the last column: of GUM, of DISRPT until 2021, and since."""
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

    def as_document(self, id: str, edu_starts: Sequence[int]) -> Document:
        """A document without a tree."""
        edus = join_runs(self.tokens, edu_starts)
        return Document(
            id,
            self.text,
            edus,
            tokens=self.tokens,
            sentences=self.sentences,
            paragraphs=self.paragraphs,
            entities=self.entities,
        )


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
    """Read one document; paragraphs come from `# newpar`, EDU starts from the last column."""
    return _read_lines(enumerate(decode(content, path).split("\n"), start=1), path)


def read_disrpt(path: Path) -> Iterator[Document]:
    """The documents of a file of DISRPT, which have EDUs and no trees; a `.tok` file has no sentences or syntax."""
    lines = list(enumerate(decode(read_bytes(path), path).split("\n"), start=1))
    names = {at: found[1].strip() for at, (_, line) in enumerate(lines) if (found := _NEW_DOCUMENT.match(line))}
    if not names:
        raise CorpusFormatError(
            "every document must start with the comment # newdoc id = NAME; the file has none", path
        )
    for start, stop in pairwise([*names, len(lines)]):
        annotated = _read_lines(lines[start:stop], path)
        if not annotated.edu_starts:
            rule = "the first words of EDUs must be marked (Seg=B-seg or BeginSeg=Yes)"
            raise CorpusFormatError(f"{rule}, but {names[start]} has no marks", path, lines[start][0])
        document = annotated.as_document(names[start], sorted({0, *annotated.edu_starts}))
        yield replace(document, tokens=(), sentences=(), paragraphs=()) if path.suffix == ".tok" else document


def _read_lines(lines: Iterable[tuple[int, str]], path: Path) -> AnnotatedText:
    reader = _Reader(path)
    for number, line in lines:
        reader.read_line(number, line)
    reader.end_sentence()
    if not reader.sentences:
        raise CorpusFormatError("a CoNLL-U file must hold at least one sentence", path)
    # A mark after the last sentence starts nothing.
    reader.paragraph_starts.pop(len(reader.sentences), None)
    annotated = assemble(reader.sentences, reader.paragraph_starts, reader.speakers)
    entities = _entity_spans(reader.entity_marks, annotated.tokens)
    return replace(annotated, entities=entities, edu_starts=tuple(reader.edu_starts))


def attach(document: Document, annotated: AnnotatedText, path: Path) -> Document:
    """The document with the text and annotation of a treebank, whose EDUs must be the same.

    Where the treebank marks EDUs, each must have as many words in both. The words are not compared: in all of GUM three
    differ between the two files, and those of Reddit are underscores. Elsewhere EDUs are found by their characters.
    """
    starts = _count_words(document, annotated, path) if annotated.edu_starts else _find_edus(document, annotated, path)
    layers = {name: getattr(document, name) for name in ("tree", "signals", "secondary_edges")}
    return replace(annotated.as_document(document.id, starts), **layers)


def _count_words(document: Document, annotated: AnnotatedText, path: Path) -> list[int]:
    """The tokens at which EDUs start, if each EDU has as many words as in the document."""
    starts = sorted({0, *annotated.edu_starts})
    sizes = [stop - start for start, stop in pairwise((*starts, len(annotated.tokens)))]
    expected = [len(text.split()) for text in document.edu_texts]
    if sizes != expected:
        same = list(takewhile(lambda pair: pair[0] == pair[1], zip(sizes, expected, strict=False)))
        raise CorpusFormatError(
            f"EDUs must have the same words as the tree file ({len(expected)} EDUs, {sum(expected)} words), "
            f"got {len(sizes)} EDUs, {sum(sizes)} words; the first difference is at EDU {len(same) + 1}",
            path,
        )
    return starts


def _find_edus(document: Document, annotated: AnnotatedText, path: Path) -> list[int]:
    """The tokens at which EDUs start, by the characters of the EDUs."""
    numbers = {token.start: number for number, token in enumerate(annotated.tokens)}
    try:
        spans = align_edus(document.edu_texts, annotated.text)
    except CorpusFormatError as error:
        raise CorpusFormatError(error.message, path) from error
    starts = [numbers.get(span.start) for span in spans]
    known = [start for start in starts if start is not None]
    if len(set(known)) < len(spans):
        at = next(n for n, start in enumerate(starts) if start is None or start in starts[:n])
        rule = f"EDU {at + 1} of {len(spans)} must start with a word of its own"
        raise CorpusFormatError(f"{rule}, got {document.edu_texts[at][:30]!r}", path)
    return known


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
    text: str = ""
    has_spacing: bool = False
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
                message = f"a head must be one of the {n_words} words of its sentence, got {word.head}"
                raise CorpusFormatError(message, self.path, line)
        if self.range_stop > n_words:
            message = f"a range must end within the {n_words} words of its sentence, got {self.range_stop}"
            raise CorpusFormatError(message, self.path, self.range_line)
        if self.words:
            self.sentences.append(self.words if self.has_spacing else _space(self.words, self.text))
            self.text, self.has_spacing = "", False
        self.words, self.word_lines, self.range_stop = [], [], 0

    def _read_comment(self, line: str) -> None:
        key, _, value = line[1:].partition("=")
        sentence = len(self.sentences)
        match key.strip():
            case "newpar":
                self.paragraph_starts.setdefault(sentence, _paragraph_kind(value))
            case "newpar id":
                self.paragraph_starts.setdefault(sentence, "p")
            case "newpar_block":
                self.paragraph_starts[sentence] = _paragraph_kind(value)
            case "speaker":
                self.speakers[sentence] = value.strip()
            case "text":
                self.text = value.strip()

    def _read_word(self, number: int, columns: list[str]) -> None:
        if len(columns) != 10:
            raise CorpusFormatError(f"a word line must have 10 columns, got {len(columns)}", self.path, number)
        identifier, form, _, _, tag, _, head, deprel, _, misc = columns
        if "." in identifier:
            return
        has_space = "SpaceAfter=No" not in misc.split("|")
        self.has_spacing |= "-" in identifier or not has_space
        if "-" in identifier:
            self._begin_range(number, identifier, has_space)
            return
        position = _integer(identifier, self.path, number)
        if position != len(self.words) + 1:
            raise CorpusFormatError(
                f"the next word must be number {len(self.words) + 1}, got {identifier}", self.path, number
            )
        if position <= self.range_stop:
            has_space = position == self.range_stop and self.range_has_space
        # Where there is no syntax, as in .tok files, each word is its own head.
        parent = 0 if head == deprel == "_" else _integer(head, self.path, number)
        self.words.append(Word(form, parent, deprel, tag, has_space))
        self.word_lines.append(number)
        self._read_misc(misc)
        self.n_tokens += 1

    def _begin_range(self, number: int, identifier: str, has_space: bool) -> None:
        first, _, last = identifier.partition("-")
        start, stop = _integer(first, self.path, number), _integer(last, self.path, number)
        if not start == len(self.words) + 1 <= stop:
            message = f"a range must start with the next word, {len(self.words) + 1}, got {identifier}"
            raise CorpusFormatError(message, self.path, number)
        self.range_stop, self.range_has_space, self.range_line = stop, has_space, number

    def _read_misc(self, misc: str) -> None:
        if _EDU_START.search(misc):
            self.edu_starts.append(self.n_tokens)
        for entry in misc.split("|"):
            key, _, value = entry.partition("=")
            if key == "Entity":
                self.entity_marks.append((self.n_tokens, value))


def _integer(value: str, path: Path, line: int) -> int:
    if not _NUMBER.fullmatch(value):
        raise CorpusFormatError(f"a word id or head must be a number, got {value[:30]!r}", path, line)
    return int(value)


def _space(words: list[Word], text: str) -> list[Word]:
    """The words with the spaces of the sentence's text, where no mark says it (AMALGUM); unchanged if they differ."""
    spaced, at = [], 0
    for word in words:
        if not text.startswith(word.form, at):
            return words
        stop = at + len(word.form)
        at = stop + len(text[stop:]) - len(text[stop:].lstrip())
        spaced.append(replace(word, space_after=at > stop or at == len(text)))
    return spaced


def _paragraph_kind(blocks: str) -> str:
    """One kind for nested blocks such as `item (1 s) | p (1 s)`: the one that tells most about the layout."""
    names = [block.split()[0] for block in blocks.split("|") if block.strip()]
    return next((kind for kind in _BLOCK_PRIORITY if kind in names), names[0] if names else "p")


def _entity_spans(marks: list[tuple[int, str]], tokens: tuple[Token, ...]) -> tuple[Span, ...]:
    """Pair the brackets of entities: `(1-person-…` opens, `1)` closes, `(1-person-…)` does both.

    In AMALGUM it is `(person-1` and `person-1)`.
    """
    open_marks: dict[str, list[tuple[int, str]]] = {}
    spans = []
    for token, value in marks:
        for opens, body, closes in _ENTITY.findall(value):
            first, _, rest = body.partition("-")
            name, kind = (first, rest.split("-")[0]) if first[:1].isdecimal() else (body, first)
            if opens:
                open_marks.setdefault(name, []).append((token, kind))
            if closes and open_marks.get(name):
                start, kind = open_marks[name].pop()
                spans.append(Span(tokens[start].start, tokens[token].end, kind))
    return tuple(sorted(spans, key=lambda span: (span.start, -span.end)))
