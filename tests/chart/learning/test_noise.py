"""Documents that are made harder in training."""

import json
from dataclasses import replace

import numpy as np
import pytest

from genrst.chart.examples import ChartExample
from genrst.chart.labels import Labels
from genrst.chart.learning.task import (
    ChartTask,
    NoiseRates,
    segment_starts,
    without_kinds,
    without_paragraphs,
    without_pieces,
)
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import ConfigError
from genrst.text.layout import Kind
from tests.chart.random_networks import LABELS
from tests.encoder.tiny_encoders import make_tokenizer, piece_example

TOKENIZER = make_tokenizer()


def laid_out() -> ChartExample:
    """A heading, a paragraph of two sentences, a turn in it, an item."""
    example = piece_example(6)
    kinds = [Kind.HEADING, Kind.PARAGRAPH, Kind.NOTHING, Kind.SENTENCE, Kind.TURN, Kind.ITEM]
    sentences, paragraphs = [0, 1, 1, 2, 3, 4], [0, 1, 1, 1, 1, 2]
    return replace(example, sentences=sentences, paragraphs=paragraphs, kinds=list(map(int, kinds)))


def add_noise(
    rates: NoiseRates, example: ChartExample, seed: int, tokenizer: PieceTokenizer = TOKENIZER
) -> ChartExample:
    task = ChartTask([example], [], Labels(tuple(LABELS)), tokenizer, noise=rates)
    return task._add_noise(example, seed)


def test_without_kinds_there_are_paragraphs_and_sentences():
    kinds = [Kind.PARAGRAPH, Kind.PARAGRAPH, Kind.NOTHING, Kind.SENTENCE, Kind.SENTENCE, Kind.PARAGRAPH]
    found = without_kinds(laid_out())
    assert found.kinds == list(map(int, kinds))
    assert found.paragraphs == [0, 1, 1, 1, 1, 2]


def test_without_paragraphs_there_are_sentences():
    kinds = [Kind.PARAGRAPH, Kind.SENTENCE, Kind.NOTHING, Kind.SENTENCE, Kind.SENTENCE, Kind.SENTENCE]
    found = without_paragraphs(laid_out())
    assert found.kinds == list(map(int, kinds))
    assert set(found.paragraphs) == {0}
    assert found.sentences == [0, 1, 1, 2, 3, 4]


def test_an_edu_that_would_lose_all_its_pieces_keeps_one():
    example = replace(piece_example(3), pieces=np.array([5, 9, 9, 9, 6, 9, 7]), piece_lengths=np.array([2, 2, 3]))
    found = without_pieces(example, example.pieces == 9)
    assert found.pieces.tolist() == [5, 9, 6, 7]
    assert found.piece_lengths.tolist() == [1, 1, 2]


def test_what_a_lost_piece_would_have_started_the_next_one_does():
    """As it is with the EDUs of the document itself."""
    example = replace(piece_example(3), pieces=np.array([9, 5, 9, 9, 6, 7, 9]), piece_lengths=np.array([2, 3, 2]))
    starts = np.array([0.9, 0.1, 0.8, 0.2, 0.3, 0.7, 0.6], dtype=np.float32)[:, None].repeat(2, axis=1)
    found = without_pieces(replace(example, starts=starts), example.pieces == 9)
    assert found.starts is not None
    np.testing.assert_allclose(found.starts, np.array([0.9, 0.8, 0.7])[:, None].repeat(2, axis=1))
    (firsts,) = np.nonzero(segment_starts(found)[:, 0])
    assert firsts.tolist() == [0, 1, 2]


@pytest.mark.parametrize("rates", [NoiseRates(layout=0.3), NoiseRates(punctuation=0.3)])
def test_a_share_of_documents_has_noise(rates: NoiseRates):
    example = laid_out()
    marks = np.full_like(example.pieces, TOKENIZER.punctuation[0])
    example = replace(example, pieces=np.where(np.arange(len(marks)) % 3, example.pieces, marks))
    n_changed = 0
    for seed in range(200):
        found = add_noise(rates, example, seed)
        n_changed += len(found.pieces) != len(example.pieces) or found.kinds != example.kinds
    assert 40 < n_changed < 80


def test_masks_hide_their_share_of_pieces():
    data = json.loads(TOKENIZER.json)
    data["model"]["vocab"]["[MASK]"] = mask = 77
    rates, example = NoiseRates(pieces=0.5), piece_example(200)
    found, again, other = (
        add_noise(rates, example, seed, PieceTokenizer(json.dumps(data))).pieces for seed in (1, 1, 2)
    )
    assert 0.4 < (found == mask).mean() < 0.6
    assert ((found == mask) | (found == example.pieces)).all()
    assert (again == found).all()
    assert (other != found).any()


def test_masks_need_a_tokenizer_that_has_them():
    with pytest.raises(ConfigError, match="tokenizer has no mask token"):
        add_noise(NoiseRates(pieces=0.1), piece_example(3), 1)


def test_punctuation_has_no_letters():
    words = TOKENIZER(["the", "a"])
    assert not set(TOKENIZER.punctuation) & {piece for pieces in words for piece in pieces}
