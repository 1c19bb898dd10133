from dataclasses import replace

import torch

from genrst.model.storage import make_network
from genrst.training.lessons import Lessons
from tests.training.samples import SMALL, prepare_samples
from tests.training.test_trainer import QUICK


def test_lessons_are_counted_and_numbered_with_all_variations_at_once():
    """Schedules rely on the count, noise on the numbers."""
    prepared = prepare_samples()
    prepared = replace(prepared, silver=prepared.train[1:])
    torch.manual_seed(1)
    network = make_network(replace(SMALL, kind="discriminative"), prepared.symbols)
    config = replace(QUICK, silver_epochs=2, exploration=0.67, subtrees=1.5)
    lessons = Lessons(prepared, config, network, seed=1)
    for epoch, n_silver in enumerate((2, 2, 0)):
        made = lessons.epoch(epoch, network)
        assert len(made) == lessons.count(epoch) == 3 + n_silver + 4
        assert len({lesson.number for lesson in made}) == len(made)
        silver = [lesson.example for lesson in made if lesson.is_silver]
        assert sorted(example.id for example in silver) == sorted(e.id for e in prepared.silver[:n_silver])
        gold = {lesson.number: lesson.example for lesson in made if lesson.number < 3}
        assert [gold[number].id for number in range(3)] == [example.id for example in prepared.train]
