import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import TreeError
from genrst.segmenter.features import (
    COLUMNS,
    MEASURES,
    N_BUCKETS,
    POINTERS,
    Tokens,
    bucket,
    edu_starts,
    letters,
    read_tokens,
    rows,
    sentence_starts,
    structure,
)
from tests.segmenter.samples import annotated_documents, count_symbols, make_document, runs


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
