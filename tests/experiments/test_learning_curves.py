"""Learning curves: balanced nested subsets, vocabularies of their own, and the whole command with tiny models."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.learning_curves.run import main
from experiments.learning_curves.subsets import genre_of, nested_order, restrict, subset_size
from genrst.rnng.config import SPECIALS, UNK_ID
from genrst.training.prepared import save_prepared
from tests.experiments.test_paper_tables import CHANGES
from tests.training.samples import prepare_samples


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 1000), st.data())
def test_every_beginning_of_the_order_has_its_share_of_each_genre(sizes: list[int], seed: int, data: st.DataObject):
    ids = [f"GUM_genre{genre}_{number}" for genre, size in enumerate(sizes) for number in range(size)]
    order = nested_order(ids, seed)
    assert sorted(order) == list(range(len(ids)))
    n = data.draw(st.integers(1, len(ids)))
    found = Counter(genre_of(ids[number]) for number in order[:n])
    for genre, size in enumerate(sizes):
        assert abs(found[f"genre{genre}"] - size * n / len(ids)) < len(sizes) + 1


def test_all_documents_have_the_features_that_they_had():
    whole = prepare_samples()
    found = restrict(whole, range(len(whole.train)), 1)
    assert found.symbols == whole.symbols
    for old, new in zip([*whole.train, *whole.dev], [*found.train, *found.dev], strict=True):
        assert np.array_equal(old.edu_words, new.edu_words)
        assert np.array_equal(old.token_words, new.token_words)


def test_a_part_knows_only_its_own_words():
    whole = prepare_samples()
    found = restrict(whole, [1], 1)
    old, new = whole.symbols.words.symbols, found.symbols.words.symbols
    (example,) = found.train
    words = [old[number] for number in whole.train[1].edu_words]
    assert set(new) - set(SPECIALS) == set(words) - set(SPECIALS)
    assert [new[number] for number in example.edu_words] == words
    for before, after in zip(whole.dev[0].edu_words, found.dev[0].edu_words, strict=True):
        assert after == new.index(old[before]) if old[before] in words else after == UNK_ID


def test_sizes_are_nested():
    sizes = [subset_size(177, part) for part in (16, 8, 4, 2, 1)]
    assert sizes == [11, 22, 44, 88, 177]
    assert all(small < large for small, large in pairwise(sizes))


@pytest.mark.slow
def test_the_curves_of_tiny_models(tmp_path: Path):
    save_prepared(prepare_samples(), tmp_path / "features.npz")
    changes = [word for change in CHANGES for word in ("--set", change)]
    options = ["--parts", "3", "1", "--subsets", "2", "--beam", "2", "--word-weights", "1", "0.5", "--device", "cpu"]
    words = ["--prepared", str(tmp_path / "features.npz"), "--output", str(tmp_path / "curves"), *options, *changes]
    main(words)
    rows = json.loads((tmp_path / "curves" / "rows.json").read_bytes())
    points = {(point["model"], point["part"]): point for point in rows["points"]}
    assert {key: point["documents"] for key, point in points.items()} == {
        (model, part): size for model in ("generative", "discriminative") for part, size in ((3, 1), (1, 3))
    }
    generative = points["generative", 1]
    assert generative["runs"] == [101, 201]
    assert max(sum(scores["F"]) for scores in generative["dev"].values()) == sum(generative["scores"]["F"])
    assert [one["documents"] for one in rows["generative_minus_discriminative"]] == [1, 3]
    assert (tmp_path / "curves" / "curves.svg").is_file()
    written = (tmp_path / "curves" / "rows.json").stat().st_mtime_ns
    models = sorted((tmp_path / "curves").rglob("weights.safetensors"))
    times = [path.stat().st_mtime_ns for path in models]
    assert len(models) == 8
    main(words)  # nothing is trained again
    assert [path.stat().st_mtime_ns for path in models] == times
    assert (tmp_path / "curves" / "rows.json").stat().st_mtime_ns >= written
