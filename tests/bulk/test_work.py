"""The unit of work: rows that say what the parser says, and errors for all else."""

import hashlib
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.bulk.inputs import Choice, Columns, Record, make_units, scan
from genrst.bulk.work import BATCH_BYTES, BATCH_DOCUMENTS, TABLES, Settings, load_worker, make_batches, work
from genrst.chart.finder import ChartFinder
from genrst.document import require_tree
from genrst.formats.json_format import tree_to_dict
from genrst.outputs.tables import unit_rows
from genrst.parser.loading import load_with
from genrst.parser.options import LoadOptions
from genrst.parser.parser import Parser, unwrap
from tests.parser.samples import PIPELINE, TEXT, rnng_finder, write_reading_chart


@given(st.lists(st.integers(0, BATCH_BYTES), max_size=200), st.randoms())
def test_batches_follow_from_the_documents(sizes: list[int], rng):
    records = [Record(number, "", "", 0, size) for number, size in enumerate(sizes)]
    batches = list(make_batches(records))
    assert sorted((one for batch in batches for one in batch), key=lambda one: one.document) == records
    for batch in batches:
        assert len(batch) <= BATCH_DOCUMENTS
        assert len(batch) == 1 or sum(one.size for one in batch) <= BATCH_BYTES
    shuffled = rng.sample(records, len(records))
    assert list(make_batches(shuffled)) == batches


@pytest.mark.slow
def test_rows_say_what_the_parser_says(parser: Parser, tmp_path: Path):
    texts = {"a": TEXT, "b": "It rained, so we stayed in.", "c": " ", "d": "x" * 5001}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "e.txt").write_bytes(b"\0")
    sources = [scan(str(path), Columns()) for path in sorted(tmp_path.iterdir())]
    (unit,) = make_units(sources, Choice())
    rows = work(parser, unit.records, Settings(max_characters=5000))
    for table, types in TABLES.items():
        assert all(list(row) == list(types) for row in getattr(rows, table)), table
    assert [(row["document"], row["id"], row["kind"]) for row in rows.errors] == [
        (3, "d", "length"),
        (4, "e", "input"),
        (2, "c", "parse"),
    ]
    expected = [unwrap(outcome) for outcome in parser.pipe([texts["a"], texts["b"]], batch_size=2)]
    for row, document in zip(rows.documents, expected, strict=True):
        assert row["text"] == document.text
        assert row["sha256"] == hashlib.sha256(row["text"].encode()).hexdigest()
        assert (row["n_edus"], row["log_probability"]) == (len(document.edus), document.log_probability)
        assert json.loads(row["tree"]) == tree_to_dict(require_tree(document))
        nodes = [node for node in rows.nodes if node["document"] == row["document"]]
        assert [node["relation"] for node in nodes] == [unit["relation"] for unit in unit_rows(document)]


def test_texts_may_be_left_out(parser: Parser, tmp_path: Path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (unit,) = make_units([scan(str(tmp_path / "a.txt"), Columns())], Choice())
    assert work(parser, unit.records, Settings(with_text=False)).documents[0]["text"] is None


def test_workers_load_their_parser_with_all_options(tiny: Path, tmp_path: Path):
    options = LoadOptions("cpu", PIPELINE, "action", 3, 0.75, 9, "sentences")
    settings = pickle.loads(pickle.dumps(Settings(str(tiny), options)))
    worker = load_worker(settings)
    assert worker.config == load_with(tiny, options).config != load_with(tiny, LoadOptions()).config
    assert rnng_finder(worker).settings == rnng_finder(load_with(tiny, options)).settings
    options = LoadOptions("cpu", search="best", keep_whole="nothing", relations="coarse")
    finder = load_worker(Settings(str(write_reading_chart(tmp_path)), options)).finder
    assert isinstance(finder, ChartFinder)
    assert (finder.settings.search, finder.settings.keep_whole, finder.settings.relations) == (
        "best", "nothing", "coarse",
    )  # fmt: skip
