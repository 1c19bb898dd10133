import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import ConfigError, TreeError
from genrst.rnng.symbols import SPECIALS, UNK_ID
from genrst.segmenter.features import (
    COLUMNS,
    MEASURES,
    N_BUCKETS,
    POINTERS,
    OpenSymbols,
    Symbols,
    Tokens,
    bucket,
    edu_starts,
    largest_at,
    letters,
    read_tokens,
    rows,
    sentence_starts,
    structure,
    subtree_spans,
)
from tests.segmenter.samples import annotated_documents, count_symbols, make_document, make_heads, runs

ROWS = st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", "", *SPECIALS])] * len(COLUMNS)), min_size=1, max_size=30)


def of_column(document: Document, name: str) -> list[str]:
    return [row[COLUMNS.index(name)] for row in rows(document)]


@given(annotated_documents())
def test_symbols_of_syntax_and_layout(document: Document):
    assert document.text is not None
    assert of_column(document, "tag") == [token.tag for token in document.tokens]
    assert of_column(document, "deprel") == [token.deprel for token in document.tokens]
    inside = {
        token: next((p.label for p in document.paragraphs if p.start <= token.start < p.end), "p")
        for token in document.tokens
    }
    assert of_column(document, "kind") == ["head" if inside[token] == "head" else "p" for token in document.tokens]

    gaps = of_column(document, "gap")
    for number, token in enumerate(document.tokens):
        before = document.text[document.tokens[number - 1].end : token.start] if number else ""
        if token.start in {paragraph.start for paragraph in document.paragraphs}:
            assert gaps[number] == "paragraph"
        elif token.start in {sentence.start for sentence in document.sentences}:
            assert gaps[number] == "sentence"
        else:
            assert gaps[number] == ("line" if "\n" in before else "space" if before else "none")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Walking", ("walking", "wal", "ing", "Xx")),
        ("NASA", ("nasa", "nas", "asa", "X")),
        ("1,250.75", ("0,000.00", "0,0", ".00", "0,0.0")),
        ("iPhone", ("iphone", "iph", "one", "xX")),
        ("COVID-19", ("covid-00", "cov", "-00", "X-0")),
        ("n't", ("n't", "n't", "n't", "x'x")),
        ("—", ("—", "—", "—", "—")),
        ("a_b_c_d", ("a_b_c_d", "a_b", "c_d", "x_x_x")),
    ],
)
def test_letters(word: str, expected: tuple[str, ...]):
    assert letters(word) == expected


@given(annotated_documents())
def test_tokens(document: Document):
    symbols = count_symbols([document])
    tokens = read_tokens(document, symbols)
    assert len(tokens) == len(document.tokens)
    assert tokens.heads.tolist() == [token.head for token in document.tokens]
    starts = {sentence.start for sentence in document.sentences}
    assert tokens.starts_sentence.tolist() == [token.start in starts for token in document.tokens]
    for row, numbers in zip(rows(document), tokens.symbols.tolist(), strict=True):
        assert numbers == [v.number(symbol) for v, symbol in zip(symbols.vocabularies, row, strict=True)]


@given(annotated_documents(), st.data())
def test_where_edus_start(document: Document, data: st.DataObject):
    n_tokens = len(document.tokens)
    starts = sorted({0, *data.draw(st.lists(st.integers(0, n_tokens - 1)))})
    edus = runs([Span(token.start, token.end) for token in document.tokens], starts)
    assert np.flatnonzero(edu_starts(replace(document, edus=edus))).tolist() == starts


def test_without_sentences_the_document_is_one():
    document = replace(make_document(["a", "b", "c"], random.Random(1)), sentences=(), paragraphs=())
    assert sentence_starts(document) == [True, False, False]
    assert of_column(document, "kind") == ["p"] * 3


@given(annotated_documents())
def test_structure_against_the_definition(document: Document):
    tokens = read_tokens(document, count_symbols([document]))
    pointers, measures = structure(tokens)
    assert pointers.shape == (len(tokens), len(POINTERS))
    assert measures.shape == (len(tokens), len(MEASURES))
    children = subtrees(tokens)
    sentence_of = np.cumsum(tokens.starts_sentence)
    for token in range(len(tokens)):
        head, opened, closed = pointers[token].tolist()
        assert head == tokens.heads[token]
        sizes = [
            max((max(tree) - min(tree) + 1 for tree in children if edge(tree) == token), default=0)
            for edge in (min, max)
        ]
        for found, edge, size in ((opened, min, sizes[0]), (closed, max, sizes[1])):
            tree = children[found]
            assert found == token if not size else (edge(tree), max(tree) - min(tree) + 1) == (token, size)
        sentence = np.flatnonzero(sentence_of == sentence_of[token])
        distances = [head - token, *sizes, token - sentence[0], sentence[-1] - token]
        assert measures[token].tolist() == bucket(np.array(distances)).tolist()


def subtrees(tokens: Tokens) -> list[set[int]]:
    found = [{token} for token in range(len(tokens))]
    for token in range(len(tokens)):
        at = token
        while tokens.heads[at] != at:
            at = int(tokens.heads[at])
            found[at].add(token)
    return found


def test_buckets_are_powers_of_two():
    middle = N_BUCKETS // 2
    distances = np.array([0, 1, 2, 3, 4, 7, 8, 63, 64, 10**9])
    expected = [0, 1, 2, 2, 3, 3, 4, 6, 7, 7]
    assert bucket(distances).tolist() == [middle + size for size in expected]
    assert bucket(-distances).tolist() == [middle - size for size in expected]
    assert 0 <= bucket(-distances).min() <= bucket(distances).max() < N_BUCKETS


@pytest.mark.parametrize("missing", ["text", "tokens"])
def test_documents_that_nobody_annotated(missing: str):
    document = make_document(["a", "b"], random.Random(1))
    document = replace(document, text=None) if missing == "text" else replace(document, tokens=())
    with pytest.raises(TreeError, match="must have text and tokens to be segmented; annotate it first"):
        list(rows(document))


@given(st.lists(ROWS, min_size=1, max_size=3), st.integers(1, 4), st.integers(0, 3))
def test_counting_while_reading_gives_what_counting_first_gives(texts, min_count, limit):
    opened = OpenSymbols()
    numbered = [opened.number(text) for text in texts]
    symbols = opened.close(numbered, min_count, {"suffix": limit})
    for column, vocabulary in enumerate(symbols.vocabularies):
        counts = Counter(row[column] for text in texts for row in text)
        kept = [s for s, n in counts.items() if n >= min_count and s not in SPECIALS]
        kept.sort(key=lambda symbol: (-counts[symbol], symbol))
        assert vocabulary.symbols == (*SPECIALS, *kept[: limit if COLUMNS[column] == "suffix" else None])
    renumber = opened.renumbering(symbols)
    for text, numbers in zip(texts, numbered, strict=True):
        np.testing.assert_array_equal(renumber(numbers), symbols.number(text))
    assert Symbols.from_dict(symbols.as_dict()) == symbols


def test_what_is_not_known_is_unknown():
    opened = OpenSymbols()
    row = tuple("abcdefgh")
    symbols = opened.close([opened.number([row, row])], 2, {})
    assert symbols.number([tuple("zzzzzzzz")]).tolist() == [[UNK_ID] * len(COLUMNS)]
    assert symbols.number([row]).tolist() == [[len(SPECIALS)] * len(COLUMNS)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: {},
        lambda data: [],
        lambda data: data | {"tag": None},
        lambda data: data | {"word": data["word"][1:]},
        lambda data: {name: value for name, value in data.items() if name != "kind"},
    ],
)
def test_wrong_symbols(damage):
    data = Symbols.from_dict({name: list(SPECIALS) for name in COLUMNS}).as_dict()
    with pytest.raises(ConfigError, match="symbols"):
        Symbols.from_dict(damage(data))


def ancestors(token: int, heads: list[int]) -> list[int]:
    """The token itself, its head, and so on up to the root."""
    found = [token]
    while heads[found[-1]] != found[-1]:
        found.append(heads[found[-1]])
    return found


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40))
def test_spans_against_the_definition(seed: int, n_tokens: int, second: int):
    rng = random.Random(seed)
    heads = make_heads(sorted({0, min(second, n_tokens - 1)}), n_tokens, rng)
    first, last = subtree_spans(np.array(heads))
    for token in range(n_tokens):
        subtree = [other for other in range(n_tokens) if token in ancestors(other, heads)]
        assert (first[token], last[token]) == (min(subtree), max(subtree))
    sizes = last - first
    for edges in (first, last):
        found = largest_at(edges, sizes)
        for token in range(n_tokens):
            candidates = [other for other in range(n_tokens) if edges[other] == token] or [token]
            assert found[token] in candidates
            assert sizes[found[token]] == max(sizes[candidates])


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_heads_in_a_circle_end_nothing(heads: list[int]):
    first, last = subtree_spans(np.array(heads))
    assert (first <= np.arange(10)).all()
    assert (last >= np.arange(10)).all()


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, -1])
def test_a_chain_as_long_as_a_book(step: int):
    n_tokens = 100_000
    heads = np.clip(np.arange(n_tokens) + step, 0, n_tokens - 1)
    first, last = subtree_spans(heads)
    ends = (first, last) if step > 0 else (last, first)
    assert (ends[0] == (0 if step > 0 else n_tokens - 1)).all()
    assert (ends[1] == np.arange(n_tokens)).all()
