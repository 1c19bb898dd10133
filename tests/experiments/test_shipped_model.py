"""The commands behind our results, on tiny models."""

import sys
from pathlib import Path

import pytest

import genrst
from experiments.shipped_model import pack
from tests.parser.samples import TEXT, check, write_parser, write_reading_chart


@pytest.mark.parametrize(("precision", "share"), [("float16", 0.6), ("int8", 0.45)])
def test_a_packed_parser_parses_as_before(
    precision: str, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Fewer bits may change a score, not what the parser is."""
    folder = write_parser(tmp_path / "whole", has_segmenter=False, lowercase=True)
    words = [str(folder), str(tmp_path / "packed"), "--name", "half", "--word-weight", "0.25"]
    monkeypatch.setattr(sys, "argv", ["pack", *words, "--precision", precision])
    pack.main()
    whole, packed = genrst.load(folder, beam=10, word_weight=0.25), genrst.load(tmp_path / "packed")
    assert (packed.config.name, packed.config.lowercase, packed.config.word_weight) == ("half", True, 0.25)
    assert packed.config.pipeline == whole.config.pipeline
    edus = ["The ferry stopped", "because of a storm,", "and nobody was hurt."]
    before, after = whole.parse_edus(edus), packed.parse_edus(edus)
    assert after.log_probability == pytest.approx(before.log_probability, rel=0.02)
    assert (tmp_path / "packed" / "weights.safetensors").stat().st_size < share * (
        folder / "weights.safetensors"
    ).stat().st_size


def test_a_packed_chart_has_the_temperature_that_was_chosen(tmp_path: Path):
    folder = write_reading_chart(tmp_path / "whole")
    words = ["--name", "small", "--precision", "int4", "--temperature", "2"]
    pack.main([str(folder), str(tmp_path / "packed"), *words])
    packed = genrst.load(tmp_path / "packed")
    assert (packed.config.name, packed.config.temperature, packed.config.search) == ("small", 2.0, "mbr")
    check(packed(TEXT), TEXT)
