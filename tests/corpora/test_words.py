"""Annotated words become a text whose offsets give the words back."""

from hypothesis import given
from hypothesis import strategies as st

from genrst.corpora.words import Word, assemble
from genrst.document import Span


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
