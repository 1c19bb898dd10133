"""Packages of models: loading them by name and folder, their settings, saving them, and those that are shipped."""

import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import genrst
from genrst import Parser, load
from genrst.errors import (
    ConfigError,
    MissingDependencyError,
    ModelNotFoundError,
    OutputError,
    ParserWarning,
    UsageError,
)
from genrst.parser.folders import MODELS, describe_model, find_model, find_segmenter, installed_models
from tests.parser.samples import PIPELINE, TEXT, load_like, rnng_finder, write_chart, write_ensemble, write_parser

EDUS = ["It rained,", "so we stayed in."]


def test_settings_of_the_folder_and_of_the_call(tmp_path: Path):
    write_parser(tmp_path, search="word", beam=7, word_weight=0.25, lowercase=True)
    parser = load(tmp_path)
    assert repr(parser) == "<Parser 'tiny': word search, beam 7>"
    assert (parser.config.word_weight, parser.config.lowercase, parser.config.pipeline) == (0.25, True, PIPELINE)
    parser = load(str(tmp_path), search="action", beam=2, word_weight=1, pipeline="other", max_stack=9)
    assert repr(parser) == "<Parser 'tiny': action search, beam 2>"
    settings = rnng_finder(parser).settings
    assert (settings.word_weight, settings.pipeline, settings.max_stack) == (1.0, "other", 9)


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
            "colour: unknown key; must be one of name, search, beam, word_weight, lowercase, pipeline, segmenter, ",
        ),
        ('{"beam": 0}', "beam: the value must be 1 or more, got 0"),
        ('{"beam": "ten"}', "beam: the value must be of type int, got 'ten'"),
        (
            '{"search": "deep"}',
            "search: the value must be one of 'bag', 'word', 'action', 'greedy', 'mbr', 'best', got 'deep'",
        ),
        ('{"word_weight": -1}', "word_weight: the value must be finite and 0 or more, got -1.0"),
        ('{"encoder_overlap": 1}', "encoder_overlap: the value must be 0 or more and less than 1, got 1.0"),
        ('{"encoder_overlap": NaN}', "encoder_overlap: the value must be 0 or more and less than 1, got nan"),
        (
            '{"encoder_precision": "int4"}',
            "encoder_precision: the value must be one of 'auto', 'int8', 'float32', 'bfloat16', got 'int4'",
        ),
        (f'{{"word_weight": {10**400}}}', "word_weight: an integer must have at most 64 bits, got 1329"),
        ('{"word_weight": NaN}', "word_weight: the value must be finite and 0 or more, got nan"),
        ("[]", "a configuration: the value must be a table, got []"),
        ("{", "the model file is damaged: "),
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
    monkeypatch.setattr("genrst.parser.folders.MODELS", tmp_path / "models")
    with pytest.raises(ModelNotFoundError, match=r"^no model or folder named 'en' \(installed models: none\)$"):
        genrst.load()
    write_parser(tmp_path / "models" / "en", name="english", has_segmenter=False)
    write_parser(tmp_path / "models" / "de", has_segmenter=False)
    (tmp_path / "models" / "notes").mkdir()
    assert genrst.load().config.name == "english"
    assert genrst.load("en").config.name == "english"
    message = r"^no model or folder named 'fr' \(installed models: de, en\)$"
    with pytest.raises(ModelNotFoundError, match=message):
        genrst.load("fr")
    (tmp_path / "en").mkdir()
    assert genrst.load("en").config.name == "english", "a name comes before a folder"
    with pytest.raises(ModelNotFoundError, match="a model folder must hold"):
        genrst.load("./en")


def publish(site: Path, name: str, package: str, entry: str | None = None) -> Path:
    """A model as a package of its own would install it; returns the package's folder."""
    folder = write_parser(site / package, name=name, has_segmenter=False)
    (folder / "__init__.py").write_text("raise RuntimeError('no code of a model is run')")
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[genrst.models]\n{name} = {entry or package}\n")
    return folder


def test_models_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    folder = publish(tmp_path, "de-forum", "genrst_de_forum")
    publish(tmp_path, "en", "someone_elses_en")
    publish(tmp_path, "lost", "genrst_lost", entry="genrst_is_not_there")
    publish(tmp_path, "dotted", "genrst_dotted", entry="os.path")
    assert installed_models()["de-forum"] == folder
    assert not {"lost", "dotted"} & set(installed_models())
    assert genrst.load("de-forum").config.name == "de-forum"
    assert find_model("en") == MODELS / "en", "our own come first"
    (folder / "weights.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match="no model or folder named"):
        genrst.load("de-forum")


def test_pytorch_that_is_not_there(tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "genrst.rnng.finder", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[torch,spacy\]'"):
        load(tiny)


def test_a_pipeline_that_is_not_there(tiny: Path):
    """No document is to blame, so it is no failure of one."""
    parser = load(tiny, pipeline="no_such_pipeline")
    with pytest.raises(MissingDependencyError, match="no_such_pipeline"):
        parser(TEXT)
    with pytest.raises(MissingDependencyError, match="no_such_pipeline"):
        list(parser.pipe([TEXT, EDUS]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "loaded", "parsed"),
    [("tiny", ["numpy", "torch"], ["numpy", "spacy", "torch"]), ("chart", ["numpy"], ["numpy"])],
)
def test_what_is_imported_when(tiny: Path, tmp_path: Path, model: str, loaded: list[str], parsed: list[str]):
    folder = tiny if model == "tiny" else write_chart(tmp_path)
    program = (
        "import sys, genrst, json\n"
        "tell = lambda: print(json.dumps(sorted({'numpy', 'torch', 'spacy', 'transformers'} & set(sys.modules))))\n"
        "import genrst.parser.loading; tell()\n"
        f"parser = genrst.load({str(folder)!r}, device='cpu'); tell()\n"
        "parser('It rained.'); tell()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [[], loaded, parsed]


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


def test_the_segmenter_that_a_model_names(tmp_path: Path):
    """A folder as seen from the model's, or an installed one; charts find EDUs themselves."""
    chart = write_chart(tmp_path / "chart")
    assert find_segmenter(chart) is None
    assert find_segmenter(write_parser(tmp_path / "own")) == tmp_path / "own" / "segmenter"
    assert find_segmenter(write_parser(tmp_path / "bare", has_segmenter=False)) == MODELS / "en"
    ensemble = write_ensemble(tmp_path / "both", {"../own": 1}, segmenter="../chart")
    assert find_segmenter(ensemble) == tmp_path / "both" / ".." / "chart"
    lost = load(write_parser(tmp_path / "lost", has_segmenter=False, segmenter="nowhere"))
    with pytest.raises(ModelNotFoundError, match=r"parser.json: segmenter must be a folder or .*, got 'nowhere'$"):
        lost(TEXT)
    with pytest.raises(ConfigError, match=r"parser.json: segmenter must be a chart parser, got .*own'$"):
        find_segmenter(write_parser(tmp_path / "steps", has_segmenter=False, segmenter="../own"))


@pytest.mark.slow
def test_a_saved_parser_takes_the_segmenter_it_names_along(tmp_path: Path):
    write_chart(tmp_path / "old" / "chart")
    named = write_parser(tmp_path / "old" / "named", has_segmenter=False, segmenter="../chart")
    ensemble = write_ensemble(tmp_path / "old" / "both", {"../named": 1}, segmenter="../chart")
    parsers = {"copy": load(named), "copy of both": load(ensemble)}
    expected = [parser(TEXT) for parser in parsers.values()]
    for name, parser in parsers.items():
        parser.save(tmp_path / name)
    shutil.rmtree(tmp_path / "old")
    assert [load(tmp_path / name)(TEXT) for name in parsers] == expected


def make_ensemble(folder: Path) -> Parser:
    """Two models with the same name, and a folder inside one that is none of the model's."""
    write_parser(folder / "a" / "model", has_segmenter=False)
    write_parser(folder / "b" / "model", kind="discriminative", lowercase=True, has_segmenter=False)
    (folder / "b" / "model" / "old").mkdir()
    write_chart(folder / "chart")
    write_ensemble(folder / "both", {"../a/model": 1, "../b/model": 0.5}, segmenter="../chart")
    (folder / "both" / "README.md").write_text("# both")
    return load(folder / "both", beam=3)


def test_a_saved_model(tmp_path: Path, tiny: Path):
    parser = load(tiny, search="action")
    expected = parser(TEXT)
    parser.save(tmp_path / "new" / "copy")
    saved = load(tmp_path / "new" / "copy")
    assert (saved.config, saved(TEXT)) == (parser.config, expected)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["copy"]


def test_a_saved_ensemble_needs_no_other_folder(tmp_path: Path):
    parser = make_ensemble(tmp_path / "old")
    expected = parser.kbest(TEXT, 2)
    parser.save(str(tmp_path / "copy"))
    shutil.rmtree(tmp_path / "old")
    (tmp_path / "copy").rename(tmp_path / "moved")
    saved = load(tmp_path / "moved")
    assert (saved.config, saved.kbest(TEXT, 2)) == (replace(parser.config, segmenter="segmenter"), expected)
    assert [model.lowercase for model in rnng_finder(saved).members] == [False, True]
    names = sorted(path.name for path in (tmp_path / "moved").iterdir())
    assert names == ["1-model", "2-model", "README.md", "ensemble.json", "parser.json", "segmenter"]
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
    with pytest.raises(UsageError, match=r"must be saved to a new folder, but '.*there' exists$"):
        parser.save(target)


def test_a_copy_is_whole_or_nothing(tmp_path: Path):
    parser = make_ensemble(tmp_path / "old")
    weights = tmp_path / "old" / "b" / "model" / "weights.safetensors"
    weights.unlink()
    weights.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match=r"copy: cannot be written: ") as error:
        parser.save(tmp_path / "copy")
    assert len(str(error.value).splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_target_that_cannot_be(tmp_path: Path, parser: Parser):
    (tmp_path / "file").touch()
    for target in (tmp_path / "file" / "copy", tmp_path / ("n" * 300)):
        with pytest.raises(OutputError) as error:
            parser.save(target)
        assert len(str(error.value).splitlines()) == 1


def test_models_in_memory_have_no_files(parser: Parser, tmp_path: Path):
    with pytest.raises(UsageError, match="only a parser that was loaded from a folder can be saved"):
        load_like(parser).save(tmp_path / "copy")


BRIDGE = "The bridge is closed because the river has risen. Drivers should take the ferry, which runs all night."


def test_all_of_them_fit_a_package():
    """Package indexes refuse more than 100 MB, and repositories dislike files of more than 50."""
    assert list(installed_models()) == ["en", "en-generative"]
    sizes = [path.stat().st_size for path in MODELS.rglob("*") if path.is_file()]
    assert sum(sizes) < 90e6
    assert max(sizes) < 50e6


@pytest.mark.slow
@pytest.mark.parametrize("name", installed_models())
def test_a_shipped_model_parses_raw_text(name):
    parser = genrst.load(name, device="cpu")
    document = parser(BRIDGE)
    texts = [BRIDGE[edu.start : edu.end] for edu in document.edus]
    assert texts[:2] == ["The bridge is closed", "because the river has risen."], "also its segmenter works"
    assert document.model == name
    if name == "en":
        assert "(causal-cause NS 0 1)" in str(document.tree)
    facts = describe_model(MODELS / name)
    is_generative = facts["config"]["kind"] == "generative"
    assert document.log_probability is not None
    assert document.log_probability < (-50 if is_generative else 0), "words are generated, too, or not"
    assert f"\n# {name}\n" in facts["card"]


@pytest.mark.slow
def test_the_encoder_makes_no_trouble_of_its_own(capfd):
    """Libraries of encoders are talkative; a parse prints nothing."""
    genrst.load("en", device="cpu")(BRIDGE)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("name", "licence"), [("en", "cc-by-sa-4.0"), ("en-generative", "cc-by-nc-sa-4.0")])
def test_cards_name_a_licence_that_catalogues_know(name: str, licence: str):
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    assert f"\nlicense: {licence}\n" in card.split("---")[1]
    assert licence.removesuffix("-4.0").replace("-", "") in card.lower().replace("-", "").replace(" ", "")


def test_options_without_effect_are_told(tiny: Path, tmp_path: Path):
    chart = write_chart(tmp_path / "chart")
    for folder, options, message in (
        (chart, {"pipeline": "x"}, "pipeline has no effect on chart, which is a chart parser"),
        (chart, {"beam": 3, "word_weight": 1}, "beam and word_weight have no effect on chart, which is a chart parser"),
        (tiny, {"relations": "coarse"}, "relations has no effect on tiny, which is not a chart parser"),
    ):
        with pytest.warns(ParserWarning, match=message):
            load(folder, **options)
    load(chart, keep_whole="nothing", relations="fine")
