from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from genrst.rnng.transitions.features import NO_DOMINANCE, NOTHING, Comparison, Dominance, Features, Syntax

# "Acme closed plants [.] The CEO said [they lost money .]": EDUs 0 | 1 2, the last two share a sentence.
ACME = Syntax(
    heads=[1, 1, 1, 1, 5, 6, 6, 8, 6, 8, 6],
    deprels=[1, 0, 2, 3, 4, 1, 0, 1, 5, 2, 3],
    edu_tokens=[0, 4, 7, 11],
    sentences=[0, 1, 1],
    paragraphs=[0, 0, 0],
)


def test_features_by_hand():
    assert ACME.features(1, 2, 3) == Features(
        n_units=2,
        right_heads=(8, 10, NOTHING),
        left_heads=(6, NOTHING, NOTHING),
        sentence=Comparison.SAME,
        paragraph=Comparison.SAME,
        dominance=Dominance(word=8, head=6, deprel=5),
    )
    across = ACME.features(0, 1, 3)
    assert (across.sentence, across.dominance) == (Comparison.DIFFERENT, NO_DOMINANCE)
    assert ACME.features(0, 2, 3).sentence == Comparison.INCOMPARABLE


def test_a_short_stack():
    empty, one = ACME.features_of_one(0, 0), ACME.features_of_one(0, 1)
    assert (empty.n_units, one.n_units) == (0, 1)
    assert empty.right_heads == (NOTHING,) * 3
    assert one.right_heads == (1, NOTHING, NOTHING)
    assert one.sentence == one.paragraph == Comparison.NO_PAIR
    assert one.dominance == NO_DOMINANCE


@dataclass
class Case:
    syntax: Syntax
    start: int
    middle: int
    stop: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Sentences of several EDUs of several words, with heads anywhere in the sentence."""
    heads: list[int] = []
    edu_tokens, sentences, paragraphs = [0], [], []
    paragraph = 0
    for sentence in range(draw(st.integers(1, 4))):
        paragraph += draw(st.integers(0, 1))
        first = len(heads)
        sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        for size in sizes:
            edu_tokens.append(edu_tokens[-1] + size)
            sentences.append(sentence)
            paragraphs.append(paragraph)
        heads += draw(st.lists(st.integers(first, edu_tokens[-1] - 1), min_size=sum(sizes), max_size=sum(sizes)))
    n_edus = len(sentences)
    if n_edus == 1:
        edu_tokens, sentences, paragraphs, n_edus = [0, 1, len(heads) + 1], [0, 0], [paragraph] * 2, 2
        heads.append(0)
    points = draw(st.lists(st.integers(0, n_edus), min_size=3, max_size=3, unique=True).map(sorted))
    return Case(Syntax(heads, [head % 7 for head in heads], edu_tokens, sentences, paragraphs), *points)


def tokens(syntax: Syntax, start: int, stop: int) -> set[int]:
    return set(range(syntax.edu_tokens[start], syntax.edu_tokens[stop]))


@given(cases())
def test_head_words_by_definition(case):
    unit = tokens(case.syntax, case.start, case.stop)
    outside = [t for t in sorted(unit) if case.syntax.heads[t] not in unit or case.syntax.heads[t] == t]
    padded = [*outside[:3], NOTHING, NOTHING, NOTHING][:3]
    assert list(case.syntax.head_words(case.start, case.stop)) == padded


@given(cases())
def test_dominance_by_definition(case):
    syntax = case.syntax
    left, right = tokens(syntax, case.start, case.middle), tokens(syntax, case.middle, case.stop)
    arcs = [t for t in sorted(left | right) if syntax.heads[t] in (right if t in left else left)]
    expected = Dominance(arcs[0], syntax.heads[arcs[0]], syntax.deprels[arcs[0]]) if arcs else NO_DOMINANCE
    assert syntax.dominance(case.start, case.middle, case.stop) == expected


@given(cases())
def test_comparison_by_definition(case):
    features = case.syntax.features(case.start, case.middle, case.stop)
    for groups, found in (
        (case.syntax.sentences, features.sentence),
        (case.syntax.paragraphs, features.paragraph),
    ):
        left, right = set(groups[case.start : case.middle]), set(groups[case.middle : case.stop])
        if len(left) > 1 or len(right) > 1:
            assert found == Comparison.INCOMPARABLE
        else:
            assert found == (Comparison.SAME if left == right else Comparison.DIFFERENT)
