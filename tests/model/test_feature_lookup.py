"""Features by table against their definition, for every pair of units of random documents."""

import random
from dataclasses import replace

import pytest
import torch

from genrst.model.example import Example, encode_features
from genrst.model.feature_lookup import FeatureLookup
from genrst.model.vocabulary import NONE_ID
from tests.model.random_examples import random_example


def with_sparse_heads(example: Example, seed: int) -> Example:
    """The same document with heads as in real trees: nearby, one root a sentence, no cycles."""
    rng = random.Random(seed)
    syntax = example.syntax
    heads: list[int] = []
    for edu in range(example.n_edus):
        first = syntax.edu_tokens[min(e for e in range(edu + 1) if syntax.sentences[e] == syntax.sentences[edu])]
        for token in range(syntax.edu_tokens[edu], syntax.edu_tokens[edu + 1]):
            heads.append(token if token == first else rng.randrange(first, token))
    return replace(example, syntax=replace(syntax, heads=heads))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_sparse", [False, True])
def test_tables_give_the_features_of_the_definition(seed, is_sparse):
    examples = [random_example(n_edus, 7 * seed + n_edus) for n_edus in (1, 2, 9, 14)]
    if is_sparse:
        examples = [with_sparse_heads(example, seed) for example in examples]
    rows, expected = [], []
    for number, example in enumerate(examples):
        m = example.n_edus
        rows.append((number, -1, -1, 0))
        expected.append(encode_features(example, example.syntax.features_of_one(0, 0)))
        for top in range(m):
            for stop in range(top + 1, m + 1):
                if top == 0:
                    rows.append((number, -1, 0, stop))
                    expected.append(encode_features(example, example.syntax.features_of_one(0, stop)))
                for second in range(top):
                    rows.append((number, second, top, stop))
                    expected.append(encode_features(example, example.syntax.features(second, top, stop)))
    found = FeatureLookup(examples, torch.device("cpu")).features(*torch.tensor(rows).T)
    words, comparisons, deprels = zip(*expected, strict=True)
    assert torch.equal(found.words, torch.tensor(words))
    assert torch.equal(found.comparisons, torch.tensor(comparisons))
    assert torch.equal(found.deprels, torch.tensor(deprels))
    assert len(rows) > 300


def test_words_of_another_document_are_never_looked_up():
    """The first entry of all tables names a word that only the first document is long enough for."""
    long, short = random_example(14, 0), random_example(1, 2)
    head = long.syntax.edu_tokens[2] - 1
    syntax = replace(long.syntax, heads=[head] * len(long.token_words), sentences=[0] * 14)
    rows = torch.tensor([[0, -1, -1, 0], [1, -1, -1, 0], [1, -1, 0, 1], [0, 0, 1, 2]])
    found = FeatureLookup([replace(long, syntax=syntax), short], torch.device("cpu")).features(*rows.T)
    expected = [[NONE_ID] * 2] * 3 + [[int(long.token_words[0]), int(long.token_words[head])]]
    assert found.words[:, 6:].tolist() == expected
    assert head > len(short.token_words)
