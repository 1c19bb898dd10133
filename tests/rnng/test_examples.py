from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span, Token
from genrst.errors import GenrstError, TreeError, UnknownLabelError
from genrst.rnng.config import UNK_ID, make_symbols
from genrst.rnng.examples import mask_entities, prepare
from genrst.rnng.transitions.actions import ActionSet, Reduce
from genrst.rnng.transitions.features import Boundary, boundaries
from genrst.text.layout import Kind, edu_kinds
from genrst.trees.node import Leaf, Unit

LABELS = ActionSet((Reduce("cause", "NS"), Reduce("joint", "NN")))


def document(*edus: str, entities: tuple[tuple[str, str], ...] = (), **parts) -> Document:
    """A document whose tokens stand between spaces and are all roots; entities are given as texts and types."""
    plain = Document.from_edus("note", edus)
    assert plain.text is not None
    tokens: list[Token] = []
    offset = 0
    for word in plain.text.split(" "):
        tokens += [Token(offset, offset + len(word), len(tokens), "dep")] if word else []
        offset += len(word) + 1
    spans = [Span(plain.text.index(name), plain.text.index(name) + len(name), label) for name, label in entities]
    return replace(plain, tokens=tuple(tokens), entities=tuple(spans), **parts)


def test_an_entity_is_one_word_of_its_edu_and_a_word_of_each_of_its_tokens():
    masked = mask_entities(
        document("Old Port Ferries sank", "near New Hull .", entities=(("Port Ferries", "ORG"), ("New Hull", "GPE")))
    )
    assert masked.edus == [["Old", "<ORG>", "sank"], ["near", "<GPE>", "."]]
    assert masked.tokens == ["Old", "<ORG>", "<ORG>", "sank", "near", "<GPE>", "<GPE>", "."]
    assert masked.edu_tokens == [0, 4, 8]


def test_an_entity_across_a_border_is_masked_on_both_sides():
    masked = mask_entities(document("see the Port", "Ferries now", entities=(("Port Ferries", "ORG"),)))
    assert masked.edus == [["see", "the", "<ORG>"], ["<ORG>", "now"]]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_nested_entities_the_outer_one_counts(is_reversed: bool):
    entities = (("Bank of New Hull", "ORG"), ("New Hull", "GPE"), ("Bank", "X"))
    masked = mask_entities(document("the Bank of New Hull fell", entities=entities[:: -1 if is_reversed else 1]))
    assert masked.edus == [["the", "<ORG>", "fell"]]
    assert masked.tokens == ["the", *["<ORG>"] * 4, "fell"]


def test_two_entities_side_by_side_are_two_words():
    masked = mask_entities(document("Ann Lee met", entities=(("Ann", "PERSON"), ("Lee", "PERSON"))))
    assert masked.edus == [["<PERSON>", "<PERSON>", "met"]]


def test_lower_case_is_for_words_not_for_types():
    masked = mask_entities(document("The ACME Plant", entities=(("ACME", "ORG"),)), lowercase=True)
    assert masked.tokens == ["the", "<ORG>", "plant"]


@st.composite
def masked_documents(draw: st.DrawFn) -> Document:
    """EDUs of single letters, with entities over any tokens, perhaps one inside the other or across borders."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    plain = document(*(" ".join("abcd"[:size]) for size in sizes))
    token = st.integers(0, sum(sizes) - 1)
    ranges = draw(st.lists(st.tuples(token, token).map(sorted), max_size=4))
    entities = [
        Span(plain.tokens[first].start, plain.tokens[last].end, f"T{number}")
        for number, (first, last) in enumerate(ranges)
    ]
    return replace(plain, entities=tuple(entities))


@given(masked_documents())
def test_masking_by_definition(document):
    """Every token within an entity is its type; no name shows; words of an EDU are its tokens with runs merged."""
    masked = mask_entities(document)
    text = document.text
    for token, word in zip(document.tokens, masked.tokens, strict=True):
        around = {f"<{e.label}>" for e in document.entities if e.start <= token.start and token.end <= e.end}
        assert word in around if around else word == text[token.start : token.end]
    for edu, words, (start, stop) in zip(
        document.edus, masked.edus, zip(masked.edu_tokens, masked.edu_tokens[1:], strict=False), strict=True
    ):
        assert [t.start for t in document.tokens[start:stop]] == [
            t.start for t in document.tokens if edu.start <= t.start < edu.end
        ]
        tokens = masked.tokens[start:stop]
        merged = [
            word
            for place, word in enumerate(tokens)
            if place == 0 or not word.startswith("<") or word != tokens[place - 1]
        ]
        assert words == merged, "types are all different, so equal neighbours are one entity"


def test_numbers():
    """Words seen once and words never seen are unknown; features look at tokens, the language model at words."""
    symbols = make_symbols(["the", "the", "<ORG>", "<ORG>", "fell", "fell", "rare"], ["dep", "obj"], LABELS)
    known = symbols.words.symbols.index
    note = document("the Port Ferries fell", "rare words", entities=(("Port Ferries", "ORG"),))
    note = replace(
        note,
        tokens=tuple(replace(t, head=0, deprel=d) for t, d in zip(note.tokens, ["dep", "obj", "new"] * 2, strict=True)),
        sentences=(Span(0, 21), Span(22, 32)),
        paragraphs=(Span(0, 32),),
    )
    example = prepare(note, symbols)
    assert example.id == "note"
    assert example.edu_words.tolist() == [known("the"), known("<ORG>"), known("fell"), UNK_ID, UNK_ID]
    assert example.edu_lengths.tolist() == [3, 2]
    org = known("<ORG>")
    assert example.token_words.tolist() == [known("the"), org, org, known("fell"), UNK_ID, UNK_ID]
    assert example.syntax.heads == [0] * 6
    assert example.syntax.deprels == [2, 3, 1, 2, 3, 1], "dep, obj, unknown"
    assert example.syntax.edu_tokens == [0, 4, 6]
    assert example.syntax.sentences == [0, 1]
    assert example.syntax.paragraphs == [0, 0]
    assert example.syntax.kinds == [Kind.PARAGRAPH, Kind.SENTENCE]
    assert example.actions == ()


def test_an_edu_without_tokens_is_one_unknown_word():
    note = document("the end", "the end")
    empty = replace(note, edus=(note.edus[0], Span(7, 7), note.edus[1]))
    symbols = make_symbols(["the"] * 2, [], LABELS)
    example = prepare(empty, symbols)
    assert example.edu_lengths.tolist() == [2, 1, 2]
    assert example.edu_words.tolist()[2] == UNK_ID
    assert example.syntax.edu_tokens == [0, 2, 2, 4]


def test_tokens_outside_the_edus_are_not_lost():
    note = document("a b c d")
    example = prepare(replace(note, edus=(Span(2, 3), Span(6, 7))), make_symbols("aabbccdd", [], LABELS))
    assert example.edu_lengths.tolist() == [3, 1], "what stands between two EDUs goes with the first"


def test_gold_actions():
    symbols = make_symbols([], [], LABELS)
    tree = Unit("joint", "NN", (Unit("cause", "NS", (Leaf(0), Leaf(1))), Leaf(2)))
    note = document("a", "b", "c", tree=tree)
    assert prepare(note, symbols, tree).actions == (0, 0, 1, 0, 2)


def test_a_label_never_seen_is_one_line():
    tree = Unit("cause", "SN", (Leaf(0), Leaf(1)))
    note = document("a", "b", tree=tree)
    with pytest.raises(UnknownLabelError) as error:
        prepare(note, make_symbols([], [], LABELS), tree)
    assert str(error.value) == "note: the label RE(cause, SN) does not occur in the training trees"
    assert isinstance(error.value, GenrstError)


@pytest.mark.parametrize("change", [{"tokens": ()}, {"text": None}])
def test_documents_must_be_annotated(change):
    with pytest.raises(TreeError, match="note: the document must have a text and tokens"):
        prepare(replace(document("a b"), **change), make_symbols([], [], LABELS))


def laid_out(*paragraphs: tuple[str, list[str]]) -> Document:
    """Paragraphs of a label and speakers, one a sentence; each sentence has two EDUs of a letter."""
    edus, sentences, spans = [], list[Span](), list[Span]()
    for label, speakers in paragraphs:
        first = 4 * len(sentences)
        for speaker in speakers:
            start = 4 * len(sentences)
            sentences.append(Span(start, start + 3, speaker))
            edus += [Span(start, start + 1), Span(start + 2, start + 3)]
        spans.append(Span(first, edus[-1].end, label))
    return document(*["a"] * len(edus), edus=tuple(edus), sentences=tuple(sentences), paragraphs=tuple(spans))


@pytest.mark.parametrize(
    ("paragraphs", "kinds"),
    [
        ([("p", [""])], "P"),
        ([("", ["", ""])], "PS"),
        ([("head", [""]), ("item", ["", ""]), ("p", [""]), ("caption", [""])], "HISPP"),
        ([("item", ["A"]), ("p", ["A"]), ("p", ["B"])], "IPT"),
        ([("sp", ["A", "A", "B"]), ("sp", ["B"]), ("sp", ["A"])], "PSTPT"),
        ([("p", [""]), ("sp", ["A"]), ("p", [""]), ("sp", ["A"])], "PTPT"),
        ([("p", ["", "A", ""])], "PSS"),
        ([("p", ["A"]), ("head", ["B"]), ("item", ["A"])], "PHI"),
    ],
)
def test_kinds_by_hand(paragraphs: list[tuple[str, list[str]]], kinds: str):
    """Each letter is what a sentence begins; the second EDU of every one begins nothing."""
    names = {"P": Kind.PARAGRAPH, "S": Kind.SENTENCE, "H": Kind.HEADING, "I": Kind.ITEM, "T": Kind.TURN}
    expected = [kind for letter in kinds for kind in (names[letter], Kind.NOTHING)]
    assert edu_kinds(laid_out(*paragraphs)) == expected


def test_kinds_of_a_document_without_sentences_and_paragraphs():
    assert edu_kinds(document("a b", "c d")) == [Kind.PARAGRAPH, Kind.NOTHING]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p", "head", "item", "sp", ""]), st.lists(st.sampled_from(["", "A", "B"]), min_size=1)
        ),
        min_size=1,
        max_size=5,
    )
)
def test_kinds_are_boundaries_in_more_detail(paragraphs):
    """All but a turn say themselves whether a paragraph begins; a turn can be a sentence."""
    syntax = prepare(laid_out(*paragraphs), make_symbols([], [], LABELS)).syntax
    coarse = {
        Kind.NOTHING: {Boundary.NOTHING},
        Kind.SENTENCE: {Boundary.SENTENCE},
        Kind.TURN: {Boundary.SENTENCE, Boundary.PARAGRAPH},
    }
    for kind, boundary in zip(boundaries(syntax, has_kinds=True), boundaries(syntax), strict=True):
        assert boundary in coarse.get(Kind(kind), {Boundary.PARAGRAPH})
    assert boundaries(syntax, has_kinds=True) == syntax.kinds
