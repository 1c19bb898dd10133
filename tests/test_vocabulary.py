from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from genrst.vocabulary import EOS, EOS_ID, NONE, NONE_ID, PAD, PAD_ID, SPECIALS, UNK, UNK_ID, Vocabulary

WORDS = st.lists(st.sampled_from(["a", "b", "c", "A", "<ORG>", *SPECIALS]), max_size=30)


@given(WORDS, st.integers(0, 4))
def test_words_are_those_seen_often_enough(words, min_count):
    vocabulary = Vocabulary.from_words(words, min_count)
    counts = Counter(words)
    assert vocabulary.symbols[: len(SPECIALS)] == SPECIALS
    kept = vocabulary.symbols[len(SPECIALS) :]
    assert set(kept) == {word for word in words if counts[word] >= min_count} - set(SPECIALS)
    assert list(kept) == sorted(kept, key=lambda word: (-counts[word], word)), "the most frequent first"
    assert len(vocabulary) == len(SPECIALS) + len(kept)


@given(WORDS, WORDS)
def test_numbers_are_places_and_all_else_is_unknown(words, text):
    vocabulary = Vocabulary.from_words(words)
    for word, number in zip(text, vocabulary.numbers(text), strict=True):
        if word in vocabulary.symbols[len(SPECIALS) :]:
            assert vocabulary.symbols[number] == word
        else:
            assert number == UNK_ID


def test_the_special_symbols():
    symbols = Vocabulary.from_words([]).symbols
    assert [symbols[number] for number in (PAD_ID, NONE_ID, UNK_ID, EOS_ID)] == [PAD, NONE, UNK, EOS]


def test_words_that_read_like_special_symbols_are_unknown():
    """A language model cannot generate padding, and an end inside an EDU would be none."""
    assert Vocabulary.from_words(["<pad>"] * 3).numbers(["<pad>", "<none>", "<eos>", "<unk>"]) == [UNK_ID] * 4


def test_labels_are_a_closed_set():
    labels = Vocabulary.from_labels(["nsubj", "dep", "nsubj", "<unk>"])
    assert labels.symbols == ("<none>", "<unk>", "dep", "nsubj")
    assert labels.numbers(["dep", "nsubj", "obj", "<none>"]) == [2, 3, 1, 1]
