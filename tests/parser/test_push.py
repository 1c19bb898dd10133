"""Models to the Hub, by a stand-in for it on this machine."""

import shutil
import sys
from pathlib import Path

import pytest

import genrst
from genrst.errors import ConfigError, GenrstError, MissingDependencyError, OutputError, UsageError
from genrst.parser.folders import find_model
from genrst.parser.push import check_folder, make_card, push
from tests.cli.program import call
from tests.parser.hub_server import TOKEN, Hub
from tests.parser.samples import TEXT, write_ensemble, write_parser

NAME = "ann/forum"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
"""What huggingface_hub says to its own HTTP client."""


@pytest.fixture
def folder(chart_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(chart_folder, tmp_path / "chart"))


@pytest.fixture
def token(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is logged in, after the fixture of the Hub has seen to it that nobody is."""
    assert not hub.requests
    monkeypatch.setenv("HF_TOKEN", TOKEN)


def files_of(hub: Hub) -> dict[str, bytes]:
    return {name: content for name, content in hub.repositories[NAME].files.items() if name != ".gitattributes"}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("token")
def test_a_new_repository(hub: Hub, folder: Path):
    name = push(folder, NAME)
    assert name == f"hf:{NAME}@{hub.repositories[NAME].head}"
    sent, own = files_of(hub), files_in(folder)
    assert sent.keys() == own.keys()
    assert [file for file in own if sent[file] != own[file]] == ["README.md"], "whose settings are complete now"
    assert not hub.repositories[NAME].is_private
    assert genrst.load(name, device="cpu")(TEXT).tree == genrst.load(folder, device="cpu")(TEXT).tree


@pytest.mark.usefixtures("token")
def test_a_private_repository(hub: Hub, folder: Path):
    push(folder, NAME, private=True)
    assert hub.repositories[NAME].is_private


@pytest.mark.usefixtures("token")
def test_an_existing_repository_gets_another_commit(hub: Hub, folder: Path):
    before = hub.add_files(NAME, {**files_in(folder), "weights-2.safetensors": b"old", "ensemble.json": b"{}"})
    name = push(folder, NAME)
    assert [*hub.repositories[NAME].commits] == [before, name.partition("@")[2]]
    assert files_of(hub).keys() == files_in(folder).keys(), "what the model does not have is removed"
    assert find_model(name).is_dir()


@pytest.mark.usefixtures("token")
def test_a_repository_with_anything_else_is_left_alone(hub: Hub, folder: Path):
    before = hub.add_files(NAME, {"data.csv": b"a,b\n"})
    with pytest.raises(OutputError, match=r"must be new or contain only the files of a model, got data\.csv$"):
        push(folder, NAME)
    assert hub.repositories[NAME].head == before


def test_without_a_token(hub: Hub, folder: Path):
    with pytest.raises(OutputError, match=f"^{NAME}: publishing needs a Hub token: run hf auth login"):
        push(folder, NAME)
    assert not hub.requests


def test_with_a_wrong_token(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(OutputError, match=f"^{NAME}: cannot be written: the Hub denies access; log in") as error:
        push(folder, NAME)
    assert "hf_wrong" not in str(error.value)
    assert NAME not in hub.repositories


@pytest.mark.usefixtures("token")
def test_where_one_may_not_write_or_the_hub_is_down(hub: Hub, folder: Path):
    with pytest.raises(OutputError, match=r"^somebody/forum: cannot be written: the Hub denies access"):
        push(folder, "somebody/forum")
    hub.is_down = True
    with pytest.raises(OutputError, match=f"^{NAME}: cannot be written: "):
        push(folder, NAME)


def refused(folder: Path) -> str:
    with pytest.raises(GenrstError) as error:
        check_folder(folder)
    return str(error.value)


@pytest.mark.parametrize("file", ["notes.txt", "optimizer.pt", "encoder/model.bin"])
def test_a_folder_with_other_files(folder: Path, file: str):
    (folder / file).write_text("anything")
    assert refused(folder) == f"{folder}: the folder must contain only the files of a model, got {file}"


def test_damaged_weights_are_not_published(folder: Path):
    weights = bytearray((folder / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "weights.safetensors").write_bytes(weights)
    assert "the checksum of the weights must be" in refused(folder)


def test_a_model_that_needs_another_folder(folder: Path, tmp_path: Path):
    write_ensemble(tmp_path / "some", {f"../{folder.name}": 1.0})
    assert "which is outside the folder" in refused(tmp_path / "some")
    genrst.load(tmp_path / "some", device="cpu").save(tmp_path / "whole")
    assert "1-chart/config.json" in check_folder(tmp_path / "whole")
    write_parser(tmp_path / "steps", has_segmenter=False)
    assert "parser.json" in check_folder(tmp_path / "steps"), "`en` comes with the package"


def test_names_that_are_none(folder: Path):
    for name in ("forum", "hf:ann/forum", "ann/forum/x", "ann/../x"):
        with pytest.raises(UsageError, match=r"^the name of a repository must be USER/NAME"):
            push(folder, name)


def test_without_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[hub\]'$"):
        push(folder, NAME)


# The card.


def test_the_settings_of_a_card_are_completed(folder: Path):
    assert make_card(folder, NAME) == (
        "---\nlicense: mit\nlanguage: en\nlibrary_name: genrst\n"
        "tags:\n- discourse-parsing\n- rhetorical-structure-theory\n---\n# A chart\n"
    )
    (folder / "README.md").write_text("# A chart\n\n---\n", encoding="utf-8")
    card = make_card(folder, NAME, "cc-by-4.0", "de")
    assert card.startswith("---\nlicense: cc-by-4.0\nlanguage: de\nlibrary_name: genrst\ntags:\n")
    assert card.endswith("---\n# A chart\n\n---\n")


def test_a_complete_card_stays_as_it_is():
    folder = find_model("en")
    assert make_card(folder, NAME) == (folder / "README.md").read_text(encoding="utf-8")


def test_a_card_is_written_where_there_is_none(folder: Path):
    (folder / "README.md").unlink()
    card = make_card(folder, NAME, "mit")
    assert card.startswith("---\nlicense: mit\n")
    assert f'genrst.load("hf:{NAME}@COMMIT")' in card
    assert not (folder / "README.md").exists(), "the folder is not changed"


def test_a_licence_is_named_once(folder: Path):
    with pytest.raises(UsageError, match="already names a licence"):
        make_card(folder, NAME, "mit")
    (folder / "README.md").unlink()
    with pytest.raises(ConfigError, match="the card names no licence; add one with --license"):
        make_card(folder, NAME)
    for license, language in (("mit\ntags: x", "en"), ("MIT License", "en"), ("mit", "en\nx: y")):
        with pytest.raises(UsageError, match="must be a Hub identifier"):
            make_card(folder, NAME, license, language)


@pytest.mark.usefixtures("token")
def test_the_verb(hub: Hub, folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "README.md").unlink()
    outcome = call(capsys, "push", str(folder), NAME, "--license", "mit", "--private")
    assert (outcome.status, outcome.output.strip()) == (0, f"hf:{NAME}@{hub.repositories[NAME].head}")
    assert files_of(hub)["README.md"].startswith(b"---\nlicense: mit\nlanguage: en\n")
    outcome = call(capsys, "push", str(folder / "encoder"), NAME, "--license", "mit")
    assert outcome.status == 1
