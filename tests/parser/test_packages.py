"""Saving a parser: what is written reads as the same parser, wherever it is moved, or nothing is written."""

import json
import shutil
from pathlib import Path

import pytest

from genrst import Parser, load
from genrst.errors import CorpusNotFoundError, UsageError
from tests.parser.samples import TEXT, load_like, write_ensemble, write_parser


def make_ensemble(folder: Path) -> Parser:
    """Two models with the same name, and a folder inside one that is none of the model's."""
    write_parser(folder / "a" / "model", has_segmenter=False)
    write_parser(folder / "b" / "model", kind="discriminative", lowercase=True)
    (folder / "b" / "model" / "old").mkdir()
    write_ensemble(folder / "both", {"../a/model": 1, "../b/model": 0.5})
    (folder / "both" / "README.md").write_text("# both")
    return load(folder / "both", beam=3)


def test_a_model(tmp_path: Path, tiny: Path):
    parser = load(tiny, search="action")
    expected = parser(TEXT)
    parser.save(tmp_path / "new" / "copy")
    saved = load(tmp_path / "new" / "copy")
    assert (saved.config, saved(TEXT)) == (parser.config, expected)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["copy"]


def test_an_ensemble_needs_no_other_folder(tmp_path: Path):
    parser = make_ensemble(tmp_path / "old")
    expected = parser.kbest(TEXT, 2)
    parser.save(str(tmp_path / "copy"))
    shutil.rmtree(tmp_path / "old")
    (tmp_path / "copy").rename(tmp_path / "moved")
    saved = load(tmp_path / "moved")
    assert (saved.config, saved.kbest(TEXT, 2)) == (parser.config, expected)
    assert [model.lowercase for model in saved.search.models] == [False, True]
    names = sorted(path.name for path in (tmp_path / "moved").iterdir())
    assert names == ["1-model", "2-model", "README.md", "ensemble.json", "parser.json"]
    assert not (tmp_path / "moved" / "2-model" / "old").exists()
    listed = json.loads((tmp_path / "moved" / "ensemble.json").read_text())
    assert listed == {"members": [{"model": "1-model", "weight": 1.0}, {"model": "2-model", "weight": 0.5}]}


def test_a_copy_inside_the_model(tmp_path: Path):
    write_parser(tmp_path, has_segmenter=False)
    load(tmp_path).save(tmp_path / "copy")
    load(tmp_path / "copy").save(tmp_path / "copy" / "again")
    assert not (tmp_path / "copy" / "again" / "again").exists()


@pytest.mark.parametrize("is_folder", [False, True])
def test_nothing_is_replaced(tmp_path: Path, parser: Parser, is_folder: bool):
    target = tmp_path / "there"
    if is_folder:
        target.mkdir()
    else:
        target.touch()
    with pytest.raises(UsageError, match=r"must be saved in a new folder, was: '.*there'$"):
        parser.save(target)


def test_all_or_nothing(tmp_path: Path):
    parser = make_ensemble(tmp_path / "old")
    weights = tmp_path / "old" / "b" / "model" / "weights.safetensors"
    weights.unlink()
    weights.symlink_to(tmp_path / "nowhere")
    with pytest.raises(CorpusNotFoundError, match=r"copy: cannot be written: ") as error:
        parser.save(tmp_path / "copy")
    assert len(str(error.value).splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_target_that_cannot_be(tmp_path: Path, parser: Parser):
    (tmp_path / "file").touch()
    for target in (tmp_path / "file" / "copy", tmp_path / ("n" * 300)):
        with pytest.raises(CorpusNotFoundError) as error:
            parser.save(target)
        assert len(str(error.value).splitlines()) == 1


def test_models_in_memory_have_no_files(parser: Parser, tmp_path: Path):
    with pytest.raises(UsageError, match="must be loaded from a folder to be saved"):
        load_like(parser).save(tmp_path / "copy")
