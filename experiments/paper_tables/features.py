"""Features of train, dev and test for a machine without spaCy and the corpus."""

from collections.abc import Sequence
from pathlib import Path

from experiments.data import Split, load_test, read_features
from genrst.errors import UsageError
from genrst.training.prepared import Prepared, save_prepared
from genrst.training.run_config import DataConfig, RunConfig

FEATURES, TEST = "features.npz", "test.npz"


def save_features(config: DataConfig, prepared: Prepared, folder: Path) -> None:
    """Write the features of train and dev, and those of test to a second file."""
    save_prepared(prepared, folder / FEATURES)
    test = load_test(config, prepared)
    # An archive without training documents, whose symbols include the labels of test.
    alone = Prepared("rnng", test.symbols, [], list(test.examples), None, prepared.notes, tokenizer=prepared.tokenizer)
    save_prepared(alone, folder / TEST)


def find_test(configs: Sequence[RunConfig], prepared: Prepared, file: Path | None) -> Split:
    """Return the test documents, from a file or from the corpus."""
    if file is None:
        return load_test(configs[0].data, prepared)
    test = read_features(file, "rnng")
    own, given = prepared.symbols, test.symbols
    has_labels = given.actions.labels[: len(own.actions.labels)] == own.actions.labels
    if not has_labels or (own.words, own.deprels) != (given.words, given.deprels):
        raise UsageError(f"{file}: the test documents were not prepared with the symbols of train and dev")
    return Split("test", test.dev, given)
