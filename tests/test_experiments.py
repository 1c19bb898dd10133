"""The commands behind our results, on tiny models."""

import sys
from pathlib import Path

import pytest

import genrst
from experiments.shipped_model import pack
from tests.parser_samples import TEXT, write_parser


def test_a_packed_parser_parses_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Half precision may change a score, not what the parser is."""
    folder = write_parser(tmp_path / "whole", lowercase=True)
    words = [
        str(folder),
        str(folder / "segmenter"),
        str(tmp_path / "packed"),
        "--name",
        "half",
        "--word-weight",
        "0.25",
    ]
    monkeypatch.setattr(sys, "argv", ["pack", *words])
    pack.main()
    whole, packed = genrst.load(folder, beam=10, word_weight=0.25), genrst.load(tmp_path / "packed")
    assert (packed.config.name, packed.config.lowercase, packed.config.word_weight) == ("half", True, 0.25)
    assert packed.config.pipeline == whole.config.pipeline
    before, after = whole(TEXT), packed(TEXT)
    assert after.edus == before.edus
    assert after.log_probability == pytest.approx(before.log_probability, rel=0.02)
    assert (tmp_path / "packed" / "weights.safetensors").stat().st_size < 0.6 * (
        folder / "weights.safetensors"
    ).stat().st_size
