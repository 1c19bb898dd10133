"""Labels and their groups: numbers, files, and log-probabilities against sums that are written out."""

import math
from collections import Counter

import numpy as np
import pytest

from genrst.chart.labels import Labels, label_logp
from genrst.chart.learning.task import label_log_prior
from genrst.errors import ConfigError
from tests.chart.random_networks import finer
from tests.encoder.tiny_encoders import piece_example

GROUPS = [("cause", "NS"), ("cause", "SN"), ("joint", "NN"), ("contrast", "NN")]
CLASSES = [("reason", "cause"), ("result", "cause"), ("list", "joint")]
LABELS = finer(GROUPS, CLASSES)
PLAIN = Labels(tuple(sorted(GROUPS)))


@pytest.mark.parametrize("labels", [LABELS, PLAIN, LABELS.coarse()])
def test_labels_come_back_from_files(labels: Labels):
    assert Labels.from_dict(labels.as_dict()) == labels


def test_labels_of_one_class_and_nuclearity_are_a_group():
    assert LABELS.groups == tuple(sorted(GROUPS)) == LABELS.coarse().pairs
    assert LABELS.fine == ("list", "reason", "result")
    groups = [LABELS.groups[group] for group in LABELS.group_of_labels]
    assert groups == [(dict(CLASSES).get(relation, relation), nuclearity) for relation, nuclearity in LABELS.pairs]
    assert PLAIN.group_of_labels.tolist() == [0, 1, 2, 3]
    assert PLAIN.fine == ()


def test_numbers_of_labels_and_groups():
    for number, label in enumerate((*LABELS.pairs, *LABELS.groups)):
        assert LABELS.name(number) == label
        assert LABELS.number(label) == (LABELS.pairs.index(label) if label in LABELS.pairs else number)
    assert LABELS.number(("cause", "NN")) is None
    assert LABELS.number(("purpose", "NS")) is None


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"labels": []},
        {"labels": "NN"},
        {"labels": [["cause"]]},
        {"labels": [["cause", 1]]},
        {"labels": [["cause", "N"]]},
        {"labels": [["cause", "NS"], ["cause", "NS"]]},
        {"labels": [["cause", "NS"]], "classes": {"list": "joint"}},
        {"labels": [["cause", "NS"]], "classes": {"cause": 3}},
        {"labels": [["cause", "NS"]], "classes": 3},
    ],
)
def test_damaged_labels_are_one_error(data):
    with pytest.raises(ConfigError, match=r"\Asymbols must be labels and the classes of relations, got .+\Z"):
        Labels.from_dict(data)


@pytest.mark.parametrize("labels", [LABELS, PLAIN])
@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_a_label_is_its_group_and_its_relation_within(labels: Labels, temperature: float):
    logits = np.random.default_rng(3).normal(0, 3, (5, len(labels.groups) + len(labels.fine))).astype(np.float32)
    found = label_logp(labels, logits, temperature)
    for row, scores in zip(found, logits.tolist(), strict=True):
        weights = [math.exp(score / temperature) for score in scores]
        of_fine = dict(zip(labels.fine, weights[len(labels.groups) :], strict=True))
        of_groups = dict(zip(labels.groups, weights, strict=False))
        for number, (relation, nuclearity) in enumerate(labels.pairs):
            group = labels.class_of[relation], nuclearity
            members = [one for one, other in labels.pairs if (labels.class_of[one], other) == group]
            p = of_groups[group] / sum(of_groups.values())
            p *= of_fine.get(relation, 1) / sum(of_fine.get(one, 1) for one in members)
            assert row[number] == pytest.approx(math.log(p), abs=1e-4)


def test_the_prior_of_a_label_is_its_share_in_its_group():
    labels = finer([("cause", "NS"), ("joint", "NN")], CLASSES)
    examples = [piece_example(9, seed) for seed in range(3)]
    counts = Counter(int(label) for example in examples for label in example.units[:, 3])
    assert set(counts) == {0, 1, 2}, "there are no other labels in the examples"
    expected = [math.log((1 + counts[label]) / (2 + counts[0] + counts[1])) for label in (0, 1)]
    assert label_log_prior(examples, labels).tolist() == pytest.approx([*expected, 0.0], abs=1e-5)
