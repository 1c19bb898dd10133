"""Training with headings, list items and turns of speakers as kinds of GEN."""

from dataclasses import replace

import pytest

from genrst.errors import ConfigError
from genrst.model.examples import Example
from genrst.model.storage import make_network
from genrst.training.data import Prepared
from genrst.training.run_config import TrainingConfig
from genrst.training.trainer import Trainer
from tests.training.samples import SMALL, prepare_samples


def make_trainer(prepared: Prepared) -> Trainer:
    network = make_network(replace(SMALL, layout_size=4, layout_kinds=True), prepared.symbols)
    return Trainer(network, prepared, TrainingConfig(batch_documents=2, max_epochs=2, learning_rate=1e-2), 1)


def test_kinds_are_learned():
    first, last = make_trainer(prepare_samples()).epochs()
    assert last.dev_loss < first.dev_loss


def without_kinds(example: Example) -> Example:
    return replace(example, syntax=replace(example.syntax, kinds=[]))


def test_features_without_kinds_are_one_line():
    prepared = prepare_samples()
    old = [without_kinds(example) for example in prepared.train]
    for mixed in (replace(prepared, train=old), replace(prepared, dev=old)):
        with pytest.raises(ConfigError, match=r"^model.layout_kinds: the features must be prepared again.*$"):
            make_trainer(mixed)
