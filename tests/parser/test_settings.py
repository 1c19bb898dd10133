"""Loading a parser: names, folders, settings, options, and what is imported when."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import genrst
from genrst.errors import ConfigError, CorpusNotFoundError, MissingDependencyError, UsageError
from genrst.parser.parser import load
from tests.parser.samples import PIPELINE, TEXT, write_parser

EDUS = ["It rained,", "so we stayed in."]


def test_settings_of_the_folder_and_of_the_call(tmp_path: Path):
    write_parser(tmp_path, search="word", beam=7, word_weight=0.25, lowercase=True)
    parser = load(tmp_path)
    assert repr(parser) == "<Parser 'tiny': word search, beam 7>"
    assert (parser.config.word_weight, parser.config.lowercase, parser.config.pipeline) == (0.25, True, PIPELINE)
    parser = load(str(tmp_path), search="action", beam=2, word_weight=1, pipeline="other", max_stack=9)
    assert repr(parser) == "<Parser 'tiny': action search, beam 2>"
    assert (parser.config.word_weight, parser.config.pipeline, parser.search.max_stack) == (1.0, "other", 9)


def test_a_folder_without_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_parser(tmp_path / "mine", has_segmenter=False)
    (tmp_path / "mine" / "parser.json").unlink()
    monkeypatch.chdir(tmp_path / "mine")
    for folder in (tmp_path / "mine", "."):
        parser = load(folder)
        assert repr(parser) == "<Parser 'mine': bag search, beam 10>"
        assert (parser.config.word_weight, parser.config.lowercase, parser.config.pipeline) == (0.5, False, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"colour": 1}',
            "colour: the key must be one of name, search, beam, word_weight, lowercase, pipeline, segmenter, encoder_",
        ),
        ('{"beam": 0}', "beam: the value must be 1 or more, was: 0"),
        ('{"beam": "ten"}', "beam: the value must be of type int, was: 'ten'"),
        ('{"search": "deep"}', "search: the value must be one of 'bag', 'word', 'action', 'greedy', was: 'deep'"),
        ('{"word_weight": -1}', "word_weight: the value must be a number of 0 or more, was: -1.0"),
        ('{"encoder_overlap": 1}', "encoder_overlap: the value must be 0 or more and less than 1, was: 1.0"),
        ('{"encoder_overlap": NaN}', "encoder_overlap: the value must be 0 or more and less than 1, was: nan"),
        (
            '{"encoder_precision": "int8"}',
            "encoder_precision: the value must be one of 'auto', 'float32', 'bfloat16', ",
        ),
        (f'{{"word_weight": {10**400}}}', "int too large to convert to float"),
        ('{"word_weight": NaN}', "word_weight: the value must be a number of 0 or more, was: nan"),
        ("[]", "a configuration: the value must be a table, was: []"),
        ("{", "a file of the model is damaged: "),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, content: str, message: str):
    write_parser(tmp_path, has_segmenter=False)
    (tmp_path / "parser.json").write_text(content)
    with pytest.raises(ConfigError) as error:
        load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'parser.json'}: {message}")


@pytest.mark.parametrize(
    "options",
    [{"beam": 0}, {"beam": 1.5}, {"search": "deep"}, {"word_weight": -1.0}, {"word_weight": math.inf}, {"max_stack": 1},
     {"device": "cuda:77"}, {"device": "abacus"}, {"device": "meta"}, {"device": ""}],
)  # fmt: skip
def test_options_that_are_wrong(tiny: Path, options: dict[str, Any]):
    with pytest.raises(UsageError) as error:
        load(tiny, **options)
    assert len(str(error.value).splitlines()) == 1


def test_models_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("genrst.parser.packages.MODELS", tmp_path / "models")
    with pytest.raises(CorpusNotFoundError, match=r"^a model must be installed \(none is\) or be a folder, was: 'en'$"):
        genrst.load()
    write_parser(tmp_path / "models" / "en", name="english", has_segmenter=False)
    write_parser(tmp_path / "models" / "de", has_segmenter=False)
    (tmp_path / "models" / "notes").mkdir()
    assert genrst.load().config.name == "english"
    assert genrst.load("en").config.name == "english"
    message = r"^a model must be installed \(de, en\) or be a folder, was: 'fr'$"
    with pytest.raises(CorpusNotFoundError, match=message):
        genrst.load("fr")
    (tmp_path / "en").mkdir()
    assert genrst.load("en").config.name == "english", "a name comes before a folder"
    with pytest.raises(CorpusNotFoundError, match="a model folder must hold"):
        genrst.load("./en")


def test_pytorch_that_is_not_there(tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "genrst.parser.search", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[model\]'"):
        load(tiny)


def test_a_pipeline_that_is_not_there(tiny: Path):
    """No document is to blame, so it is no failure of one."""
    parser = load(tiny, pipeline="no_such_pipeline")
    with pytest.raises(MissingDependencyError, match="no_such_pipeline"):
        parser(TEXT)
    with pytest.raises(MissingDependencyError, match="no_such_pipeline"):
        list(parser.pipe([TEXT, EDUS]))


def test_what_is_imported_when(tiny: Path):
    program = (
        "import sys, genrst\n"
        "loaded = lambda: sorted({'torch', 'spacy'} & set(sys.modules))\n"
        "genrst.load, genrst.Parser, genrst.Failure; print(loaded())\n"
        f"parser = genrst.load({str(tiny)!r}); print(loaded())\n"
        "parser('It rained.'); print(loaded())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n")[:3] == ["[]", "['torch']", "['spacy', 'torch']"]


@pytest.mark.parametrize(
    ("given", "expected"), [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)]
)
def test_threads_wait_calmly_unless_told_otherwise(tiny: Path, monkeypatch: pytest.MonkeyPatch, given, expected):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    load(tiny)
    assert os.environ.get("GOMP_SPINCOUNT") == expected
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
