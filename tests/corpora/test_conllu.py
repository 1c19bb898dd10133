"""Words become a text whose offsets give them back; CoNLL-U by hand-checked files, with all that it says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.corpora.conllu import AnnotatedText, Word, assemble, attach, read_conllu
from genrst.document import Document, Span
from genrst.errors import CorpusFormatError, CorpusWarning
from genrst.trees.node import Leaf, Unit
from tests.miniatures import HARBOR_CONLLU, HARBOR_TEXT, conllu

PATH = Path("folder/sample.conllu")


@st.composite
def sentences(draw: st.DrawFn) -> list[list[Word]]:
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    # Forms may hold white space, also at their edges: CoNLL-U allows it.
    form = st.text("ab \n\u00a0é", min_size=1, max_size=3)
    return [
        [Word(draw(form), draw(st.integers(0, length)), "dep", "X", draw(st.booleans())) for _ in range(length)]
        for length in lengths
    ]


@given(sentences(), st.dictionaries(st.integers(0, 5), st.sampled_from(["p", "head"])))
def test_offsets_give_the_words_back(sentences: list[list[Word]], kinds: dict[int, str]):
    kinds = {number: kind for number, kind in kinds.items() if number < len(sentences)}
    annotated = assemble(sentences, kinds, {0: "Ada"})
    text, tokens = annotated.text, annotated.tokens
    words = [word for words in sentences for word in words]
    assert [text[token.start : token.end] for token in tokens] == [word.form for word in words]
    assert [token.tag for token in tokens] == [word.tag for word in words]
    assert (tokens[0].start, tokens[-1].end) == (0, len(text))

    owners = [number for number, words in enumerate(sentences) for _ in words]
    positions = [position for words in sentences for position in range(1, len(words) + 1)]
    for number, (token, word) in enumerate(zip(tokens, words, strict=True)):
        assert owners[token.head] == owners[number]
        assert positions[token.head] == (word.head or positions[number])
    for left, right, word in zip(range(len(tokens)), range(1, len(tokens)), words, strict=False):
        starts_paragraph = owners[left] != owners[right] and owners[right] in kinds
        gap = "\n\n" if starts_paragraph else " " if word.space_after else ""
        assert text[tokens[left].end : tokens[right].start] == gap

    for number, sentence in enumerate(annotated.sentences):
        own = [token for token, owner in zip(tokens, owners, strict=True) if owner == number]
        assert sentence == Span(own[0].start, own[-1].end, "" if number else "Ada")
    starts = sorted({0, *kinds})
    assert [paragraph.start for paragraph in annotated.paragraphs] == [annotated.sentences[n].start for n in starts]
    assert [paragraph.label for paragraph in annotated.paragraphs] == [kinds.get(n, "p") for n in starts]
    assert annotated.paragraphs[-1].end == len(text)


def read(table: str) -> AnnotatedText:
    return read_conllu(conllu(table), PATH)


def texts(annotated: AnnotatedText, spans: tuple[Span, ...]) -> list[tuple[str, str]]:
    return [(annotated.text[span.start : span.end], span.label) for span in spans]


def test_a_document_with_everything():
    annotated = read(HARBOR_CONLLU)
    assert annotated.text == HARBOR_TEXT
    forms = ["The", "Old", "Harbor", "Ada", "'s", "boat", "sank", ",", "but", "she", "did", "n't", "drown", "."]
    assert [annotated.text[token.start : token.end] for token in annotated.tokens] == [*forms, "Really", "?"]
    assert [token.head for token in annotated.tokens] == [2, 2, 2, 5, 3, 6, 6, 6, 12, 12, 12, 12, 6, 6, 14, 14]
    assert [token.deprel for token in annotated.tokens][:5] == ["det", "amod", "root", "nmod", "case"]
    assert [token.tag for token in annotated.tokens][:5] == ["DT", "JJ", "NNP", "NNP", "POS"]
    assert texts(annotated, annotated.sentences) == [
        ("The Old Harbor", ""),
        ("Ada's boat sank, but she didn't drown.", "Ada"),
        ("Really?", "Ben"),
    ]
    assert texts(annotated, annotated.paragraphs) == [
        ("The Old Harbor", "head"),
        ("Ada's boat sank, but she didn't drown. Really?", "sp"),
    ]
    assert texts(annotated, annotated.entities) == [
        ("The Old Harbor", "place"),
        ("Ada's boat", "object"),
        ("Ada's", "person"),
        ("she", "person"),
    ]
    assert annotated.edu_starts == (0, 3, 8, 14)


@pytest.mark.parametrize(
    ("misc", "text"),
    [
        (("_", "_", "_", "_"), "cannot stop"),
        (("SpaceAfter=No", "_", "_", "_"), "cannotstop"),
        # Only the range counts, whatever its words say.
        (("_", "_", "SpaceAfter=No", "_"), "cannot stop"),
        (("SpaceAfter=No", "SpaceAfter=No", "SpaceAfter=No", "_"), "cannotstop"),
    ],
)
def test_a_range_says_the_spacing_of_its_words(misc: tuple[str, ...], text: str):
    rows = ["1-2 cannot _ _ _", "1 can X 3 aux", "2 not X 3 advmod", "3 stop X 0 root"]
    annotated = read("\n".join(f"{row} {entry}" for row, entry in zip(rows, misc, strict=True)))
    assert annotated.text == text


def test_a_range_does_not_reach_into_the_next_sentence():
    first = "1-2 cannot _ _ _ SpaceAfter=No\n1 can X 0 root _\n2 not X 1 x _\n"
    annotated = read(f"{first}\n1 Go X 0 root _\n2 on X 1 x _\n")
    assert annotated.text == "cannotGo on"


def test_empty_nodes_are_skipped_with_all_they_say():
    annotated = read("1 Go X 0 root _\n1.1 away X _ _ Entity=(1-place)|Discourse=x\n2 on X 1 x _\n")
    assert (annotated.text, annotated.entities, annotated.edu_starts) == ("Go on", (), ())


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("# text = It's fine.", "It's fine."),
        ("# text = It's  fine .", "It's fine ."),
        # A text of other words says nothing, and marks on words count more.
        ("# text = Its fine.", "It 's fine ."),
        ("# text = ", "It 's fine ."),
    ],
)
def test_the_text_of_a_sentence_says_the_spacing_where_words_do_not(comment: str, text: str):
    rows = "1 It X 3 x _\n2 's X 3 x _\n3 fine X 0 root _\n4 . X 3 x _\n"
    assert read(f"{comment}\n{rows}\n1 Go X 0 root _").text == f"{text} Go"
    marked = rows.replace("3 fine X 0 root _", "3 fine X 0 root SpaceAfter=No")
    assert read(f"{comment}\n{marked}").text == "It 's fine."


def test_edus_that_are_not_marked_are_found_by_their_characters():
    annotated = read("1 It X 2 x _\n2 rained X 0 root SpaceAfter=No\n3 , X 2 x _\n4 so X 2 x _")
    tree = Unit("result", "NS", (Leaf(0), Leaf(1)))
    document = attach(Document.from_edus("rain", ["It rained ,", "so"], tree), annotated, PATH)
    assert (document.edu_texts, document.tree) == (["It rained,", "so"], tree)
    for edus, message in (
        (["It rained", "but"], "EDU 2 of 2 must match the text"),
        (["It rai", "ned , so"], "EDU 2 of 2 must start with a word of its own, got 'ned , so'"),
        (["", "It rained , so"], "EDU 2 of 2 must start with a word of its own, got 'It rained , so'"),
    ):
        with pytest.raises(CorpusFormatError, match=f"^{PATH}: {message}"):
            attach(Document.from_edus("rain", edus, tree), annotated, PATH)


def test_the_start_of_the_document_starts_a_paragraph():
    annotated = read("1 One X 0 root _\n\n# newpar\n1 Two X 0 root _\n\n1 Three X 0 root _\n")
    assert texts(annotated, annotated.paragraphs) == [("One", "p"), ("Two Three", "p")]


@pytest.mark.parametrize(
    ("comments", "kind"),
    [
        ("# newpar", "p"),
        ("# newpar id = p7", "p"),
        ("# newpar = head (1 s)", "head"),
        ("#newpar", "p"),
        ("# newpar_block = ", "p"),
        ("# newpar_block = figure (2 s) | p (1 s)", "figure"),
        ("# newpar_block = p (1 s) | item (1 s)", "item"),
        ('# newpar_block = hi rend:::"bold" (1 s) | head (1 s) | sp (1 s)', "head"),
        ("# newpar_block = quote (1 s)\n# newpar", "quote"),
        ("# newpar\n# newpar_block = sp (3 s) | p (1 s)", "sp"),
    ],
)
def test_kinds_of_paragraphs(comments: str, kind: str):
    annotated = read(f"1 One X 0 root _\n\n{comments}\n1 Two X 0 root _\n")
    assert texts(annotated, annotated.paragraphs) == [("One", "p"), ("Two", kind)]


def test_other_comments_start_nothing():
    annotated = read("1 One X 0 root _\n\n# newparty = x\n# text = newpar\n1 Two X 0 root _\n")
    assert texts(annotated, annotated.paragraphs) == [("One Two", "p")]


def test_marks_after_the_last_sentence_start_nothing():
    annotated = read("1 One X 0 root _\n\n# newpar\n# newpar_block = item (1 s)\n# speaker = Ada\n")
    assert texts(annotated, annotated.paragraphs) == [("One", "p")]
    assert texts(annotated, annotated.sentences) == [("One", "")]


def test_entities_nest_overlap_and_come_in_parts():
    annotated = read(
        "1 a X 0 root Entity=(1-person-new-x(2-place(3-time)\n"
        "2 b X 1 x Entity=1)(4[1/2]-event-new\n"
        "3 c X 1 x Entity=2)4[1/2])\n"
        "4 d X 1 x Entity=(4[2/2]-event-new)(5-plant(5-animal\n"
        "5 e X 1 x Entity=5)\n"
        "6 f X 1 x Entity=5)9)(7-lost\n"
    )
    assert texts(annotated, annotated.entities) == [
        ("a b c", "place"),
        ("a b", "person"),
        ("a", "time"),
        ("b c", "event"),
        ("d e f", "plant"),
        ("d e", "animal"),
        ("d", "event"),
    ]


def test_line_ends_and_byte_order_marks():
    plain = conllu(HARBOR_CONLLU)
    assert read_conllu(plain.replace(b"\n", b"\r\n"), PATH) == read_conllu(plain, PATH)
    assert read_conllu(b"\xef\xbb\xbf" + plain, PATH) == read_conllu(plain, PATH)
    assert read_conllu(plain.decode().encode("utf-16"), PATH) == read_conllu(plain, PATH)
    assert read_conllu(plain.rstrip(), PATH) == read_conllu(plain, PATH)


FINE = "# newpar\n1\tOne\t_\t_\tX\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("2\tTwo\t_\t_\tX\t_\t1\tdep\t_", 3, "a word line must have 10 columns, got 9"),
        ("two words", 3, "a word line must have 10 columns, got 1"),
        ("2\tTwo\t_\t_\tX\t_\t_\tdep\t_\t_", 3, "a word id or head must be a number, got '_'"),
        ("2\tTwo\t_\t_\tX\t_\t-1\tdep\t_\t_", 3, "a word id or head must be a number, got '-1'"),
        ("2\tTwo\t_\t_\tX\t_\t²\tdep\t_\t_", 3, "a word id or head must be a number, got '²'"),
        (f"2\tTwo\t_\t_\tX\t_\t{'9' * 5000}\tdep\t_\t_", 3, f"a word id or head must be a number, got '{'9' * 30}'"),
        ("2\tTwo\t_\t_\tX\t_\t3\tdep\t_\t_", 3, "a head must be one of the 2 words of its sentence, got 3"),
        ("2\tTwo\t_\t_\tX\t_\t9\tdep\t_\t_\n3\tSix\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "one of the 3 words of its sentence"),
        ("3\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "the next word must be number 2, got 3"),
        ("1\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "the next word must be number 2, got 1"),
        ("x\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "a word id or head must be a number, got 'x'"),
        ("2-x\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "a word id or head must be a number, got 'x'"),
        ("2-3-4\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "a word id or head must be a number, got '3-4'"),
        ("3-4\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "a range must start with the next word, 2, got 3-4"),
        ("2-1\tTwo\t_\t_\tX\t_\t1\tdep\t_\t_", 3, "a range must start with the next word, 2, got 2-1"),
        ("2-9\tTwo\t_\t_\t_\t_\t_\t_\t_\t_\n", 3, "a range must end within the 1 words of its sentence, got 9"),
    ],
)
def test_errors_name_the_file_and_the_line(content: str, line: int, message: str):
    with pytest.raises(CorpusFormatError) as caught:
        read_conllu(f"{FINE}{content}\n\n{FINE}".encode(), PATH)
    assert str(caught.value).startswith(f"{PATH}:{line}: ")
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (PATH, line)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# newpar\n# text = nothing\n", b"1.1\tx" + b"\t_" * 8 + b"\n"])
def test_a_file_without_a_sentence(content: bytes):
    with pytest.raises(CorpusFormatError, match="must hold at least one sentence") as caught:
        read_conllu(content, PATH)
    assert str(caught.value).startswith(str(PATH))


def test_files_that_are_no_text():
    for content in (FINE.encode("utf-16-le"), b"\x7fELF\0\1\2"):
        with pytest.raises(CorpusFormatError, match="must be text, got binary data"):
            read_conllu(content, PATH)
    with pytest.raises(CorpusFormatError, match="the text is not valid utf-16-le"):
        read_conllu(b"\xff\xfea", PATH)
    with pytest.warns(CorpusWarning, match="byte 0 is not UTF-8"), pytest.raises(CorpusFormatError, match=":1: "):
        read_conllu(b"\xfe\x80 junk", PATH)
