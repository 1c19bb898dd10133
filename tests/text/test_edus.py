"""What no EDU may be, whatever a network says: every token starts one here, and rules undo what is foolish."""

import re

import pytest

from genrst.document import Document, Span, Token
from genrst.text.raw import unsegmented, with_edus


def split(text: str, borders: str = r"[\s\S]") -> list[str]:
    """The EDUs of a raw text if one starts at every token that matches, and at every paragraph."""
    places = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    tokens = tuple(Token(start, end, number) for number, (start, end) in enumerate(places))
    document = unsegmented("text", text)
    sentences = tuple(Span(paragraph.start, paragraph.end) for paragraph in document.paragraphs)
    document = Document("text", text, document.edus, tokens=tokens, paragraphs=document.paragraphs, sentences=sentences)
    firsts = {paragraph.start for paragraph in document.paragraphs}
    starts = [token.start in firsts or bool(re.match(borders, text[token.start :])) for token in tokens]
    return with_edus(document, starts).edu_texts


EXAMPLES = {
    "a closing quote goes back": ('"No," she said.', '"No,"|she|said.'),
    "an opening bracket and a dash go on": ("Bread (rye) - or cake", "Bread|(rye)|- or|cake"),
    "signs at the end of a paragraph stay in it": ("Well …\n\n— yes", "Well …|— yes"),
    "emphasis stays with its word": ("It is.\n\n**Note** this", "It|is.|**Note**|this"),
    "marks of Markdown stand outside": ("# Title\n\n> Quote\n\n- one\n* two\n• three", "Title|Quote|one|two|three"),
    "so do rules and underlines": ("Title\n=====\n\nYes\n\n---\n\nNo\n\n```\nx\n```", "Title|Yes|No|x"),
    "a number belongs to its heading": ("## 2.3 Bread\n\nYes", "2.3 Bread|Yes"),
    "with a word before it": ("Chapter 4. Bread\n\nYes", "Chapter 4. Bread|Yes"),
    "a number or box belongs to its item": ("1. Mix it\n2. Wait\n\n- [x] done", "1. Mix|it|2. Wait|[x] done"),
    "a time belongs to what follows": ("[00:12] Well then\n[00:14] No", "[00:12] Well|then|[00:14] No"),
    "as in subtitles": (
        "1\n00:00:01,000 --> 00:00:04,000\nWell then",
        "1\n00:00:01,000 --> 00:00:04,000\nWell|then",
    ),
    "so does a name": ("[00:12] Ann: Well then\n\nBob:\nNo way", "[00:12] Ann: Well|then|Bob:\nNo|way"),
    "code is one, without its fence": ("Do:\n\n```sh\ncd a\n\nls b\n```\n\nYes", "Do:|cd a\n\nls b|Yes"),
    "and so is a table": ("Do\n| a | b |\n|---|---|\n| c | d |\nYes", "Do|| a | b |\n|---|---|\n| c | d ||Yes"),
    "each line at the top of an e-mail": (
        "From: Ann Lee <ann@lee.org>\nSubject: Re: the boat\n\nHi\n\n-- \nAnn Lee\nthe harbour",
        "From: Ann Lee <ann@lee.org>|Subject: Re: the boat|Hi|Ann Lee\nthe harbour",
    ),
    "in chats, too": (
        "10:15 AM Ann Lee\nWell then\n\nBob Ray 10:16\nNo",
        "10:15 AM Ann Lee\nWell|then|Bob Ray 10:16\nNo",
    ),
}


@pytest.mark.parametrize(("text", "edus"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_edus_that_look_like_some(text: str, edus: str):
    assert "|".join(split(text)) == edus


@pytest.mark.parametrize("text", ["---", "# ", "- - -\n\n***", "!?", "…\n\n…"])
def test_a_text_without_words_is_one_edu(text: str):
    assert len(split(text)) == 1


def test_a_number_in_running_text_belongs_to_what_follows():
    assert split("First, we came; (2) we left.", r"\(|we left") == ["First, we came;", "(2) we left."]
    assert split("We came, as they say (b)", r"\(|as") == ["We came,", "as they say (b)"]
    assert split("We came in (1999)", r"\(") == ["We came in", "(1999)"]


def test_times_and_dashes_in_prose_are_words():
    assert split("We met at 10:30 today\nand left at\n11:30 - late.", "and") == [
        "We met at 10:30 today",
        "and left at\n11:30 - late.",
    ]


def test_laughter_belongs_to_what_is_said_beside_it():
    text = "Ann: Why?\n\nBob: [laughs] Because.\n\nAnn: [laughs]"
    assert split(text, r"\[|Because") == ["Ann: Why?", "Bob: [laughs] Because.", "Ann: [laughs]"]
