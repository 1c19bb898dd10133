"""The parser as a library: every way in, streams, settings, warnings; its numbers against the network's own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from genrst import Document, Failure, Leaf, Parser, Unit
from genrst.document import SecondaryEdge, Signal, Span, Token
from genrst.errors import GenrstError, TreeError, UsageError
from genrst.parser.loading import load
from genrst.parser.parser import Text
from genrst.rnng.batch import derive, make_batch
from genrst.rnng.examples import prepare
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams, search_greedily
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.transitions.actions import tree_of
from tests.parser.samples import TEXT, check, load_like, rnng_finder, write_parser

EDUS = ["It rained,", "so we stayed in.", "Nobody was hurt."]


def own_logp(parser: Parser, document: Document) -> float:
    """What the network says about a tree when it sees all of it at once, as in training."""
    model = rnng_finder(parser).members[0].model
    example = prepare(document, model.symbols, document.tree)
    with torch.inference_mode():
        found = model.network(make_batch([example], [derive(example, model.symbols.nucleus_is_right)]))
    return float(found.actions.sum() + found.words.sum())


def test_a_text(parser: Parser):
    document = parser(TEXT)
    check(document, TEXT)
    assert (document.id, document.model) == ("text", "tiny")
    assert [TEXT[p.start : p.end].split()[0] for p in document.paragraphs] == ["Ferry", "The", "Until"]
    assert document.paragraphs[0].label == "head"
    assert len(document.edus) > len(document.sentences) > 3
    assert len(document.tokens) > 50
    assert {"nsubj", "advcl"} <= {token.deprel for token in document.tokens}
    assert document.log_probability == pytest.approx(own_logp(parser, document), abs=1e-3)
    assert parser(TEXT, id="ferry") == replace(document, id="ferry")


@pytest.mark.parametrize("kind", ["generative", "discriminative"])
@pytest.mark.parametrize("search", ["bag", "word", "action"])
def test_log_probabilities_are_the_networks_own(tmp_path: Path, kind: str, search: Any):
    parser = load(write_parser(tmp_path, kind=kind), search=search)
    for document in parser.kbest(TEXT, 3):
        assert document.log_probability == pytest.approx(own_logp(parser, document), abs=1e-3)


@pytest.mark.parametrize("options", [{"search": "greedy"}, {"word_weight": 0.0}])
def test_words_that_are_not_scored_leave_no_log_probability(tmp_path: Path, tiny: Path, options: dict[str, Any]):
    assert load(tiny, **options)(TEXT).log_probability is None
    discriminative = load(write_parser(tmp_path, kind="discriminative"), **options)
    document = discriminative(TEXT)
    assert document.log_probability == pytest.approx(own_logp(discriminative, document), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("word_weight", [0.5, 1.0])
def test_searches_are_those_of_the_library(tiny: Path, word_weight: float):
    document = load(tiny).segment(TEXT)
    model = rnng_finder(load(tiny)).members[0].model
    examples = [prepare(document, model.symbols)]

    def scorer() -> NetworkScorer:
        return NetworkScorer(model.network, examples, model.symbols.nucleus_is_right)

    expected = {
        "bag": search_beams(scorer(), BeamOptions(4, word_weight=word_weight))[0].parses[0],
        "action": search_beams(scorer(), BeamOptions(4, "action", word_weight=word_weight))[0].parses[0],
        "word": search_words(scorer(), WordOptions(4, word_weight=word_weight))[0].parses[0],
        "greedy": search_greedily(scorer())[0],
    }
    found = {
        search: load(tiny, search=search, word_weight=word_weight)(TEXT).tree  # type: ignore[arg-type]
        for search in expected
    }
    assert found == {
        search: tree_of(model.symbols.actions[action] for action in parse.actions) for search, parse in expected.items()
    }
    assert len(set(found.values())) > 1, "they differ, so that this tells them apart"


@pytest.mark.slow
def test_k_best_trees(parser: Parser, tiny: Path):
    assert parser.kbest(TEXT, 4)[0] == parser(TEXT)
    found = parser.kbest(TEXT, 7)
    assert found == load(tiny, beam=7).kbest(TEXT, 7), "the beam is as large as it must be"
    assert len({document.tree for document in found}) == 7
    assert len({replace(document, tree=None, log_probability=None) for document in found}) == 1
    joint = load_like(parser, word_weight=1.0).kbest(EDUS, 5)
    scores = [document.log_probability or 0 for document in joint]
    assert scores == sorted(scores, reverse=True)


def test_fewer_trees_than_asked_for(parser: Parser):
    assert len(parser.kbest(["Nobody was hurt."], 5)) == 1
    assert len(parser.kbest(EDUS[:2], 50)) == 5, "two EDUs and five labels"


def test_numbers_of_trees_that_make_no_sense(parser: Parser):
    for n in (0, -1):
        with pytest.raises(UsageError, match=f"at least 1, .* got {n}$"):
            parser.kbest(TEXT, n)
    with pytest.raises(UsageError, match="1 for greedy search, got 2"):
        load_like(parser, search="greedy").kbest(TEXT, 2)


def test_edus(parser: Parser):
    document = parser.parse_edus(EDUS, id="rain", paragraph_starts=[2])
    assert document.edu_texts == EDUS
    assert document.paragraph_of_edus() == [0, 0, 1]
    assert document.id == "rain"
    check(document, "It rained, so we stayed in.\n\nNobody was hurt.")
    assert document.log_probability == pytest.approx(own_logp(parser, document), abs=1e-3)
    assert parser.parse_edus(tuple(EDUS), paragraph_starts=[2]).tree == document.tree
    assert parser.kbest(EDUS, 1)[0] == parser.parse_edus(EDUS)


@pytest.mark.parametrize("edus", ["It rained", [], [1], ["a", None], None, ["a", " "], [""], {"a"}])
def test_edus_that_are_none(parser: Parser, edus: Any):
    with pytest.raises(GenrstError) as error:
        parser.parse_edus(edus)
    assert len(str(error.value).splitlines()) == 1


def test_documents_keep_what_they_know(parser: Parser):
    tree = Unit("span", "NS", (Leaf(0), Unit("list", "NN", (Leaf(1), Leaf(2)))))
    gold = replace(
        Document.from_edus("gold", EDUS, tree),
        sentences=(Span(0, 44),),
        signals=(Signal((0, 1), "dm", "but"),),
        secondary_edges=(SecondaryEdge((0, 1), (1, 2), "cause"),),
        metadata={"author": "nobody"},
    )
    document = parser.parse(gold)
    assert (document.id, document.text, document.edus) == (gold.id, gold.text, gold.edus)
    assert (document.sentences, document.metadata) == (gold.sentences, gold.metadata)
    assert (document.signals, document.secondary_edges) == ((), ()), "they belong to another tree"
    assert document.tree != tree
    assert parser.parse(replace(gold, tree=None)) == document
    tokens = tuple(Token(edu.start, edu.end, number, "old") for number, edu in enumerate(gold.edus))
    tokenised = parser.parse(replace(gold, tokens=tokens))
    assert [(t.start, t.end) for t in tokenised.tokens] == [(t.start, t.end) for t in tokens]
    assert not {token.deprel for token in tokenised.tokens} & {"old"}, "syntax is spaCy's, as in training"


def test_edus_of_documents_may_lie_anywhere(parser: Parser):
    """Without words in them, in the middle of one, or with words between them."""
    for spans in ([(0, 1), (1, 2), (2, 5)], [(0, 3), (3, 9)], [(6, 7), (20, 22), (22, 22)], [(0, 22)]):
        document = Document("odd", "a b  cdefg h, i jkl m.", tuple(Span(*span) for span in spans))
        parsed = parser.parse(document)
        assert parsed.edus == document.edus
        assert parsed.tree is not None
        assert parsed.tree.stop == len(spans)


@pytest.mark.parametrize("text", [None, "", " \n "])
def test_documents_without_words(parser: Parser, text: str | None):
    with pytest.raises(TreeError, match=r"^bare: the document (must have a text|has no words)"):
        parser.parse(Document("bare", text, (Span(0, 0),)))


def test_segmentation(parser: Parser):
    document = parser.segment(TEXT, id="ferry")
    assert document.tree is None
    assert document.id == "ferry"
    assert document == replace(parser(TEXT, id="ferry"), tree=None, log_probability=None, model=None)


ITEMS: list[Any] = [
    TEXT,
    "",
    EDUS,
    None,
    Text("rain", "It rained, so we stayed in."),
    Text("bare", " "),
    Document.from_edus("own", EDUS),
    Document("textless", None, (Span(0, 1),)),
    "Nobody was hurt.",
    ["a", ""],
    3.5,
    b"bytes",
    "a \ud800 b",
]


@pytest.mark.parametrize("batch_size", [1, 2, 5, 100])
def test_a_stream(parser: Parser, batch_size: int):
    found = list(parser.pipe(iter(ITEMS), batch_size))
    assert len(found) == len(ITEMS)
    for number, (item, outcome) in enumerate(zip(ITEMS, found, strict=True), start=1):
        assert outcome.id == getattr(item, "id", f"text-{number}")
        if isinstance(outcome, Failure):
            assert str(outcome.error).startswith(f"{outcome.id}: ")
            with pytest.raises(type(outcome.error)) as error:
                parser.kbest(item, 1)
            assert str(error.value).partition(": ")[2] == str(outcome.error).partition(": ")[2]
        else:
            (alone,) = parser.kbest(item, 1)
            assert (outcome.tree, outcome.edus) == (alone.tree, alone.edus)
            assert outcome.log_probability == pytest.approx(alone.log_probability, abs=1e-3)
    assert [outcome.id for outcome in found if isinstance(outcome, Failure)] == [
        "text-2", "text-4", "bare", "textless", "text-10", "text-11", "text-12",
    ]  # fmt: skip


def test_a_stream_is_read_as_it_is_wanted(parser: Parser):
    n_read = 0

    def endless() -> Iterator[str]:
        nonlocal n_read
        while True:
            n_read += 1
            yield "It rained."

    stream = parser.pipe(endless(), batch_size=3)
    assert n_read == 0
    next(stream)
    assert n_read == 3
    assert [next(stream).id for _ in range(3)] == ["text-2", "text-3", "text-4"]
    assert n_read == 6
    assert list(parser.pipe([])) == []
    with pytest.raises(UsageError, match="batch_size must be at least 1, got 0"):
        parser.pipe([], 0)
    with pytest.raises(UsageError, match="pipe takes an iterable of texts or documents, got a single one"):
        parser.pipe("It rained.")


def test_long_documents_are_searched_in_groups(parser: Parser, monkeypatch: pytest.MonkeyPatch):
    items: list[Any] = [EDUS, EDUS * 4, EDUS[:1], EDUS[:2], EDUS * 2]
    together = [one.tree for one in parser.pipe(items) if isinstance(one, Document)]
    sizes = []
    search = rnng_finder(parser).search

    def spy(examples: Any, *others: Any) -> Any:
        sizes.append([example.n_edus for example in examples[0]])
        return search(examples, *others)

    monkeypatch.setattr(parser.finder, "search", spy)
    monkeypatch.setattr("genrst.rnng.finder.MOST_EDUS", 6)
    assert [one.tree for one in parser.pipe(items) if isinstance(one, Document)] == together
    assert sizes == [[3], [12], [1, 2], [6]]


NO_MEMORY = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes."),
]


@pytest.mark.parametrize("error", NO_MEMORY, ids=lambda error: type(error).__name__)
def test_one_document_too_large_for_the_memory(parser: Parser, monkeypatch: pytest.MonkeyPatch, error: Exception):
    def fail(network: object, examples: Any, labels: object) -> NetworkScorer:
        if sum(example.n_edus for example in examples) > 5:
            raise error
        return NetworkScorer(network, examples, labels)  # type: ignore[arg-type]

    monkeypatch.setattr("genrst.rnng.finder.NetworkScorer", fail)
    first, second, third = parser.pipe([EDUS, EDUS * 3, EDUS])
    assert isinstance(first, Document)
    assert isinstance(second, Failure)
    assert str(second.error) == "text-2: not enough memory for 9 EDUs at once"
    assert second.error.__context__ is None, "it holds on to no memory"
    assert isinstance(third, Document)


def test_documents_by_spacy_are_not_annotated_again(parser: Parser, monkeypatch: pytest.MonkeyPatch):
    segmented = parser.segment(TEXT)
    expected = parser(TEXT).tree
    monkeypatch.setattr("genrst.rnng.finder.annotate", None)
    raw = replace(segmented, edus=(Span(0, len(TEXT)),))
    bad = replace(raw, tokens=(), id="bad")
    first, second, third = parser.parse_annotated([raw, bad, raw])
    assert isinstance(first, Document)
    assert isinstance(third, Document)
    assert first.tree == third.tree == expected
    assert first.edus == segmented.edus
    assert isinstance(second, Failure)
    assert parser.parse_annotated([]) == []


def test_lists_of_edus_or_of_nothing(parser: Parser):
    """A list is one text, also in a stream, and an empty one has one message everywhere."""
    empty = "must be a text, a list of EDUs or a Document, got an empty list; use Parser.pipe for several texts"
    for call in (parser, parser.segment, lambda item: parser.kbest(item, 2), parser.parse_edus):
        with pytest.raises(UsageError, match=f"text: the input {empty}"):
            call([])
    failure, document = parser.pipe([[], ["It rained,", "so we stayed."]])
    assert isinstance(failure, Failure)
    assert str(failure.error) == f"text-1: the input {empty}"
    assert isinstance(document, Document)
    assert document.edu_texts == ["It rained,", "so we stayed."]
    assert list(parser.pipe([])) == []
    with pytest.raises(UsageError, match=r"got a list with list; use Parser\.pipe for several inputs"):
        parser([["It rained,"], ["so we stayed."]])  # type: ignore[list-item]
