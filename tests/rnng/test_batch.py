from dataclasses import fields, is_dataclass

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from genrst.rnng.batch import Batch, derive, make_batch, pack_words
from genrst.rnng.config import EOS_ID
from genrst.rnng.examples import Example
from genrst.rnng.transitions.actions import GEN, Reduce
from tests.rnng.random_examples import NUCLEUS_IS_RIGHT, random_example
from tests.rnng.transitions.machine import State

EXAMPLES = st.lists(st.builds(random_example, st.integers(1, 9), st.integers(0, 1000)), min_size=1, max_size=4)


def join(examples: list[Example]) -> Batch:
    return make_batch(examples, [derive(example, NUCLEUS_IS_RIGHT) for example in examples])


def edus(examples: list[Example]) -> list[list[int]]:
    return [
        example.edu_words[end - length : end].tolist()
        for example in examples
        for end, length in zip(example.edu_lengths.cumsum(), example.edu_lengths, strict=True)
    ]


@given(EXAMPLES)
def test_packed_words_are_the_edus(examples):
    """By PyTorch's own unpacking, and by the rows that say where each word went."""
    words = pack_words(examples)
    packed = PackedSequence(words.words, words.batch_sizes, words.sorted_edus, words.unsorted_edus)
    padded, lengths = pad_packed_sequence(packed, batch_first=True)
    assert [row[:length].tolist() for row, length in zip(padded, lengths, strict=True)] == edus(examples)
    text = [(word, number) for number, example in enumerate(examples) for word in example.edu_words.tolist()]
    assert list(zip(words.words[words.rows].tolist(), words.documents[words.rows].tolist(), strict=True)) == text


@given(EXAMPLES)
def test_targets_follow_one_another(examples):
    """Each EDU's words and then its end, each after the decoder state of the word before."""
    batch = join(examples)
    targets = batch.targets
    expected = [[*words, EOS_ID] for words in edus(examples)]
    assert targets.words.tolist() == [word for words in expected for word in words]
    before = [None if row == 0 else batch.words.words[row - 1].item() for row in targets.decoder_rows.tolist()]
    assert before == [word for words in expected for word in [None, *words[:-1]]]
    assert (batch.steps.correct_actions[targets.steps] == 0).all()
    assert batch.steps.documents[targets.steps].tolist() == targets.documents.tolist()
    assert len(set(targets.steps.tolist())) == sum(batch.n_edus), "every GEN generates one EDU"


@given(EXAMPLES)
def test_legal_actions_are_those_of_the_machine(examples):
    batch = join(examples)
    generate, reduce, read = [], [], []
    first = 0
    for example in examples:
        state = State(example.n_edus)
        for action in example.actions:
            generate.append(state.can_generate)
            reduce.append(state.can_reduce)
            read.append(first + state.n_generated)
            state = state.apply(Reduce("joint", "NN") if action else GEN)
        first += example.n_edus + 1
    assert batch.steps.can_generate.tolist() == generate
    assert batch.steps.can_reduce.tolist() == reduce
    assert batch.steps.n_read.tolist() == read


def tensors(part: object, name: str = "") -> dict[str, Tensor]:
    if isinstance(part, Tensor):
        return {name: part}
    if isinstance(part, tuple):
        return {key: t for place, item in enumerate(part) for key, t in tensors(item, f"{name}.{place}").items()}
    if is_dataclass(part):
        parts = {field.name: getattr(part, field.name) for field in fields(part)}
        return {key: t for field, item in parts.items() for key, t in tensors(item, f"{name}.{field}").items()}
    return {}


def test_a_batch_moves_as_a_whole():
    """All but the sizes of the packed sequence, which PyTorch wants on the CPU."""
    moved = tensors(join([random_example(5, 1), random_example(2, 2)]).to("meta"))
    assert len(moved) > 20
    assert {name for name, tensor in moved.items() if tensor.device.type != "meta"} == {".words.batch_sizes"}


def test_only_integers_and_flags():
    kinds = {tensor.dtype for tensor in tensors(join([random_example(4, 3)])).values()}
    assert kinds == {torch.int64, torch.bool}
