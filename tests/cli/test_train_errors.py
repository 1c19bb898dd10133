"""Whatever is wrong with the options, the corpus or the machine: one line, and no traceback."""

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import CorpusFormatError
from genrst.formats.files import write
from genrst.training.prepared import load_prepared, save_prepared
from genrst.trees.node import Leaf
from tests.cli.program import call
from tests.cli.workspace import Workspace, names
from tests.training.samples import prepare_samples


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        (
            "--set training.epochs=3",
            "tiny.toml: training.epochs: unknown key; must be one of seeds, batch_documents, ",
            1,
        ),
        ("--set model.unit_size=0", "tiny.toml: model.unit_size: the value must be 1 or more, got 0", 1),
        (
            "--set model.word_size=1000000000000",
            "tiny.toml: model.word_size: the value must be 1048576 or less, got 1",
            1,
        ),
        (
            "--set training.max_epochs=1000000000000",
            "tiny.toml: training.max_epochs: the value 1000000000000 is out of range",
            1,
        ),
        (
            "--prepared features.npz --set model.unit_size=1000000 --set model.stack_size=1000000",
            "model: the network does not fit into memory: ",
            1,
        ),
        ("--set training.clip", "a change must have the form table.key=value, got 'training.clip'", 1),
        ("--set data.path=nowhere", "nowhere: no such file or folder; set another with --set data.path=FOLDER", 1),
        (
            "--set data.train_split=all",
            "corpus/all: no such folder; a split of a plain folder is a subfolder of that name",
            1,
        ),
        ("--set data.corpus=ptb", "a corpus must be one of gum, rstdt, amalgum, pcc, ", 2),
        ("--set data.inventory=ptb", "an inventory must be one of rstdt, gum, open, got 'ptb'", 2),
        ("--set data.vectors=none.txt", "none.txt: No such file or directory", 1),
        ("--set data.pipeline=none", "the spaCy pipeline must be installed", 1),
        (
            "--set data.syntax=corpus",
            "tiny-0: data.syntax=corpus needs the tokens of the corpus, but the document has none",
            1,
        ),
        (
            "--set data.genres=['news']",
            "data.genres: a genre must be one of the genres of the training documents, which ",
            1,
        ),
        ("--prepared none.npz", "none.npz: not a file of prepared features: ", 1),
        ("--prepared tiny.toml", "tiny.toml: not a file of prepared features: ", 1),
        ("--prepared features.npz --resume none", "none: the checkpoint cannot be read: ", 1),
        ("--prepared features.npz --output tiny.toml", "tiny.toml/config.toml: cannot be written: ", 1),
        (
            "--resume x --set training.seeds=[1,2]",
            "--resume PATH works for one seed only; use --resume auto for several",
            2,
        ),
    ],
)
def test_wrong_options(here: Workspace, options: str, message: str, status: int):
    found = here.train(*options.split())
    assert found.status == status
    assert len(found.messages) == 1
    assert found.messages[0].startswith(f"genrst: {message}")


@pytest.mark.parametrize("split", ["train", "dev"])
def test_documents_of_one_edu(here: Workspace, split: str):
    """They may be among others, but a parser has nothing to learn from them alone."""
    for path in Path("corpus", split).iterdir():
        path.unlink()
    write(Document.from_edus("one", ["It rained."], Leaf(0)), Path("corpus", split, "one.json"))
    found = here.train()
    rule = f"corpus: split {split!r} has no document of two or more EDUs"
    assert (found.status, found.messages) == (1, [f"genrst: {rule}"])


def test_a_configuration_that_is_not_there(here: Workspace):
    assert call(here.capsys, "train", "none.toml").status == 1
    (here.folder / "bad.toml").write_text("[data\n")
    (line,) = call(here.capsys, "train", "bad.toml").messages
    assert line.startswith("genrst: bad.toml: invalid TOML: ")


@pytest.mark.parametrize("batch_documents", [1, 3])
def test_a_loss_that_is_no_number(here: Workspace, batch_documents: int):
    """In the midst of an epoch, or after its only step, when just dev shows it. Nothing of it is kept."""
    options = ["--set", "training.learning_rate=1e25", "--set", f"training.batch_documents={batch_documents}"]
    found = here.train("--prepared", "features.npz", *options)
    assert (found.status, found.messages) == (1, ["genrst: the loss became nan in epoch 1; try a lower learning rate"])
    assert names(Path("runs/tiny")) == ["config.toml", "log.jsonl"]
    assert Path("runs/tiny/log.jsonl").read_text() == ""


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("features") / "features.npz"
    save_prepared(prepare_samples(), path)
    return path


@given(st.floats(0, 1), st.binary(max_size=4), st.integers(0, 40))
def test_features_damaged_anywhere(features, place, inserted, n_removed):
    """An error of ours or, where the damage hits nothing that is read, none."""
    content = features.read_bytes()
    at = int(place * len(content))
    damaged = features.with_name("damaged.npz")
    damaged.write_bytes(content[:at] + inserted + content[at + n_removed :])
    with contextlib.suppress(CorpusFormatError):
        load_prepared(damaged)


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def empty_split(corpus: Path) -> str:
    shutil.rmtree(corpus / "dev")
    (corpus / "dev").mkdir()
    return "corpus/dev: the folder has no files with trees (.dis, .rs3, .rs4, .json, .jsonl)"


def file_without_documents(corpus: Path) -> str:
    empty_split(corpus)
    (corpus / "dev" / "none.jsonl").touch()
    return "corpus: split 'dev' has no documents"


def tree_of_other_edus(corpus: Path) -> str:
    children = [{"edu": 0}, {"edu": 1}]
    change(corpus / "train" / "tiny-1.json", tree={"relation": "joint", "nuclearity": "NN", "children": children})
    return "corpus/train/tiny-1.json: the tree must cover the EDUs 0–3, got 0–1"


def no_tree(corpus: Path) -> str:
    change(corpus / "dev" / "tiny-2.json", tree=None)
    return "tiny-2: the document has no tree, so it cannot be used for training or evaluation"


def no_text(corpus: Path) -> str:
    change(corpus / "train" / "tiny-2.json", text=None)
    return "tiny-2: the document must have a text to be annotated"


def no_words(corpus: Path) -> str:
    write(Document("blank", "   ", (Span(0, 3),), Leaf(0)), corpus / "train" / "blank.json")
    return "blank: the document must have a text and tokens"


def no_json(corpus: Path) -> str:
    (corpus / "train" / "tiny-0.json").write_text('{"id": ')
    return "corpus/train/tiny-0.json:1: invalid JSON: "


def no_unicode(corpus: Path) -> str:
    change(corpus / "train" / "tiny-0.json", text="\ud800" * 60)
    return "tiny-0: spaCy cannot read the text: "


@pytest.mark.parametrize(
    "damage",
    [empty_split, file_without_documents, tree_of_other_edus, no_tree, no_text, no_words, no_json, no_unicode],
)
def test_wrong_corpora(here: Workspace, damage: Callable[[Path], str]):
    message = damage(here.folder / "corpus")
    found = here.train()
    assert found.status == 1
    assert len(found.messages) == 1
    assert found.messages[0].startswith(f"genrst: {message}")
    assert not Path("runs").exists()


def test_vectors_of_another_width(here: Workspace):
    Path("vectors.txt").write_text("the 1 2 3\n")
    found = here.train("--set", "data.vectors=vectors.txt")
    assert found.status == 1
    assert found.messages[-1] == "genrst: model.word_size must be at most the width of the vectors, 3, got 8"
    assert len(found.messages) == 4, "after what was said about relations, vectors and features"


@pytest.mark.slow
def test_a_gpu_that_is_not_there(here: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = here.train("--prepared", "features.npz", "--device", "cuda")
    assert found.status == 2
    assert found.messages == [
        "genrst: a device must be auto, cpu, or a GPU that PyTorch can use here (cuda, mps), got 'cuda'"
    ]
    assert here.train("--prepared", "features.npz", "--device", "auto").status == 0


def test_a_run_that_exists_is_refused_before_anything_is_done(here: Workspace):
    """Not after features are prepared, and not after the other seeds are trained."""
    checkpoint = Path("runs/tiny/seed-2/checkpoint.safetensors")
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    found = here.train("--set", "training.seeds=[1, 2]")
    assert found.status == 2
    rule = "use --resume auto to continue it, or --output to start another"
    assert found.messages == [f"genrst: runs/tiny/seed-2 already holds a run: {rule}"]
    assert names(Path("runs/tiny")) == ["seed-2"]
    assert not Path("cache").exists()


@pytest.mark.parametrize("name", ["config.toml", "log.jsonl", "checkpoint.safetensors", "model/notes.txt", "curve.svg"])
def test_a_folder_with_files_of_others_is_refused(here: Workspace, name: str):
    path = here.folder / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text("# what a user wrote\n")
    found = here.train("--prepared", "features.npz", "--output", "mine", "--resume", "auto")
    assert found.status in (1, 2)
    assert found.messages[-1].startswith(f"genrst: mine/{name.split('/')[0]}: ")
    assert [file for file in (here.folder / "mine").rglob("*") if file.is_file()] == [path]
    assert path.read_text() == "# what a user wrote\n"


@pytest.mark.slow
def test_a_configuration_in_the_folder_of_its_run_stays_unless_it_is_ours(here: Workspace):
    def train(n_epochs: int, *options: str) -> int:
        epochs = ("--set", f"training.max_epochs={n_epochs}")
        return here.train("--prepared", "features.npz", "--output", "mine", *epochs, *options).status

    (here.folder / "mine").mkdir()
    config = here.folder / "mine/config.toml"
    config.write_text("# settled after long thought\n" + (here.folder / "tiny.toml").read_text())
    before = config.read_text()
    assert train(1) == 2
    assert config.read_text() == before
    assert train(1, "--force") == 0
    # Now it is ours, also with other settings, and after a run that was killed before its first epoch ended.
    assert train(2, "--resume", "auto") == 0
    for file in ("checkpoint.safetensors", "checkpoint.previous.safetensors", ".genrst-outputs", "log.jsonl"):
        (here.folder / "mine" / file).unlink()
    (here.folder / "mine/curve.svg").unlink(missing_ok=True)
    assert train(1) == 2
    assert train(2) == 0
