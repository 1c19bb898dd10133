from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import GenrstError, UsageError
from genrst.outputs.passages import reading_order
from genrst.outputs.summary import OMISSION, SummarySize, summary, summary_rows, summary_text
from genrst.trees.measures import importance
from genrst.trees.node import Leaf, Tree, Unit
from tests.outputs.samples import DEEP, FERRY, chain, ferry, one_edu, textless, wild_documents
from tests.strategies import documents

SHARES = st.integers(1, 100)


def ranking(document: Document) -> list[int]:
    assert document.tree is not None
    scores = importance(document.tree)
    return [edu for score in sorted(set(scores), reverse=True) for edu, other in enumerate(scores) if other == score]


def n_words(document: Document, edus: list[int]) -> int:
    return sum(len(document.edu_texts[edu].split()) for edu in edus)


@given(documents(), st.integers(1, 20))
def test_a_number_of_edus(document: Document, n_edus: int):
    assert summary(document, n_edus=n_edus) == sorted(ranking(document)[:n_edus])


@pytest.mark.slow
@given(documents(), SHARES)
def test_a_share_of_the_words(document: Document, percent: int):
    """As many sentences as fit, not one more, and at least one."""
    edus = summary(document, share=percent / 100)
    budget = Fraction(percent, 100) * n_words(document, list(range(len(document.edus))))
    order = reading_order(document)
    n_taken = next(n for n in range(len(order) + 1) if sum(map(len, order[:n])) == len(edus))
    assert edus == sorted(edu for sentence in order[:n_taken] for edu in sentence)
    assert n_taken == 1 or n_words(document, edus) <= budget
    more = [edu for sentence in order[: n_taken + 1] for edu in sentence]
    assert len(more) == len(edus) or n_words(document, more) > budget
    assert edus == summary(document, n_sentences=n_taken)


@given(wild_documents(), SHARES, SHARES)
def test_shorter_summaries_are_parts_of_longer_ones(document: Document, one: int, other: int):
    shorter, longer = (summary(document, share=percent / 100) for percent in sorted((one, other)))
    assert set(shorter) <= set(longer)


@given(documents(), SHARES)
def test_the_text_is_made_of_slices(document: Document, percent: int):
    """Runs of EDUs, which a space separates in these documents, are slices of the text."""
    edus = summary(document, share=percent / 100)
    starts = [edu for edu in edus if edu - 1 not in edus]
    stops = [edu for edu in edus if edu + 1 not in edus]
    assert document.text is not None
    slices = [
        document.text[document.edus[start].start : document.edus[stop].end]
        for start, stop in zip(starts, stops, strict=True)
    ]
    assert summary_text(document, share=percent / 100) == OMISSION.join(slices)


@given(wild_documents(), SHARES)
def test_rows_slice_the_text(document: Document, percent: int):
    assert document.text is not None
    rows = summary_rows(document, share=percent / 100)
    assert [row["edu"] for row in rows] == summary(document, share=percent / 100)
    for row in rows:
        assert document.text[row["start"] : row["end"]] == row["text"] == document.edu_texts[row["edu"]]


def test_an_example():
    document = ferry()
    assert summary(document, n_edus=3) == [0, 5, 7]
    assert summary_text(document, n_edus=3) == f"{FERRY[0]} … {FERRY[5]} … {FERRY[7]}"
    assert summary_text(document, n_edus=8) == document.text
    assert [row["importance"] for row in summary_rows(document, n_edus=3)] == [5, 4, 4]


def test_a_fifth_is_the_default():
    assert summary(ferry()) == summary(ferry(), share=0.2) == [0]


def test_edus_without_space_between_them_stay_together():
    document = Document(
        "chinese", "天黑了，我们回家吧。", (Span(0, 4), Span(4, 10)), Unit("joint", "NN", (Leaf(0), Leaf(1)))
    )
    assert summary_text(document, n_edus=2) == document.text


def test_a_count_of_one_s_own():
    assert summary(ferry(), share=0.5, count=len) != summary(ferry(), share=0.5, count=lambda text: 1)
    assert len(summary(ferry(), n_words=2, count=lambda text: 1)) == len(summary(ferry(), n_sentences=2))
    assert len(summary(ferry(), share=0.5, count=lambda text: 0)) == 8


def test_shares_are_exact():
    """As a float, 0.29 × 100 is less than 29."""
    tree = Unit("joint", "N" * 100, tuple(map(Leaf, range(100))))
    assert len(summary(Document.from_edus("list", ["Word."] * 100, tree), share=0.29)) == 29


def test_one_edu():
    assert summary(one_edu(), share=0.01) == [0]
    assert summary_text(one_edu()) == "All is well."


def test_without_text():
    document = textless(ferry())
    assert summary(document, n_edus=3) == [0, 5, 7]
    assert summary(document, n_sentences=3) == [0, 5, 7], "where sentences end is unknown"
    assert summary(document, n_words=-(-len(FERRY[0]) // 6)) == [0], "six characters are a word"
    assert len(summary(document, n_words=-(-len(FERRY[0]) // 6) + 8)) == 2
    assert [row["text"] for row in summary_rows(document, n_edus=2)] == [None, None]
    with pytest.raises(GenrstError, match="ferry: the document has offsets but no text"):
        summary_text(document)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEEP)
def test_deep_trees(kind: str):
    document = chain(2000, *DEEP[kind])
    assert len(summary(document, share=0.1)) == 200
    assert len(summary_text(document, n_edus=10).split()) >= 40


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"n_edus": 0}, "1 or more EDUs, got 0"),
        ({"n_sentences": 0}, "1 or more sentences, got 0"),
        ({"n_words": -1}, "1 or more words, got -1"),
        ({"share": 0.0}, "above 0 and at most 1, got 0.0"),
        ({"share": 1.1}, "at most 1, got 1.1"),
        ({"share": float("nan")}, "got nan"),
        ({"n_edus": 2, "share": 0.5}, r"one size, got 2 \(2 and 0.5\)"),
    ],
)
def test_wrong_sizes(size: SummarySize, message: str):
    with pytest.raises(UsageError, match=message):
        summary(ferry(), **size)


# What can be read alone.


def article(*edus: str, tree: Tree, paragraphs: tuple[Span, ...] = ()) -> Document:
    document = Document.from_edus("article", list(edus), tree, paragraph_starts=range(len(edus)))
    return replace(document, paragraphs=paragraphs or document.paragraphs)


def flat(n_edus: int) -> Unit:
    """A list, of which every item is as important as any other."""
    return Unit("joint", "N" * n_edus, tuple(map(Leaf, range(n_edus))))


def test_sentences_are_whole():
    """The second EDU is the most important one; alone it would be half a sentence."""
    why = Unit("cause", "SN", (Leaf(0), Leaf(1)))
    edus = ["Because it rained,", "we stayed in.", "Nobody minded."]
    document = Document.from_edus("rain", edus, Unit("x", "NS", (why, Leaf(2))))
    assert summary(document, n_edus=1) == [1]
    assert summary_text(document, n_sentences=1) == "Because it rained, we stayed in."


@pytest.mark.parametrize(
    "line",
    ["Ferry returns", "By Anna Reed, 12 May 2026", "Dear Tom,", "Best regards", "2 cups of flour", "Shopping list:"],
)
def test_what_is_no_sentence_is_left_out(line: str):
    document = article(line, "The ferry runs again.", tree=flat(2))
    assert summary_text(document, n_sentences=1) == "The ferry runs again."
    assert summary_text(document, n_sentences=1, everything=True) == line
    assert summary_text(article(line, tree=Leaf(0)), n_sentences=1) == line, "better than nothing"


@pytest.mark.parametrize(
    "line",
    [
        "Published 3 December 2025 · Updated 4 December 2025 · Bay",
        "Present: J. Abbot (Chair), R. Dunne, S. Malik, P. Yates and H. Green",
        "Recorded 3 June 2025.",
        "The Long Bench is produced by Kit Arden.",
        "Transcript edited for length.",
        "Thanks for sending the draft so early.",
        "Anna Reed, thank you very much.",
        "Do ponds warm faster than lakes under the same climate?",
        "The rent of the plot is reduced by one half if the tenant:",
    ],
)
def test_what_says_nothing_alone_is_left_out(line: str):
    document = article(line, "The ferry has been running again since Monday.", tree=Unit("x", "NS", (Leaf(0), Leaf(1))))
    assert summary(document) == [1]
    assert summary(document, everything=True) == [0]


def test_sentences_like_bylines_and_greetings_stay():
    edus = ("By 2020 the pier had been closed to all traffic.", "Dear friends of hers had asked for it for years.")
    assert summary(article(*edus, tree=flat(2)), share=1) == [0, 1]


def test_a_short_answer_needs_its_question():
    edus = ("How long does it take to get there?", "Three days.", "It may be more.", "Bring a warm coat and some tea.")
    document = Document.from_edus("faq", edus, Unit("x", "SNSS", tuple(map(Leaf, range(4)))))
    assert summary(document, share=1) == [3], "and what follows needs the answer"
    assert summary(document, n_sentences=1, everything=True) == [0]
    assert summary(document, share=1, everything=True) == [0, 1, 2, 3]


def test_names_of_speakers_do_not_count():
    edus = ("Ann: Is the ferry still in the harbour?", "Ben: Yes.", "Ann: Then I can still go to the island today.")
    document = article(*edus, tree=flat(3))
    turns = tuple(Span(edu.start, edu.end, "sp") for edu in document.edus)
    assert summary(replace(document, paragraphs=turns), share=1) == [2]


def test_references_and_quoted_mails_are_left_out():
    text = "Ponds warm faster than lakes.\n\n6. References\n\nReed, A. (2011). Warm water and its fish.\n"
    edus = ("Ponds warm faster than lakes.", "6. References", "Reed, A. (2011).", "Warm water and its fish.")
    spans = tuple(Span(text.index(edu), text.index(edu) + len(edu)) for edu in edus)
    heads = (Span(0, 29, "p"), Span(31, 44, "head"), Span(46, len(text) - 1, "p"))
    assert summary(Document("paper", text, spans, flat(4), paragraphs=heads), share=1) == [0]
    text = "From: Ann\n\nAnn wrote:\n> We meet at noon.\n\nI cannot come before one.\n"
    edus = ("From: Ann", "Ann wrote:", "We meet at noon.", "I cannot come before one.")
    spans = tuple(Span(text.index(edu), text.index(edu) + len(edu)) for edu in edus)
    blocks = (Span(0, 9, "header"), Span(11, 40, "p"), Span(42, len(text) - 1, "p"))
    assert summary(Document("mail", text, spans, flat(4), paragraphs=blocks), share=1) == [3]
    no_mail = (Span(0, 9, "p"), *blocks[1:])
    assert summary(Document("quote", text, spans, flat(4), paragraphs=no_mail), share=1) == [1, 2, 3]


def test_a_part_of_a_sentence_in_a_list_is_left_out():
    document = article("(c) took over the plot in July.", "The rent is due in May.", tree=flat(2))
    items = tuple(Span(edu.start, edu.end, "item") for edu in document.edus)
    assert summary(replace(document, paragraphs=items), share=1) == [1]


@pytest.mark.parametrize("label", ["head", "header", "code", "table", "signature"])
def test_paragraphs_without_prose_are_left_out(label: str):
    edus = ("This would be a sentence.", "The ferry runs again.")
    spans = (Span(0, len(edus[0]), label), Span(len(edus[0]) + 1, len(edus[0]) + 1 + len(edus[1]), "p"))
    document = article(*edus, tree=flat(2), paragraphs=spans)
    assert summary(document, n_sentences=1) == [1]
    assert summary(document, n_sentences=1, everything=True) == [0]


def test_a_sentence_that_needs_the_one_before_follows_it():
    """However central the second sentence is, nobody could tell what `this` is."""
    tree = Unit("cause", "SN", (Leaf(0), Unit("elaboration", "NS", (Leaf(1), Leaf(2)))))
    document = article("The pier fell.", "This stopped the ferry.", "Islanders protested.", tree=tree)
    assert summary(document, n_edus=1) == [1]
    assert [summary(document, n_sentences=n) for n in (1, 2, 3)] == [[0], [0, 1], [0, 1, 2]]


@given(wild_documents())
def test_every_sentence_has_its_turn(document: Document):
    order = reading_order(document, everything=True)
    assert sorted(edu for sentence in order for edu in sentence) == list(range(len(document.edus)))
