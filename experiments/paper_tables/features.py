"""Features of train, dev and test for a machine that has neither spaCy nor the corpus."""

from collections.abc import Sequence
from pathlib import Path

from experiments.data import Split, load_test, read_features
from genrst.errors import UsageError
from genrst.training.prepared import Prepared, save_prepared
from genrst.training.run_config import DataConfig, RunConfig

FEATURES, TEST = "features.npz", "test.npz"


def save_features(config: DataConfig, prepared: Prepared, folder: Path) -> None:
    """Write the features of train and dev, and beside them those of test."""
    save_prepared(prepared, folder / FEATURES)
    test = load_test(config, prepared)
    # An archive of features without training documents; its symbols have the labels of test, too.
    alone = Prepared("rnng", test.symbols, [], list(test.examples), None, prepared.notes, tokenizer=prepared.tokenizer)
    save_prepared(alone, folder / TEST)


def find_test(configs: Sequence[RunConfig], prepared: Prepared, file: Path | None) -> Split:
    """The test documents: from a file, or from the corpus."""
    if file is None:
        return load_test(configs[0].data, prepared)
    test = read_features(file, "rnng")
    own, given = prepared.symbols, test.symbols
    has_labels = given.actions.labels[: len(own.actions.labels)] == own.actions.labels
    if not has_labels or (own.words, own.deprels) != (given.words, given.deprels):
        raise UsageError(f"{file}: test documents must be prepared with the symbols of the others, got with others")
    return Split("test", test.dev, given)
