"""Training without a genre, and scoring it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.new_genres import run
from genrst.chart.examples import ChartExample
from genrst.text.layout import Kind
from genrst.training.prepared import save_prepared
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.training.samples import prepare_chart_samples


def with_paragraphs(example: ChartExample) -> ChartExample:
    """A document whose last EDU is another paragraph."""
    last = len(example.paragraphs) - 1
    return replace(example, paragraphs=[0] * last + [1], kinds=[*example.kinds[:last], int(Kind.PARAGRAPH)])


def test_a_genre_is_only_scored():
    prepared = prepare_chart_samples(make_tokenizer())
    ids = ["GUM_news_a", "GUM_vlog_b", "GUM_news_c"]
    train = [replace(one, id=id) for one, id in zip(prepared.train, ids, strict=True)]
    dev = [replace(prepared.dev[0], id="GUM_vlog_d")]
    parts = run.without_genres(replace(prepared, train=train, dev=dev, silver=train), ["vlog"])
    assert [one.id for one in parts.train] == ["GUM_news_a", "GUM_news_c"]
    assert [one.id for one in parts.dev] == ["GUM_vlog_b", "GUM_vlog_d"]
    assert [one.id for one in parts.silver] == ["GUM_news_a", "GUM_news_c"]
    assert run.genre_of("rain") == ""


def test_a_genre_is_also_parsed_without_layout_and_punctuation():
    tokenizer = make_tokenizer()
    prepared = prepare_chart_samples(tokenizer)
    example = with_paragraphs(prepared.train[0])
    changes = run.changes_of(prepared)
    assert changes["as it is"](example) is example
    assert set(example.paragraphs) == {0, 1}
    assert set(changes["without layout"](example).paragraphs) == {0}
    assert changes["without layout"](example).kinds != example.kinds
    bare = changes["without punctuation"](example)
    assert 0 < len(bare.pieces) < len(example.pieces)
    assert not set(bare.pieces) & set(tokenizer.punctuation)


def test_genres_left_out_together_are_each_in_one_part():
    assert run.in_parts("abcde", 1) == ["a", "b", "c", "d", "e"]
    assert run.in_parts("abcde", 2) == ["ad", "be", "c"]


@pytest.mark.slow
def test_every_genre_has_a_line_and_is_trained_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    prepared = prepare_chart_samples(make_tokenizer())
    ids = ["GUM_news_a", "GUM_vlog_b", "GUM_news_c"]
    train = [with_paragraphs(replace(one, id=id)) for one, id in zip(prepared.train, ids, strict=True)]
    save_prepared(replace(prepared, train=train), tmp_path / "samples.npz")
    (tmp_path / "tiny.toml").write_text(
        f'[model]\nkind = "chart"\nencoder = "{write_encoder(tmp_path / "encoder")}"\nencoder_window = 24\n'
        "edu_size = 8\nspan_size = 16\nsplit_size = 8\nlabel_size = 8\n[training]\nmax_epochs = 2\n"
    )
    words = [str(tmp_path / "tiny.toml"), "--prepared", str(tmp_path / "samples.npz"), "--device", "cpu"]
    for _ in range(2):
        run.main([*words, "--output", str(tmp_path / "runs")])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    texts = ["as it is", "without layout", "without punctuation"]
    assert [line["genre"] for line in lines] == [genre for genre in ("news", "vlog", "mean") for _ in texts] * 2
    assert [line["text"] for line in lines] == texts * 6
    assert lines[:9] == lines[9:]
    for first in range(3):
        news, vlog, mean = (line["F"] for line in lines[first:9:3])
        assert mean == pytest.approx((news + vlog) / 2, abs=0.01)
    assert lines[0]["documents"] == 2
    with pytest.raises(SystemExit):
        run.main([*words, "--output", str(tmp_path / "runs"), "--genres", "poetry"])
    assert "--genres must be among news, vlog, got poetry" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run.main([*words, "--output", str(tmp_path / "runs"), "--together", "2"])
    assert "--together must be less than the number of genres, 2, got 2" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run.main(["fast", *words[1:], "--output", str(tmp_path / "runs")])
    assert "fast: the model must be a chart, got generative" in capsys.readouterr().err
