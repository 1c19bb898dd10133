import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from genrst.errors import ConfigError, TrainingError
from genrst.rnng.batch import make_batch
from genrst.rnng.examples import Example
from genrst.rnng.finder import make_network
from genrst.rnng.learning import RnngTask, evaluate_bags, evaluate_greedily
from genrst.rnng.network import Network
from genrst.task import Lesson
from genrst.training.prepared import Prepared
from genrst.training.run_config import TrainingConfig
from genrst.training.tasks import make_task
from genrst.training.trainer import Record, Trainer
from tests.training.samples import QUICK, SMALL, make_trainer, prepare_samples


def first_lessons(trainer: Trainer) -> list[Lesson[Example]]:
    """Those of the current epoch, in the order of their documents."""
    lessons = trainer.task.epoch(trainer.progress.epoch, trainer.network)
    return sorted(lessons, key=lambda lesson: lesson.number)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generative", "discriminative"])
def test_three_documents_are_learned_by_heart(kind):
    trainer = make_trainer(kind)
    records: list[Record] = []
    for record in trainer.epochs():
        records.append(record)
        if record.dev_scores["F"] == 100:
            break
    assert records[-1].dev_scores == {"S": 100, "N": 100, "R": 100, "F": 100}
    assert records[-1].train_loss < 0.8 * records[0].train_loss
    assert (records[-1].dev_perplexity is None) == (kind == "discriminative")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run():
    runs = [
        [(record.train_loss, record.dev_loss, record.dev_scores) for record in trainer.epochs()]
        for trainer in (make_trainer(config=replace(QUICK, max_epochs=3)) for _ in range(2))
    ]
    assert runs[0] == runs[1]
    other = make_trainer(config=replace(QUICK, max_epochs=3), seed=2)
    assert [record.train_loss for record in other.epochs()] != [loss for loss, _, _ in runs[0]]


def test_every_document_is_seen_once_an_epoch_in_a_new_order():
    trainer = make_trainer(config=replace(QUICK, batch_documents=1))
    orders = []
    for epoch in range(12):
        trainer.progress.epoch = epoch
        order = [lesson.number for batch in trainer._batches() for lesson in batch]
        assert sorted(order) == [0, 1, 2]
        orders.append(tuple(order))
    assert len(set(orders)) > 1


def test_training_stops_without_progress():
    trainer = make_trainer(config=replace(QUICK, patience=3, learning_rate=1e-12, max_epochs=50))
    assert len(list(trainer.epochs())) == 4, "the first epoch is the best, three more are without progress"


@pytest.mark.slow
def test_dev_is_parsed_from_some_epoch_on():
    config = replace(QUICK, max_epochs=8, patience=8, evaluate_from=4, evaluate_epochs=2)
    assert [bool(record.dev_scores) for record in make_trainer(config=config).epochs()] == [
        epoch in (4, 6, 8) for epoch in range(1, 9)
    ]
    late = replace(config, evaluate_from=9)
    assert [bool(record.dev_scores) for record in make_trainer(config=late).epochs()] == [False] * 7 + [True]


@pytest.mark.slow
def test_patience_counts_from_the_first_evaluation():
    config = replace(QUICK, patience=3, learning_rate=1e-12, max_epochs=50, evaluate_from=10)
    assert len(list(make_trainer(config=config).epochs())) == 13, "the tenth epoch is the best"


@pytest.mark.parametrize(
    ("schedule", "shares"),
    [("constant", [1, 1, 1, 1]), ("linear", [0.75, 0.5, 0.25, 0]), ("cosine", [0.854, 0.5, 0.146, 0])],
)
def test_schedules(schedule, shares):
    """With one step an epoch, each record has the rate of the next step."""
    config = replace(QUICK, schedule=schedule, max_epochs=4, batch_documents=3, evaluate_from=4)
    rates = [record.learning_rate / config.learning_rate for record in make_trainer(config=config).epochs()]
    assert rates == pytest.approx(shares, abs=1e-3)


def test_warmup():
    config = replace(QUICK, warmup_steps=4, max_epochs=5, batch_documents=3, evaluate_from=5)
    rates = [record.learning_rate / config.learning_rate for record in make_trainer(config=config).epochs()]
    assert rates == [0.5, 0.75, 1, 1, 1]


def test_blank_noise_spares_special_symbols_and_follows_the_rate():
    trainer = make_trainer(config=replace(QUICK, blank_noise=0.5))
    lessons = first_lessons(trainer)
    noise = trainer.task
    assert isinstance(noise, RnngTask)
    blanks = noise._blanks(lessons, 0, torch.device("cpu"))
    assert blanks is not None
    assert not blanks[:, :4].any()
    assert 0.3 < blanks[:, 4:].float().mean() < 0.7
    again = noise._blanks(lessons[2:], 0, torch.device("cpu"))
    assert again is not None
    assert torch.equal(blanks[2:], again), "a document's noise does not depend on its batch"
    without = make_trainer(config=replace(QUICK, blank_noise=0.0)).task
    assert isinstance(without, RnngTask)
    assert without._blanks(lessons, 0, torch.device("cpu")) is None


def test_a_loss_that_is_no_number_ends_training():
    trainer = make_trainer()
    with torch.no_grad():
        next(trainer.network.parameters())[5] = math.nan
    with pytest.raises(TrainingError, match="became nan in epoch 1"):
        next(trainer.epochs())


SILVER = replace(QUICK, batch_documents=3, blank_noise=0.0, silver_epochs=2, max_epochs=4)


def with_silver(config: TrainingConfig = SILVER) -> Trainer:
    """A trainer whose last two documents are silver ones."""
    prepared = prepare_samples()
    return make_trainer(config=config, prepared=replace(prepared, train=prepared.train[:1], silver=prepared.train[1:]))


def test_silver_documents_come_in_the_first_epochs_only():
    trainer = with_silver()
    orders = []
    for epoch in range(4):
        trainer.progress.epoch = epoch
        orders.append([lesson.number for lesson in first_lessons(trainer)])
    assert orders == [[0, 1, 2], [0, 1, 2], [0], [0]]
    assert len(list(with_silver().epochs())) == 4


@pytest.mark.parametrize(
    ("size", "steps"), [(0, [3, 6, 7, 8]), (1, [3, 6, 7, 8]), (2, [2, 4, 5, 6]), (3, [1, 2, 3, 4])]
)
def test_batches_of_silver_documents(size: int, steps: list[int]):
    trainer = with_silver(replace(SILVER, batch_documents=1, silver_batch_documents=size))
    assert [record.step for record in trainer.epochs()] == steps


def test_silver_is_learned_like_gold():
    plain = make_trainer(config=replace(SILVER, silver_epochs=0, max_epochs=1))
    assert next(plain.epochs()).train_loss == pytest.approx(next(with_silver().epochs()).train_loss, rel=1e-6)


def test_the_loss_of_a_step_is_that_of_its_documents():
    """Against the network's own log-probabilities, document by document."""
    trainer = with_silver()
    expected = 0.0
    lessons = first_lessons(trainer)
    for lesson in lessons:
        with torch.no_grad():
            assert lesson.derivation is not None
            found = trainer.network(make_batch([lesson.example], [lesson.derivation]))
        expected -= float(found.actions.sum() + found.words.sum())
    assert float(trainer._train_on(lessons)) == pytest.approx(expected, rel=1e-5)


def test_silver_epochs_without_silver_documents_are_an_error():
    with pytest.raises(ConfigError, match=r"^training.silver_epochs: needs silver documents \(data.silver\)$"):
        make_trainer(config=SILVER)


def test_the_average_of_weights_is_evaluated():
    """Against averaging by hand."""
    trainer = make_trainer(config=replace(QUICK, averaging=0.9, max_epochs=2))
    name, expected = "embeddings.weight", None
    for epoch in range(2):
        trainer.progress.epoch = epoch
        for lessons in trainer._batches():
            trainer._train_on(lessons)
            weight = trainer.network.state_dict()[name].clone()
            expected = weight if expected is None else 0.9 * expected + 0.1 * weight
    assert expected is not None
    assert torch.allclose(trainer.kept_network.state_dict()[name], expected, atol=1e-6)
    assert not torch.equal(trainer.network.state_dict()[name], expected)


def test_without_averaging_the_network_itself_is_kept():
    trainer = make_trainer()
    assert trainer.kept_network is trainer.network


def with_kinds(prepared: Prepared) -> Trainer:
    """A trainer that generates headings, list items and turns of speakers."""
    network = make_network(replace(SMALL, layout_size=4, layout_kinds=True), prepared.symbols)
    config = TrainingConfig(batch_documents=2, max_epochs=2, learning_rate=1e-2)
    return Trainer(network, make_task(prepared, network, config, 1), config, 1)


def test_kinds_are_learned():
    first, last = with_kinds(prepare_samples()).epochs()
    assert last.dev_loss < first.dev_loss


def without_kinds(example: Example) -> Example:
    return replace(example, syntax=replace(example.syntax, kinds=[]))


def test_features_without_kinds_are_one_line():
    prepared = prepare_samples()
    old = [without_kinds(example) for example in prepared.train]
    for mixed in (replace(prepared, train=old), replace(prepared, dev=old)):
        with pytest.raises(
            ConfigError, match=r"^model.layout_kinds: the features were prepared without kinds of layout.*$"
        ):
            with_kinds(mixed)


@pytest.mark.parametrize(
    ("kind", "settings", "criterion"),
    [
        ("generative", {}, "bag"),
        ("generative", {"evaluate_search": "greedy"}, "greedy"),
        ("generative", {"select": "loss"}, "loss"),
        ("discriminative", {}, "greedy"),
        ("discriminative", {"evaluate_search": "bag"}, "bag"),
    ],
)
def test_an_epoch_is_chosen_by_what_the_model_is_for(kind: str, settings: dict[str, Any], criterion: str):
    """By trees with words, by trees without them, or by the loss."""
    # So high a rate that some epochs are worse than those before.
    prepared = prepare_samples()
    config = replace(QUICK, learning_rate=0.03, max_epochs=6, evaluate_beam=2, **settings)
    trainer = make_trainer(kind, config, prepared=prepared)
    best = -math.inf
    for record in trainer.epochs():
        network = trainer.network
        assert isinstance(network, Network)
        if criterion == "greedy":
            found = evaluate_greedily(network, prepared.symbols, prepared.dev)
        else:
            found = evaluate_bags(network, prepared.symbols, prepared.dev, beam=2)
        assert record.dev_scores == found.percentages()
        score = -record.dev_loss if criterion == "loss" else record.dev_scores["F"]
        assert record.is_best == (score > best)
        best = max(best, score)
    assert trainer.progress.best_score == best


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_gradient_in_low_precision_that_is_no_number_destroys_nothing(number):
    """Other steps go on as they would have, and a network without such steps learns as before."""
    trainer = make_trainer(config=replace(QUICK, precision="bfloat16", max_epochs=2, evaluate_from=2))
    assert isinstance(trainer.network, Network)
    weight = trainer.network.embeddings.weight
    before = weight.detach().clone()
    broken = weight.register_hook(lambda gradient: torch.full_like(gradient, number))  # type: ignore[no-untyped-call]
    trainer._train_on(first_lessons(trainer))
    assert torch.equal(weight, before)
    broken.remove()
    trainer._train_on(first_lessons(trainer))
    assert not torch.equal(weight, before)
    assert all(parameter.isfinite().all() for parameter in trainer.network.parameters())
