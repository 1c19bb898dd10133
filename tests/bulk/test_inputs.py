"""What is read: files behind addresses, documents in them, and units that follow from the inputs alone."""

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.bulk.addresses import find_files
from genrst.bulk.inputs import Choice, Columns, Read, Source, make_units, read_records, scan, scan_all
from genrst.document import Document
from genrst.errors import InputError, MissingDependencyError, UsageError
from genrst.formats.files import write, write_documents
from genrst.parser.parser import Failure, Text

RAIN = Document.from_edus("rain", ["It rained,", "so we stayed in."])
COLUMNS = Columns()
ROWS: list[dict[str, str | None]] = [
    {"id": "a", "text": "It rained."},
    {"id": "b", "text": "Zürich 🌧 \u2028 rains."},
    {"id": None, "text": None},
]


def read_all(*inputs: str | Path, columns: Columns = COLUMNS) -> list[Read]:
    sources = scan_all(find_files(list(map(str, inputs))).addresses, columns)
    return [item for unit in make_units(sources, Choice()) for item in read_records(unit.records, columns)]


def texts(items: list[Read]) -> list[tuple[str, str | None]]:
    return [(item.id, None if isinstance(item, Failure) else item.text) for item in items]


def test_folders_hold_files_of_all_formats(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "one.txt").write_text("It rained.")
    (tmp_path / "deep" / "one.md").write_text("Not this one, which has the same stem.")
    (tmp_path / ".hidden.txt").write_text("no")
    (tmp_path / "picture.png").write_bytes(b"no")
    write(RAIN, tmp_path / "rain.edus")
    write_documents([RAIN, RAIN], tmp_path / "two.jsonl")
    (tmp_path / "list.json").write_text(json.dumps([{"edus": ["It rained,", "again."]}] * 2))
    found = read_all(tmp_path)
    assert [item.id for item in found] == ["one", "list-1", "list-2", "rain", "rain", "rain"]
    assert [isinstance(item, Text) for item in found] == [True] + [False] * 5
    assert read_all(tmp_path / "deep" / "*.txt", tmp_path) == [*found], "each file is read once"


def test_lines_and_tables_have_the_same_documents(tmp_path: Path):
    lines = "\n\n".join(json.dumps(row) for row in ROWS) + "\n"
    (tmp_path / "rows.jsonl").write_text(lines)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    table = pyarrow.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=2)
    pyarrow.feather.write_feather(table, str(tmp_path / "rows.arrow"))
    for name in ("rows.jsonl", "packed.jsonl.gz", "rows.parquet", "rows.arrow"):
        found = read_all(tmp_path / name)
        assert texts(found)[:2] == [("a", ROWS[0]["text"]), ("b", ROWS[1]["text"])], name
        assert isinstance(found[2], Failure)
        assert "must be a string, got NoneType" in str(found[2].error)


def test_columns_may_have_other_names(tmp_path: Path):
    pyarrow.parquet.write_table(pyarrow.table({"body": ["It rained."], "key": [7]}), tmp_path / "a.parquet")
    assert texts(read_all(tmp_path / "a.parquet", columns=Columns("body", "key"))) == [("7", "It rained.")]
    with pytest.raises(InputError, match="must be one of the columns body, key, got 'text'"):
        read_all(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="the column 'key' must hold strings, got int64"):
        read_all(tmp_path / "a.parquet", columns=Columns("key"))


def test_other_file_systems():
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://texts/one.txt", "w") as file:
        file.write("It rained.")
    assert texts(read_all("memory://texts")) == [("one", "It rained.")]
    with pytest.raises(MissingDependencyError, match="nowhere"):
        read_all("nowhere://texts")


def test_what_is_damaged_is_a_failure_or_an_error(tmp_path: Path):
    (tmp_path / "binary.txt").write_bytes(b"\0\1")
    (tmp_path / "tree.json").write_text('{"edus": [')
    (tmp_path / "lines.jsonl").write_bytes(b'{"text": "good"}\nnot JSON\n\xff\xfe\n[]\n')
    found = read_all(tmp_path)
    assert [isinstance(item, Failure) for item in found] == [True, False, True, True, True, True]


def test_one_damaged_file_does_not_hide_the_others(tmp_path: Path):
    lines = [json.dumps({"id": str(number), "text": f"It rained {number * '🌧'}."}) for number in range(2000)]
    packed = gzip.compress("\n".join(lines).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.jsonl.gz").write_bytes(packed[:5])
    (tmp_path / "c.jsonl.gz").write_bytes(packed[: len(packed) // 2] + b"x" * 99 + packed[len(packed) // 2 + 99 :])
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    pyarrow.parquet.write_table(pyarrow.table({"other": ["It rained."]}), tmp_path / "e.parquet")
    (tmp_path / "f.txt").write_text("It rained.")
    pyarrow.parquet.write_table(pyarrow.table({"text": [str(number) for number in range(99)]}), tmp_path / "g.parquet")
    table = (tmp_path / "g.parquet").read_bytes()
    (tmp_path / "g.parquet").write_bytes(table[:10] + bytes(200) + table[210:])
    of_files: dict[str, list[Read]] = {}
    for address in find_files([str(tmp_path)]).addresses:
        items = [
            one
            for unit in make_units([scan(address, COLUMNS)], Choice())
            for one in read_records(unit.records, COLUMNS)
        ]
        of_files[Path(address).name] = items
    reasons = {name: [str(one.error) for one in items if isinstance(one, Failure)] for name, items in of_files.items()}
    whole = [(str(number), json.loads(line)["text"]) for number, line in enumerate(lines)]
    for name, [*good, bad] in of_files.items():
        assert isinstance(bad, Failure) == (name != "f.txt")
        if name == "a.jsonl.gz":
            assert texts(good) == whole[: len(good)]
        elif name == "c.jsonl.gz":
            # Before it is noticed, damage may look like a line.
            assert texts(good)[:100] == whole[:100]
            assert len(reasons[name]) < 5
        else:
            assert len(reasons[name]) == (name != "f.txt")
    assert all(100 < len(of_files[name]) < 2000 for name in ("a.jsonl.gz", "c.jsonl.gz"))
    assert f"{tmp_path / 'a.jsonl.gz'}: the gzip file is damaged: " in reasons["a.jsonl.gz"][0]
    assert f"(after {len(of_files['a.jsonl.gz']) - 1} documents)" in reasons["a.jsonl.gz"][0]
    assert all("the file is not a readable table" in reasons[name][0] for name in ("d.parquet", "g.parquet"))
    assert "must be one of the columns other" in reasons["e.parquet"][0]
    assert len(read_all(tmp_path)) == sum(map(len, of_files.values()))
    (tmp_path / "f.txt").unlink()
    with pytest.raises(InputError, match=r"b\.jsonl\.gz: the gzip file is damaged"):
        read_all(tmp_path / "b.jsonl.gz", tmp_path / "d.parquet")


@pytest.mark.parametrize("name", ["missing.txt", "nothing/*.txt", "empty"])
def test_what_is_not_there(tmp_path: Path, name: str):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=str(tmp_path / name).replace("*", r"\*")):
        read_all(tmp_path / name)


@pytest.mark.parametrize("change", ["vanished", "changed"])
def test_a_file_must_stay_as_it_is(tmp_path: Path, change: str):
    path = tmp_path / "one.txt"
    path.write_text("It rained.")
    (unit,) = make_units([scan(str(path), Columns())], Choice())
    path.unlink()
    if change == "changed":
        path.write_text("It snowed all night.")
    with pytest.raises(InputError, match=r"one\.txt: (No such file|the file has changed)"):
        list(read_records(unit.records, Columns()))


sources = st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=6).map(
    lambda all_sizes: [
        Source(f"{number}", "", "", starts=scan_starts(sizes), sizes=scan_starts(sizes, sizes))
        for number, sizes in enumerate(all_sizes)
    ]
)


def scan_starts(sizes: list[int], values: list[int] | None = None):
    from array import array

    return array("q", range(len(sizes)) if values is None else values)


@given(sources, st.integers(1, 5), st.integers(1, 60), st.none() | st.integers(1, 9), st.none() | st.integers(1, 9))
def test_units_hold_what_is_chosen_once(
    sources: list[Source], n_documents: int, n_bytes: int, limit: int | None, sample: int | None
):
    units = list(make_units(sources, Choice(limit, sample, n_documents, n_bytes)))
    total = sum(len(source.starts) for source in sources)
    numbers = [record.document for unit in units for record in unit.records]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == min(total, sample or total, limit or total)
    assert sample or numbers == list(range(len(numbers)))
    assert [unit.number for unit in units] == list(range(len(units)))
    for unit in units:
        assert 0 < len(unit.records) <= n_documents
        assert len(unit.records) == 1 or sum(record.size for record in unit.records) <= n_bytes


def test_choices_are_at_least_one():
    with pytest.raises(UsageError, match="--part-bytes must be at least 1, got 0"):
        Choice(part_bytes=0)
