"""A segmenter as a teacher of EDUs: what it sees of tokens, at the pieces where they start."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.silver_trees import segment, soften
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import UsageError
from genrst.model.examples import prepare_pieces
from genrst.segmenter.segment import save_segmenter
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline
from genrst.training.prepared import Prepared, load_prepared, save_prepared
from tests.experiments.errors import ends_in_one_line
from tests.miniatures import write_amalgum, write_gum
from tests.model.tiny_encoders import make_tokenizer
from tests.segmenter.samples import make_segmenter, make_text
from tests.training.samples import prepare_samples

TOKENIZER = make_tokenizer()


def read_pieces(document: Document) -> list[list[int]]:
    return TOKENIZER(document.edu_texts)


def make_features(dev: list[Document], silver: list[Document]) -> Prepared:
    """Features of charts, as if they were prepared from these documents."""
    parts = []
    for documents in (dev, silver):
        pieces = [read_pieces(document) for document in documents]
        numbers = [np.array([piece for edu in own for piece in edu], dtype=np.int64) for own in pieces]
        lengths = [np.array([len(edu) for edu in own], dtype=np.int64) for own in pieces]
        parts.append([prepare_pieces(*row) for row in zip(documents, numbers, lengths, strict=True)])
    return replace(prepare_samples(TOKENIZER), train=[], dev=parts[0], silver=parts[1])


@pytest.mark.parametrize("seed", range(5))
def test_every_token_teaches_its_first_piece(seed):
    """And no other piece, whatever pieces its word has; sentences are those of the document."""
    document = make_text(seed)
    p = np.random.default_rng(seed).random(len(document.tokens), dtype=np.float32)
    (example,) = make_features([], [document]).silver
    starts = segment.with_starts(example, document, p, TOKENIZER).starts
    assert starts is not None
    words = [(document.text or "")[token.start : token.end] for token in document.tokens]
    lengths = [len(pieces) for pieces in TOKENIZER(words)]
    assert sum(lengths) == len(example.pieces)
    first = np.cumsum(lengths) - np.array(lengths)
    assert starts[first, 0].tolist() == p.tolist()
    assert not np.delete(starts[:, 0], first).any()
    assert starts[:, 1].sum() == len(document.sentences)


def test_features_of_another_corpus_are_an_error():
    (example,) = make_features([], [make_text(1)]).silver
    other = replace(example, pieces=example.pieces[1:])
    with pytest.raises(UsageError, match=r"text-1: the features must be those of this corpus, was: of others$"):
        segment.with_starts(other, make_text(1), np.zeros(30, np.float32), TOKENIZER)


@pytest.mark.slow
def test_dev_and_silver_documents_get_what_the_segmenter_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    gum, amalgum = write_gum(tmp_path / "gum"), write_amalgum(tmp_path / "amalgum")
    dev, silver = list(load_corpus(gum, split="dev")), list(load_corpus(amalgum))
    annotated = list(annotate([*dev, *silver], load_pipeline()))
    segmenter = make_segmenter(annotated)
    save_segmenter(segmenter, tmp_path / "segmenter", "float32")
    save_prepared(make_features(dev, silver), tmp_path / "features.npz")
    words = [str(gum), str(amalgum), "--segmenter", str(tmp_path / "segmenter")]
    words += ["--prepared", str(tmp_path / "features.npz"), "--output", str(tmp_path / "edus.npz")]
    segment.main(words)
    row = json.loads(capsys.readouterr().out)
    assert row["documents"] == "dev"
    assert 0 <= row["Seg"] <= 100
    found = load_prepared(tmp_path / "edus.npz")
    seen = dict(segment.see_edus(segmenter, [*dev, *silver]))
    assert [one.id for one in (*found.dev, *found.silver)] == [one.id for one in annotated]
    for example, document in zip((*found.dev, *found.silver), annotated, strict=True):
        assert example.starts is not None
        expected = segment.with_starts(example, document, seen[document], TOKENIZER).starts
        assert expected is not None
        np.testing.assert_allclose(example.starts, expected, atol=1e-3)
    save_prepared(make_features(dev, [*silver, replace(silver[0], id="elsewhere")]), tmp_path / "features.npz")
    message = "elsewhere: the document must be in one of the corpora, was: in none"
    ends_in_one_line(lambda: segment.main(words), message, capsys)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_segmenter_has_its_share(share, monkeypatch):
    """In EDUs, not in sentences; where it said nothing, charts say all."""
    known, unknown = make_features([], [make_text(1), make_text(2)]).silver
    known = replace(known, starts=np.full((len(known.pieces), 2), 0.8, dtype=np.float32))
    of_charts = [np.full((len(one.pieces), 2), 0.4, dtype=np.float32) for one in (known, unknown)]
    monkeypatch.setattr(soften, "make_soft_starts", lambda networks, examples: [starts.copy() for starts in of_charts])
    mixed, alone = soften.see_starts([], [known, unknown], share)
    np.testing.assert_allclose(mixed[:, 0], 0.8 * share + 0.4 * (1 - share), atol=1e-6)
    assert (mixed[:, 1] == of_charts[0][:, 1]).all()
    assert (alone == of_charts[1]).all()
