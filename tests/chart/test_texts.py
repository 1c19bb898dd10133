"""Charts that read texts themselves: EDUs and sentences from the states of word pieces."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.chart.finder import ChartFinder
from genrst.chart.scorer import Scorer
from genrst.chart.texts import EncoderCache, encode_texts
from genrst.document import Document, Token
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.text.raw import unsegmented
from genrst.trees.constraints import Constraint, frozen
from genrst.trees.node import Unit, units
from tests.parser.samples import FINE, TEXT, check, write_reading_chart


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    return load(write_reading_chart(tmp_path_factory.mktemp("models") / "reader"), device="cpu")


@pytest.fixture(scope="module")
def document(parser: Parser) -> Document:
    return parser(TEXT)


def test_a_text_is_read_without_spacy(parser: Parser, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    document = parser(TEXT)
    check(document, TEXT)
    assert document.is_segmented
    assert not document.tokens
    assert 3 < len(document.edus) < 60, "it has opinions"
    assert parser.segment(TEXT).edus == document.edus


def test_edus_and_sentences_start_with_words(document: Document):
    for edu in document.edus[1:]:
        assert not TEXT[edu.start - 1 : edu.start + 1].isalpha(), "no word is cut"
    starts = [sentence.start for sentence in document.sentences]
    assert {paragraph.start for paragraph in document.paragraphs} <= set(starts)
    assert set(starts) <= {edu.start for edu in document.edus}


def test_a_text_is_read_once_or_twice_with_the_same_tree(parser: Parser, document: Document):
    """What is found in a text, and then given with it, is parsed alike."""
    again = parser.parse(replace(document, tree=None))
    assert again.edus == document.edus
    assert again.tree == document.tree
    for one, other in zip(units(again.tree), units(document.tree), strict=True):  # type: ignore[arg-type]
        assert one.probability == pytest.approx(other.probability, abs=1e-4)


def test_sentences_of_given_edus_are_found(parser: Parser):
    found = parser.parse_edus(["It rained", "and stopped .", "Nobody was hurt ."])
    assert found.sentences
    assert {sentence.start for sentence in found.sentences} <= {edu.start for edu in found.edus}


def test_texts_together_are_read_like_texts_alone(parser: Parser, document: Document):
    found = list(parser.pipe(["It rained.", TEXT, "Nobody was hurt, and the ferry stopped."]))
    assert isinstance(found[1], Document)
    assert found[1].edus == document.edus
    assert found[1].tree == document.tree


def test_tokens_and_sentences_of_others_are_kept(parser: Parser):
    """EDUs start with tokens; a hyphen inside one is no border."""
    text = "The mail-boat stopped ."
    tokens = tuple(Token(start, end, 0) for start, end in [(0, 3), (4, 13), (14, 21), (22, 23)])
    given = replace(unsegmented("boat", text), tokens=tokens, sentences=unsegmented("boat", text).edus)
    (found,) = parser.parse_annotated([given])
    assert isinstance(found, Document)
    assert {edu.start for edu in found.edus} <= {token.start for token in tokens}
    assert found.sentences == given.sentences
    assert found.tokens == tokens


def test_names_of_speakers_and_bullets_are_no_units(parser: Parser):
    text = "Ann: It rained, and it rained.\n\nBob: It did.\n\nAnn: We saw:\n\n- rain\n- a storm"
    document = parser.segment(text)
    texts = document.edu_texts
    assert not {"Ann:", "Bob:", "Ann", "Bob"} & set(texts)
    assert not any(edu.startswith("-") for edu in texts)
    assert {sentence.label for sentence in document.sentences} >= {"Ann", "Bob"}
    assert parser(text).tree is not None


PARTS = ["ferry", "3", ".", '"', "—", " ", " ", "\n\n", "é", "🙂", "\u200b", "\ud800"]


@pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")
@given(st.lists(st.sampled_from(PARTS), min_size=1))
def test_every_edu_has_words_and_no_word_is_lost(parser: Parser, parts: list[str]):
    text = "".join([*parts, " x"])
    document = parser(text)
    assert all(any(map(str.isalnum, edu)) for edu in document.edu_texts)
    end = 0
    for edu in document.edus:
        assert not any(map(str.isalnum, text[end : edu.start]))
        end = edu.end
    assert not any(map(str.isalnum, text[end:]))
    assert document.tree is not None


def test_the_distribution_has_the_segmented_document(parser: Parser, document: Document):
    distribution = parser.distribution(TEXT)
    assert distribution.document.edus == document.edus
    assert distribution.mbr()[0] == document.tree


def test_a_copy_segments_alike(parser: Parser, tmp_path: Path):
    parser.save(tmp_path / "copy")
    assert load(tmp_path / "copy", device="cpu").segment(TEXT).edus == parser.segment(TEXT).edus


def test_a_text_is_read_once(parser: Parser, document: Document, monkeypatch: pytest.MonkeyPatch):
    """Whoever corrects a tree does not wait for the encoder again."""
    assert isinstance(parser.finder, ChartFinder)
    assert parser.folder is not None
    wanted = [Constraint(0, 2, is_unit=False)]
    expected = load(parser.folder, device="cpu").parse(document, wanted)
    parser(TEXT)
    monkeypatch.setattr(parser.finder.scorers[0][0], "read", None)
    found = parser.parse(document, wanted)
    assert found.tree == expected.tree
    assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
    with pytest.raises(TypeError):
        parser("It rained, and nobody had read of it before.")


def test_little_of_a_long_text_is_worked_on_at_once(
    parser: Parser, document: Document, monkeypatch: pytest.MonkeyPatch
):
    text = f"* {TEXT}"  # with a sign outside of all EDUs
    expected = parser(text)
    for name in ("texts.MOST_POOLED", "texts.MOST_SEGMENTED", "scoring.MOST_SPANS"):
        monkeypatch.setattr(f"genrst.chart.{name}", 2)
    for raw, before in ((TEXT, document), (text, expected)):
        found = parser(raw)
        assert (found.edus, found.sentences, found.tree) == (before.edus, before.sentences, before.tree)
        assert found.log_probability == pytest.approx(before.log_probability, abs=1e-3)


def test_old_texts_are_forgotten():
    cache = EncoderCache()
    cache.most_pieces = 10
    texts = {n: np.arange(n) for n in (4, 5, 6, 11)}
    for n, pieces in texts.items():
        cache.add(pieces, np.full((n, 2), n))
    found = {n: cache.get(pieces) for n, pieces in texts.items()}
    assert {n for n, states in found.items() if states is not None} == {6}, "4 and 5 are old, 11 is too long"
    assert found[6].tolist() == [[6, 6]] * 6  # type: ignore[union-attr]


class CountingScorer:
    """A scorer that says it is elsewhere, and notes how many texts it reads at once."""

    def __init__(self, scorer: Scorer, device: str) -> None:
        self._scorer, self.device, self.counts = scorer, device, list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scorer, name)

    def read(self, texts: Sequence[Any]) -> list[Any]:
        self.counts.append(len(texts))
        return self._scorer.read(texts)


@pytest.mark.parametrize(("device", "counts"), [("cpu", [1, 1]), ("cuda", [1, 2])])
def test_batches_do_not_depend_on_what_is_known(parser: Parser, device: str, counts: list[int]):
    """Unless it makes no difference."""
    assert isinstance(parser.finder, ChartFinder)
    scorer, cache = CountingScorer(parser.finder.scorers[0][0], device), EncoderCache()
    documents = [unsegmented(text, text) for text in (TEXT, "It rained.")]
    for some in (documents[:1], documents):
        encode_texts(scorer, some, cache)
    assert scorer.counts == counts


# Finer relations


def test_relations_are_as_fine_as_can_be(parser: Parser, document: Document):
    assert parser.folder is not None
    other = load(parser.folder, device="cpu", relations="coarse")(TEXT)
    assert document.tree is not None
    assert other.tree is not None
    names = dict(FINE)
    fine, coarse = ({unit.relation for unit in units(tree)} for tree in (document.tree, other.tree))
    assert fine & names.keys()
    assert not fine & set(names.values())
    assert coarse & set(names.values())
    assert not coarse & names.keys()
    assert parser.distribution(TEXT).log_probability(document.tree) == pytest.approx(document.log_probability, abs=1e-3)


def test_a_class_is_as_probable_as_its_relations_together(parser: Parser):
    assert parser.folder is not None
    fine = parser.distribution(TEXT)
    coarse = load(parser.folder, device="cpu", relations="coarse").distribution(TEXT)
    spans = [(start, stop) for start in range(9) for stop in range(start + 2, 10) if fine.probability(start, stop) > 0]
    assert len(spans) > 5
    for span in spans:
        assert fine.probability(*span) == pytest.approx(coarse.probability(*span), abs=1e-5)
        sums: dict[tuple[str, str], float] = {}
        for (relation, nuclearity), p in fine.label_probabilities(*span).items():
            group = dict(FINE).get(relation, relation), nuclearity
            sums[group] = sums.get(group, 0.0) + p
        assert sum(sums.values()) == pytest.approx(1, abs=1e-4), "also where a unit is most unlikely"
        assert coarse.label_probabilities(*span) == pytest.approx(sums, abs=1e-4)


def test_a_constraint_can_name_a_fine_relation(parser: Parser, document: Document):
    for relation in ("causal-cause", "causal-result"):
        wanted = Constraint(0, len(document.edus), True, relation, "NS")
        tree = parser.parse(document, [wanted]).tree
        assert isinstance(tree, Unit)
        assert (tree.relation, tree.nuclearity) == (relation, "NS")
    assert isinstance(tree, Unit)
    again = parser.parse(document, [*frozen(tree)]).tree
    assert again == tree
