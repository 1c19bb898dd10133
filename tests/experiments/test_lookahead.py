"""What syntax tells about words to come: against cases that can be seen by eye."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.lookahead.run import Reading, compare, main, prefix, states
from genrst.document import Document, Span, Token
from genrst.trees.node import Leaf, Unit
from tests.miniatures import write_gum
from tests.parser.samples import PIPELINE

TREE = Unit("a", "NN", (Leaf(0), Unit("b", "NS", (Leaf(1), Leaf(2)))))
EDUS = ["He said", "it rained", "all day."]


def document() -> Document:
    """One sentence, in which every word hangs on the second."""
    plain = Document.from_edus("rain", EDUS, TREE)
    text = plain.text or ""
    places = [(text.index(word), word) for word in text.split()]
    tokens = tuple(Token(start, start + len(word), 1, "dep") for start, word in places)
    return replace(plain, tokens=tokens, sentences=(Span(0, len(text)),), paragraphs=(Span(0, len(text)),))


def test_states_are_those_after_each_action():
    assert list(states(TREE)) == [((0,), 1), ((0, 1), 2), ((1, 2), 3), ((0, 1), 3), ((0,), 3)]


def test_a_prefix_ends_with_its_edu():
    cut = prefix(document(), 2)
    assert (cut.text, cut.edu_texts) == ("He said it rained", EDUS[:2])
    assert [token.head for token in cut.tokens] == [0, 1, 2, 3]
    assert (cut.sentences, cut.paragraphs) == ((Span(0, 17),), (Span(0, 17),))


def test_only_what_changes_is_counted():
    whole = document()
    honest = [replace(prefix(whole, n), tokens=whole.tokens[: 2 * n]) for n in (1, 2, 3)]
    assert compare(TREE, [Reading(one) for one in honest]) == {
        "states": 5,
        "change": 0,
        "heads": 0,
        "dominance": 0,
        "inside": 2,
    }
    # Before "all day." came, "rained" was the head of "it".
    first, second = whole.tokens[:2], (replace(whole.tokens[2], head=3), whole.tokens[3])
    honest[1] = replace(honest[1], tokens=(*first, *second))
    changed = compare(TREE, [Reading(one) for one in honest])
    assert (changed["change"], changed["heads"], changed["dominance"]) == (1, 1, 1)


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    main([str(write_gum(tmp_path / "gum")), "--split", "test", "--pipeline", PIPELINE])
    row = json.loads(capsys.readouterr().out)
    assert row["states"] > 0
    assert 0 <= row["heads"] <= row["change"] <= 100
