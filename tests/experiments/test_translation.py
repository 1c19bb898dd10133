"""Numbers of prepared features and those of a model, by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from experiments.translation import make_translation
from genrst.errors import UsageError
from genrst.model.encoder.files import PieceTokenizer
from genrst.model.examples import Example
from genrst.model.storage import Model, make_network
from genrst.model.symbols import Symbols
from genrst.training.data import Prepared
from genrst.transitions.actions import ActionSet, Reduce
from genrst.transitions.features import Syntax
from genrst.vocabulary import NONE, SPECIALS, UNK, Vocabulary
from tests.training.samples import SMALL

torch.set_num_threads(1)


def spell(*pieces: str) -> PieceTokenizer:
    tokenizer = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PieceTokenizer(tokenizer.to_str())


def make_symbols(words: list[str], deprels: list[str], *labels: str) -> Symbols:
    actions = ActionSet(tuple(Reduce(*label.split()) for label in labels))
    return Symbols(Vocabulary((*SPECIALS, *words)), Vocabulary((NONE, UNK, *deprels)), actions)


OURS = make_symbols(["sea", "<pad>", "fog", "boat"], ["obj", "nsubj"], "cause NS", "joint NN", "cause SN")
THEIRS = make_symbols(["boat", "sea"], ["det", "nsubj", "obj"], "cause SN", "cause NS")
EXAMPLE = Example(
    "by hand",
    edu_words=np.array([4, 6, 2, 5, 7]),
    edu_lengths=np.array([2, 3]),
    token_words=np.array([7, 6, 4, 2, 4]),
    syntax=Syntax([0, 0, 0, 0, 0], [2, 3, 1, 0, 2], [0, 2, 5], [0, 0], [0, 0]),
    actions=(0, 0, 2),
    pieces=np.array([0, 1, 3, 4]),
    piece_lengths=np.array([2, 2]),
)


def by_hand(labels: Symbols = THEIRS, *, has_pieces: bool = True) -> tuple[Prepared, Model]:
    tokenizers = spell("a", "[UNK]", "never", "##b", "c"), spell("[UNK]", "c", "a", "b")
    prepared = Prepared(OURS, [], [EXAMPLE], None, {}, tokenizer=tokenizers[0].json if has_pieces else None)
    return prepared, Model(make_network(SMALL, labels), labels, tokenizers[1])


def test_a_document_by_hand():
    translation = make_translation(*by_hand())
    found = translation.to_model(EXAMPLE)
    # sea fog <unk> <pad>-the-word boat; <pad>, the word, and fog are unknown to the model.
    assert found.edu_words.tolist() == [5, 2, 2, 2, 4]
    assert found.token_words.tolist() == [4, 2, 5, 2, 5]
    # obj nsubj <unk> <none> obj
    assert found.syntax.deprels == [4, 3, 1, 0, 4]
    # a [UNK] ##b c
    assert found.pieces.tolist() == [2, 0, 0, 1]
    for name in ("edu_lengths", "piece_lengths"):
        assert getattr(found, name).tolist() == getattr(EXAMPLE, name).tolist()
    assert replace(found.syntax, deprels=EXAMPLE.syntax.deprels) == EXAMPLE.syntax
    # GEN GEN RE(cause, SN) GEN RE(cause, NS)
    assert translation.from_model([0, 0, 1, 0, 2]) == (0, 0, 3, 0, 1)


def test_special_symbols_are_themselves():
    translation = make_translation(*by_hand())
    assert translation.words[: len(SPECIALS)].tolist() == [0, 1, 2, 3]
    assert translation.deprels[:2].tolist() == [0, 1]


def test_a_model_without_an_encoder_needs_no_pieces():
    prepared, model = by_hand()
    for features in (prepared, replace(prepared, tokenizer=None)):
        assert make_translation(features, replace(model, tokenizer=None)).to_model(EXAMPLE).pieces is EXAMPLE.pieces


def test_what_does_not_fit():
    with pytest.raises(UsageError, match="must be prepared with an encoder, for a model has one"):
        make_translation(*by_hand(has_pieces=False))
    with pytest.raises(UsageError, match=r"must be among those of the features, was: RE\(mode, NS\)"):
        make_translation(*by_hand(make_symbols([], [], "cause NS", "mode NS")))
