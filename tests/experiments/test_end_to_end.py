"""The scores of a whole parser on a corpus, from gold EDUs and from raw text."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import genrst
from experiments.end_to_end.run import main
from tests.parser.samples import write_ensemble, write_parser
from tests.training.samples import make_document


@pytest.mark.slow
def test_scores_are_those_of_the_parser(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    documents = [replace(make_document(number), tokens=(), sentences=()) for number in range(3)]
    for number, document in enumerate(documents):
        genrst.write(document, tmp_path / "corpus" / "dev" / f"{number}.json")
    write_parser(tmp_path / "one")
    write_parser(tmp_path / "two", kind="discriminative", has_segmenter=False)
    both = write_ensemble(tmp_path / "both", {"../one": 1.0, "../two": 0.5})
    main([str(tmp_path / "corpus"), "--model", str(both), "--device", "cpu"])
    gold, raw = map(json.loads, capsys.readouterr().out.splitlines())
    parser = genrst.load(both, device="cpu")
    expected = genrst.evaluate(documents, [parser.parse(document) for document in documents]).micro("parseval")
    assert {aspect: gold[aspect] for aspect in "SNRF"} == {
        aspect: round(100 * counts.f1, 2) for aspect, counts in expected.items()
    }
    assert (gold["form"], raw["form"], gold["Seg"]) == ("gold", "raw", 100)
    for row in (gold, raw):
        assert (row["seeds"], row["documents"], row["torch"]) == ([None, None], 3, torch.__version__)
