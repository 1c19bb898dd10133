"""Soft silver trees: in one process or in shards, and for students to learn from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.silver_trees import join, soften
from genrst.chart.learning.network import TorchScorer, make_network
from genrst.chart.learning.task import find_losses, segment_starts
from genrst.chart.learning.teaching import make_soft_starts
from genrst.encoder.model import Model, save_model
from genrst.training.prepared import load_prepared, save_prepared
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer, piece_example
from tests.experiments.errors import ends_in_one_line
from tests.parser.samples import SMALL_CHART
from tests.training.samples import prepare_chart_samples, prepare_samples


@pytest.mark.slow
def test_shards_are_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokenizer = make_tokenizer()
    prepared = prepare_chart_samples(tokenizer)
    prepared = replace(prepared, silver=prepared.train)
    save_prepared(prepared, tmp_path / "hard.npz")
    torch.manual_seed(1)
    network = make_network(SMALL_CHART, prepared.symbols, make_pretrained(SMALL_CHART)).eval()
    save_model(Model(network, prepared.symbols, tokenizer), tmp_path / "teacher")
    teacher = TorchScorer(network, prepared.symbols, tokenizer)
    words = ["--teacher", str(tmp_path / "teacher"), "--prepared", str(tmp_path / "hard.npz"), "--device", "cpu"]
    words += ["--segment-teacher", str(tmp_path / "teacher")]
    soften.main([*words, "--output", str(tmp_path / "whole.npz")])
    parts = [str(tmp_path / f"part{number}.npz") for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        soften.main([*words, "--shard", f"{number}/2", "--output", part])
    join.main([*parts, "--output", str(tmp_path / "joined.npz")])
    printed = capsys.readouterr().out
    assert '"documents": "dev"' in printed
    assert '"Seg"' in printed
    whole, joined = (load_prepared(tmp_path / name).silver for name in ("whole.npz", "joined.npz"))
    assert sorted(one.id for one in whole) == sorted(one.id for one in prepared.train)
    assert [one.id for one in joined] == [one.id for one in whole]
    for one, other in zip(whole, joined, strict=True):
        assert one.soft is not None
        assert other.soft is not None
        assert not len(one.units)
        np.testing.assert_allclose(one.soft.p, other.soft.p, atol=2e-3)
        # A tree of n EDUs has n − 1 units; what is very unlikely is left out.
        assert 0.9 * (one.n_edus - 1) <= one.soft.p.sum() <= one.n_edus - 1 + 0.01
        assert one.starts is not None
        assert one.starts.shape == (len(one.pieces), 2)
        np.testing.assert_allclose(one.starts, make_soft_starts([teacher], [one])[0], atol=2e-2)
    assert torch.isfinite(find_losses(network, whole).trees).all()
    soften.main([*words, "--resegment", "1", "--output", str(tmp_path / "resegmented.npz")])
    resegmented = load_prepared(tmp_path / "resegmented.npz").silver
    assert [one.n_edus for one in resegmented] != [one.n_edus for one in whole]
    for one, other in zip(whole, resegmented, strict=True):
        assert other.starts is not None
        assert other.soft is not None
        assert other.pieces.tolist() == one.pieces.tolist()
        first = np.cumsum(other.piece_lengths) - other.piece_lengths
        # What is kept is rounded.
        assert (segment_starts(one)[first, 1] | (other.starts[first, 0] > 0.49)).all()


def test_a_text_gets_the_edus_that_its_teachers_find():
    """Sentences stay, and with them the kinds of what starts there."""
    example = piece_example(4)
    example = replace(example, sentences=[0, 0, 1, 1], paragraphs=[0, 0, 0, 1], kinds=[3, 0, 1, 2])
    example = replace(example, pieces=np.arange(4, 12), piece_lengths=np.array([2, 2, 3, 1]))
    starts = np.full((8, 2), 0.2, dtype=np.float32)
    starts[[1, 5, 7], 0] = 0.9
    found = soften.resegment(replace(example, starts=starts))
    assert found.piece_lengths.tolist() == [1, 3, 1, 2, 1]
    assert found.n_edus == 5
    assert found.sentences == [0, 0, 1, 1, 1]
    assert found.paragraphs == [0, 0, 0, 0, 1]
    assert found.kinds == [3, 0, 1, 0, 2]
    assert found.pieces.tolist() == example.pieces.tolist()


def test_features_must_be_those_of_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_prepared(prepare_samples(make_tokenizer()), tmp_path / "steps.npz")
    words = ["--teacher", "x", "--prepared", str(tmp_path / "steps.npz"), "--output", str(tmp_path / "y.npz")]
    ends_in_one_line(
        lambda: soften.main(words), "these features were prepared for another kind of model, not for charts", capsys
    )


def test_no_edus_without_teachers_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        soften.main(["--teacher", "x", "--prepared", "x.npz", "--resegment", "1", "--output", str(tmp_path / "y.npz")])
    assert "--resegment needs --segment-teacher" in capsys.readouterr().err
