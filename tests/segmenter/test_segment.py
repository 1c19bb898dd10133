import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.errors import ConfigError, ModelNotFoundError, TreeError
from genrst.segmenter.edus import with_edus
from genrst.segmenter.features import read_tokens
from genrst.segmenter.network import WindowedText
from genrst.segmenter.rules import segment_by_rules
from genrst.segmenter.segment import boundary_probabilities, load_segmenter, save_segmenter
from genrst.storage import CONFIG, SYMBOLS, WEIGHTS
from genrst.text.layout import content_start
from genrst.trees.node import Leaf
from tests.segmenter.samples import annotated_documents, make_document, make_segmenter

WORDS = ["the", "ferry", "stopped", ",", "when", "storms", "came", ".", "— 2024", "naïve"]
DOCUMENTS = [make_document(random.Random(n).choices(WORDS, k=5 + 7 * n), random.Random(n)) for n in range(8)]
SEGMENTER = make_segmenter(DOCUMENTS)


def check_edus(before: Document, after: Document) -> None:
    """EDUs come in order and go from token to token; each has words, and so has no token outside of them."""
    assert before.text is not None
    assert replace(after, edus=before.edus) == before
    tokens, text = before.tokens, before.text
    edges = [0, *(edge for edu in after.edus for edge in (edu.start, edu.end)), len(text)]
    assert edges == sorted(edges)
    assert {edu.start for edu in after.edus} <= {token.start for token in tokens}
    assert {edu.end for edu in after.edus} <= {token.end for token in tokens}
    with_words = [token for token in tokens if any(map(str.isalnum, text[token.start : token.end]))]
    assert len(after.edus) == 1 or all(any(map(str.isalnum, edu)) for edu in after.edu_texts)
    assert sum(edu.start <= token.start < token.end <= edu.end for edu in after.edus for token in with_words) == len(
        with_words
    )
    contents = [(paragraph, content_start(text, paragraph)) for paragraph in before.paragraphs]
    inside = [
        token.start
        for token in with_words
        if not any(paragraph.start <= token.start <= content for paragraph, content in contents)
    ]
    sentences = [[start for start in inside if one.start <= start < one.end] for one in before.sentences]
    firsts = [starts[0] for starts in sentences if starts]
    assert all(sum(edu.start <= first < edu.end for first in firsts) <= 1 for edu in after.edus), "sentences are apart"


@given(st.lists(annotated_documents(), max_size=3))
def test_edus_of_any_text(documents: list[Document]):
    found = SEGMENTER.segment(documents)
    assert len(found) == len(documents)
    for before, after in zip(documents, found, strict=True):
        check_edus(before, after)
        check_edus(before, segment_by_rules(before))


def test_some_edus_start_inside_sentences():
    found = SEGMENTER.segment(DOCUMENTS)
    n_sentences = sum(len(document.sentences) for document in DOCUMENTS)
    assert n_sentences < sum(len(document.edus) for document in found) < sum(len(d.tokens) for d in DOCUMENTS)


def test_batched_is_single():
    together = SEGMENTER.segment(DOCUMENTS)
    assert together == [SEGMENTER.segment([document])[0] for document in DOCUMENTS]
    assert together == SEGMENTER.segment(DOCUMENTS[::-1])[::-1]
    tokens = [read_tokens(document, SEGMENTER.symbols) for document in DOCUMENTS]
    window = SEGMENTER.network.config.window
    alone = [boundary_probabilities(SEGMENTER.network, WindowedText([one], window)) for one in tokens]
    np.testing.assert_allclose(
        boundary_probabilities(SEGMENTER.network, WindowedText(tokens, window)), np.concatenate(alone), atol=1e-5
    )
    assert np.concatenate(alone).std() > 0.1, "the network has an opinion"


def test_nothing_to_segment():
    assert SEGMENTER.segment([]) == []


def test_old_edus_and_trees_are_forgotten():
    document = DOCUMENTS[3]
    (expected,) = SEGMENTER.segment([document])
    assert SEGMENTER.segment([replace(document, edus=(Span(0, 1), Span(1, 3)))]) == [expected]
    parsed = replace(
        document,
        tree=Leaf(0),
        log_probability=-1.0,
        model="parser",
        signals=(Signal((0, 1), "dm", "but"),),
        secondary_edges=(SecondaryEdge((0, 1), (0, 1), "cause"),),
    )
    assert SEGMENTER.segment([parsed]) == [expected]


def test_documents_without_tokens():
    with pytest.raises(TreeError, match="annotate it first"):
        SEGMENTER.segment([replace(DOCUMENTS[0], tokens=())])


def test_the_context_reaches_no_further_than_the_window():
    """What stands in another window changes nothing; what stands in the same one may."""
    words = ["a"] * 8
    first, second = (make_document([*words, last], random.Random(3)) for last in ("a", "storms"))
    assert len(first.sentences) == 2, "the sample has two sentences"
    start = first.sentences[1].start
    n_before = sum(token.start < start for token in first.tokens)
    tokens = [read_tokens(document, SEGMENTER.symbols) for document in (first, second)]
    found = [boundary_probabilities(SEGMENTER.network, WindowedText([one], n_before)) for one in tokens]
    np.testing.assert_array_equal(found[0][:n_before], found[1][:n_before])
    assert not np.array_equal(found[0][n_before:], found[1][n_before:])


@pytest.mark.slow
@pytest.mark.parametrize("in_one_sentence", [False, True])
def test_a_million_characters(in_one_sentence: bool):
    rng = random.Random(1)
    document = make_document(rng.choices(WORDS, k=250_000), rng)
    if in_one_sentence:
        document = replace(document, sentences=())
    assert document.text is not None
    assert len(document.text) > 1_000_000
    (found,) = SEGMENTER.segment([document])
    edges = [0, *(edge for edu in found.edus for edge in (edu.start, edu.end)), len(document.text)]
    assert edges == sorted(edges)
    assert len(found.edus) >= len(document.sentences)


def test_with_edus():
    document = DOCUMENTS[0]
    starts = np.zeros(len(document.tokens), dtype=np.bool_)
    starts[[0, 2]] = True
    tokens = document.tokens
    expected = (Span(tokens[0].start, tokens[1].end), Span(tokens[2].start, tokens[-1].end))
    assert with_edus(document, starts).edus == expected


@pytest.mark.parametrize(("label", "edus"), [("sp", ["Anna B: Well,", "no."]), ("p", ["Anna B:", "Well,", "no."])])
def test_the_name_of_a_speaker_is_no_edu(label: str, edus: list[str]):
    text = "Anna B: Well, no."
    places = [(0, 4), (5, 6), (6, 7), (8, 12), (12, 13), (14, 16), (16, 17)]
    tokens = tuple(Token(start, end, number) for number, (start, end) in enumerate(places))
    document = Document("talk", text, (Span(0, 17),), tokens=tokens, paragraphs=(Span(0, 17, label),))
    starts = np.array([True, False, True, True, False, True, False])
    assert with_edus(document, starts).edu_texts == edus


def test_a_segmenter_comes_back_bit_for_bit(tmp_path: Path):
    save_segmenter(SEGMENTER, tmp_path / "new" / "model", "float32")
    loaded = load_segmenter(tmp_path / "new" / "model")
    assert loaded.symbols == SEGMENTER.symbols
    assert loaded.network.config == SEGMENTER.network.config
    assert not loaded.network.training
    weights = SEGMENTER.network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in loaded.network.state_dict().items())
    assert loaded.segment(DOCUMENTS) == SEGMENTER.segment(DOCUMENTS)


def test_half_of_the_bits(tmp_path: Path):
    save_segmenter(SEGMENTER, tmp_path)
    loaded = load_segmenter(tmp_path)
    for name, tensor in SEGMENTER.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], tensor.half().float()), name
    save_segmenter(loaded, tmp_path / "again")
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (tmp_path / WEIGHTS).read_bytes()


def test_folders_that_hold_no_segmenter(tmp_path: Path):
    with pytest.raises(ModelNotFoundError, match="a model folder must hold"):
        load_segmenter(tmp_path)
    save_segmenter(SEGMENTER, tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps(config | {"layers": 3}))
    with pytest.raises(ConfigError, match="the weights do not fit the configuration"):
        load_segmenter(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps(config | {"colour": 3}))
    with pytest.raises(ConfigError, match="colour: the key must be one of word_size, "):
        load_segmenter(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps(config))
    (tmp_path / SYMBOLS).write_text("{}")
    with pytest.raises(ConfigError, match="symbols must have a list for each of word, "):
        load_segmenter(tmp_path)
