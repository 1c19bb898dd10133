"""The checklist of labels: what it reads, and what it refuses."""

import json
from pathlib import Path

import pytest

from experiments.charts.checklist import read_cases
from genrst.errors import CorpusFormatError

CASE = {"edus": ["It rained,", "so we left."], "labels": ["causal/NS"], "fine": ["causal-result/NS"]}


def test_cases_are_read_line_by_line(tmp_path: Path):
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(CASE)}\n{json.dumps(CASE)}\n")
    assert read_cases(path) == [CASE, CASE]


@pytest.mark.parametrize("line", ["{", "3", '{"edus": []}', json.dumps(CASE | {"fine": 3})])
def test_a_line_that_is_no_case_is_one_line(tmp_path: Path, line: str):
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(CASE)}\n{line}\n")
    with pytest.raises(
        CorpusFormatError, match=r"cases.jsonl:2: a line must be JSON with the lists edus, labels and fine"
    ) as error:
        read_cases(path)
    assert "\n" not in str(error.value)
