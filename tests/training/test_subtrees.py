import random
from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genrst.model.examples import Example
from genrst.model.network import Network
from genrst.model.schedule import build_units
from genrst.model.storage import make_network
from genrst.training.lessons import Lessons
from genrst.training.subtrees import LEAST, cut_out, draw_subtree
from genrst.transitions.features import NOTHING, Dominance, Features
from tests.model.random_examples import NUCLEUS_IS_RIGHT, random_example
from tests.training.samples import SMALL, prepare_samples
from tests.training.test_trainer import QUICK


def example_with_pieces(n_edus: int, seed: int) -> Example:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, n_edus)
    return replace(
        random_example(n_edus, seed), pieces=rng.integers(0, 1000, int(lengths.sum())), piece_lengths=lengths
    )


def parts(values: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(values, np.cumsum(lengths)[:-1])]


def shifted(features: Features, by: int) -> Features:
    def shift(token: int) -> int:
        return token if token == NOTHING else token - by

    def shift_all(tokens: tuple[int, int, int]) -> tuple[int, int, int]:
        return shift(tokens[0]), shift(tokens[1]), shift(tokens[2])

    word, head, deprel = features.dominance
    return replace(
        features,
        right_heads=shift_all(features.right_heads),
        left_heads=shift_all(features.left_heads),
        dominance=Dominance(shift(word), shift(head), deprel),
    )


@given(st.integers(2, 12), st.integers(0, 10**6), st.data())
def test_a_part_is_to_its_units_what_the_whole_was(n_edus, seed, data):
    example = example_with_pieces(n_edus, seed)
    computation = build_units(example.actions, NUCLEUS_IS_RIGHT)
    step = data.draw(st.integers(0, len(computation) - 1))
    start, stop = int(computation.start[step]), int(computation.stop[step])
    part = cut_out(example, computation, step)
    assert part.n_edus == stop - start
    for values, lengths in (("edu_words", "edu_lengths"), ("pieces", "piece_lengths")):
        whole = parts(getattr(example, values), getattr(example, lengths))
        assert parts(getattr(part, values), getattr(part, lengths)) == whole[start:stop]
    first = example.syntax.edu_tokens[start]
    assert part.token_words.tolist() == example.token_words[first : example.syntax.edu_tokens[stop]].tolist()
    for a, b, c in combinations(range(part.n_edus + 1), 3):
        expected = shifted(example.syntax.features(start + a, start + b, start + c), first)
        assert part.syntax.features(a, b, c) == expected
    own = build_units(part.actions, NUCLEUS_IS_RIGHT)
    inside = slice(step + 1 - len(part.actions), step + 1)
    assert (own.start + start).tolist() == computation.start[inside].tolist()
    assert (own.stop + start).tolist() == computation.stop[inside].tolist()


def test_parts_are_drawn_from_all_large_units():
    example = example_with_pieces(30, seed=5)
    computation = build_units(example.actions, NUCLEUS_IS_RIGHT)
    spans = {(int(a), int(b)) for a, b in zip(computation.start, computation.stop, strict=True)}
    expected = {f"{example.id} {a}-{b}" for a, b in spans if LEAST <= b - a < 30}
    drawn = {draw_subtree(example, computation, random.Random(seed)).id for seed in range(1000)}
    assert drawn == expected


def test_a_document_without_a_smaller_unit_stays_whole():
    example = example_with_pieces(LEAST, seed=1)
    assert draw_subtree(example, build_units(example.actions, NUCLEUS_IS_RIGHT), random.Random(1)) is example


def make_lessons(subtrees: float) -> tuple[Lessons, Network]:
    prepared = prepare_samples()
    network = make_network(SMALL, prepared.symbols)
    return Lessons(prepared, replace(QUICK, subtrees=subtrees), network, seed=1), network


def test_an_epoch_has_subtrees_besides():
    lessons, network = make_lessons(subtrees=2.0)
    assert lessons.count(0) == 9
    made = lessons.epoch(0, network)
    assert sorted(lesson.number for lesson in made) == list(range(9))
    assert [lesson.number for lesson in made] != [lesson.number for lesson in lessons.epoch(1, network)]
