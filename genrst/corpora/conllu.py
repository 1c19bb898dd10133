"""Read CoNLL-U, and convert the words of treebanks to a running text with offsets.

Treebanks (CoNLL-U, AMALGUM) list words and tell whether a space follows; the rest of genrst uses character offsets.
Only the annotation that parsing needs is read: tokens, sentences, paragraphs, speakers, entities and EDU starts.
Multiword ranges determine the spacing, and empty nodes are skipped, as in GUM. The files of DISRPT (`.conllu`, and
`.tok` without syntax) hold many documents.
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
"""Marks the first word of an EDU in the last column, in GUM, in DISRPT until 2021, and in DISRPT since then."""
_BLOCK_PRIORITY = ("head", "item", "caption", "quote", "sp")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a treebank. `head` is a word number in the sentence, from 1, or 0 for the root."""

    form: str
    head: int
    deprel: str
    tag: str
    space_after: bool


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text with the annotation of a treebank as character offsets."""

    text: str
    tokens: tuple[Token, ...]
    sentences: tuple[Span, ...]
    paragraphs: tuple[Span, ...]
    entities: tuple[Span, ...] = ()
    edu_starts: tuple[int, ...] = ()
    """The first token of each EDU, if the treebank marks them."""

    def as_document(self, id: str, edu_starts: Sequence[int]) -> Document:
        """Return a document without a tree."""
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
    """Join words into a text, with spaces as in the treebank and a blank line before each paragraph.

    `paragraph_starts` maps the number of a sentence to the kind of the paragraph that it starts, `speakers` to its
    speaker. The first sentence always starts a paragraph.
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
    """Read a document. Paragraphs come from `# newpar` comments, EDU starts from the last column."""
    return _read_lines(enumerate(decode(content, path).split("\n"), start=1), path)


def read_disrpt(path: Path) -> Iterator[Document]:
    """Yield the documents of a DISRPT file, which have EDUs but no trees. A `.tok` file has no sentences or syntax."""
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
    # Ignore a paragraph mark after the last sentence.
    reader.paragraph_starts.pop(len(reader.sentences), None)
    annotated = assemble(reader.sentences, reader.paragraph_starts, reader.speakers)
    entities = _entity_spans(reader.entity_marks, annotated.tokens)
    return replace(annotated, entities=entities, edu_starts=tuple(reader.edu_starts))


def attach(document: Document, annotated: AnnotatedText, path: Path) -> Document:
    """Add the text and annotation of a treebank to a document with the same EDUs.

    If the treebank marks EDUs, each must have the same number of words in both files. The words are not compared,
    because three words of GUM differ between its files, and those of Reddit are underscores. If the treebank does not
    mark EDUs, they are found by their characters.
    """
    starts = _count_words(document, annotated, path) if annotated.edu_starts else _find_edus(document, annotated, path)
    layers = {name: getattr(document, name) for name in ("tree", "signals", "secondary_edges")}
    return replace(annotated.as_document(document.id, starts), **layers)


def _count_words(document: Document, annotated: AnnotatedText, path: Path) -> list[int]:
    """Return the first token of each EDU, after checking that each EDU has as many words as in the document."""
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
    """Return the first token of each EDU, found by the characters of the EDUs."""
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
    """Reads a file line by line, and holds the state between two lines."""

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
        # Without syntax, as in .tok files, each word is its own head.
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
    """Take the spacing of words without spacing marks (AMALGUM) from the sentence's text, if it has the same words."""
    spaced, at = [], 0
    for word in words:
        if not text.startswith(word.form, at):
            return words
        stop = at + len(word.form)
        at = stop + len(text[stop:]) - len(text[stop:].lstrip())
        spaced.append(replace(word, space_after=at > stop or at == len(text)))
    return spaced


def _paragraph_kind(blocks: str) -> str:
    """Return one kind for nested blocks such as `item (1 s) | p (1 s)`: the one that is most specific to the layout."""
    names = [block.split()[0] for block in blocks.split("|") if block.strip()]
    return next((kind for kind in _BLOCK_PRIORITY if kind in names), names[0] if names else "p")


def _entity_spans(marks: list[tuple[int, str]], tokens: tuple[Token, ...]) -> tuple[Span, ...]:
    """Pair the brackets of entities: `(1-person-…` opens, `1)` closes, `(1-person-…)` does both.

    In AMALGUM, the brackets are `(person-1` and `person-1)`.
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
