"""Paragraphs: what holds of every text, then each rule."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.text.layout import TITLE_WORDS, WHOLE, WRAPPED_WORDS, content_start, ends_sentence, paragraphs
from tests.text.hostile import texts

LONG = "The ferry " + "sailed and " * WRAPPED_WORDS + "sank."


def parts(text: str) -> list[tuple[str, str]]:
    return [(span.label, text[span.start : span.end]) for span in paragraphs(text)]


@given(texts)
def test_paragraphs_hold_every_visible_character_once(text: str):
    found = parts(text)
    assert "".join("".join(part.split()) for _, part in found) == "".join(text.split())
    assert all(left.end <= right.start for left, right in pairwise(paragraphs(text)))
    assert all(part == part.strip() and part for _, part in found)
    assert {label for label, _ in found} <= {"p", "head", "item", "sp", *WHOLE}


@given(
    st.lists(texts, max_size=4), st.sampled_from(["\n\n", "\r\n\r\n", "\r\r", "\n\f\n", "\u2029", "\n \t\u00a0\n\n\n"])
)
def test_no_paragraph_crosses_a_blank_line(texts: list[str], gap: str):
    lines = [" ".join(text.split()) for text in texts]
    assert [part for _, part in parts(gap.join(lines))] == [line for line in lines if line]


@given(
    st.lists(
        st.sampled_from(["", "- a", "1. b", "Title", "===", "# H", "prose, and", "A line.", "Q: A?", LONG]), max_size=8
    )
)
def test_all_line_ends_are_alike(lines: list[str]):
    expected = [(label, part.split("\n")) for label, part in parts("\n".join(lines))]
    for end in ("\r\n", "\r", "\u2028", "\f", " \t\n  "):
        assert [(label, part.split(end)) for label, part in parts(end.join(lines))] == expected


@pytest.mark.parametrize("text", ["", " ", "\n" * 9, "\t\u00a0\f"])
def test_no_paragraphs(text: str):
    assert paragraphs(text) == ()


EXAMPLES = {
    "hard-wrapped prose is one paragraph": "p:The ferry stopped.|It was old, and|nobody paid.",
    "a poem is one paragraph": "p:The ferry sleeps,|the harbour weeps.|No wind, no sail|- a winter's tale",
    "numbers start wrapped lines, too": "p:It all began in|12. The year was over, or|1986. Nobody knows.",
    "Markdown headings need no blank line": "head:# The ferry;p:It stopped.;head:### Why #;p:Who knows?",
    "hash tags are no headings": "p:#ferry #storm|#rain",
    "nor are long lines": "p:# " + "word " * WRAPPED_WORDS + "end",
    "underlined headings": "head:The ferry stopped!|==;head:Why|---;p:It was old.|Who knows?",
    "a rule is a paragraph": "p:It stopped, as it|always did.;p:---;p:So it goes.;p:* * *",
    "items need no blank line": "p:We need:;item:- milk;item:- eggs;item:* tea",
    "nor a colon": "p:Shopping list;item:- milk;item:- eggs",
    "items go on": "item:- milk,|  if there is any|and cream;item:  - none;item:+ eggs",
    "numbered items": "item:1. Go.;item:2. Stay.;item:10) Run.;item:(a) Walk.;item:b) Swim.;item:iv) Fly.",
    "all bullets": "item:• a;item:‣ b;item:◦ c;item:▪ d;item:·\u00a0e;item:☐ f;item:✓ g",
    "dashes among items": "p:Bring:;item:• butter (unsalted);item:– milk, if there|is any;item:– eggs",
    "several dashes": "item:– milk;item:— eggs",
    "dashes below a colon": "p:We need, as|– I said –:;item:– milk;item:– eggs",
    "but not in wrapped prose": "p:The ferry|– it was old –|and the pier|– old as well –|sank.",
    "a list may start anywhere": "item:7. Go.;item:9. Stay.",
    "but not inside prose": "p:This was in chapter|7. Go.|9. Stay.",
    "initials, dashes and bold words are no items": "p:A. Smith left.|– So what?|**Bold** words|-5 degrees|1.5 km",
    "long lines are paragraphs": f"p:{LONG};p:It was old.;p:“Why?”;p:{LONG}",
    "headings among long lines": f"head:The ferry;p:{LONG};head:What came next;p:{LONG};p:The author",
    "code keeps its lines": "p:Run this:;code:```sh|ls||# all|```;p:And wait.",
    "other fences may be inside": "code:~~~|```|~~~;p:And wait.",
    "a fence that is never closed": "p:```sh|ls",
    "numbered headings": "p:Terms of the club.;;head:1. Rent;;p:1.1 The rent is due.;;head:2. Use;;p:2.1 Use it.",
    "items with blank lines": "p:Do this.;;item:1. Buy milk;;item:2. Go home;;p:And rest.",
    "numbered sentences": "p:Do this.;;item:1. Buy milk.;;p:And rest.",
    "a signature": "p:Yours, Ann;signature:--|Ann Lee|- the harbour",
    "long lines that go on": f"p:{LONG[:-5]}|and sank,|slowly.",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_rules(name: str):
    """`;` and `|` are single line ends, with and without a paragraph's end."""
    expected = [(*part.split(":", 1), "")[:2] for part in EXAMPLES[name].replace("|", "\n").split(";")]
    text = "\n".join(part for _, part in expected)
    assert parts(text) == [(label, part.strip()) for label, part in expected if part]


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("The ferry", "head"),
        ("1.1 What happened", "head"),
        ("The “ferry”", "head"),
        (" ".join(["word"] * TITLE_WORDS), "head"),
        (" ".join(["word"] * (TITLE_WORDS + 1)), "p"),
        ("What happened?", "p"),
        ("It stopped.", "p"),
        ("“It stopped.”", "p"),
        ("Dear Mary,", "p"),
        ("By Dana Reyes", "p"),
        ("Published in May", "p"),
        ("Monday, 3 November 2025", "p"),
        ("May 3, 2025", "p"),
        ("14 November 2025, 09:12 GMT", "p"),
        ("By and large", "head"),
        ("She said:", "p"),
        ("But I —", "p"),
        ("* * *", "p"),
        ("12 / 3", "p"),
        ("- The ferry", "item"),
        ("The ferry\nof the island", "p"),
    ],
)
def test_headings_without_markup(line: str, label: str):
    """They stand alone, and something stands below them."""
    assert parts(f"{line}\n\nIt stopped.\n\n{line}\n\nIt sank.")[::2] == [(label, line)] * 2
    assert parts(f"It stopped.\n\n{line}")[-1] == ("p" if label == "head" else label, line)
    assert parts(f"# {line}")[0][0] == "head"


@pytest.mark.parametrize(
    ("mark", "rest"),
    [
        ("2.1 ", "The tenant pays."),
        ("3.10.2. ", "“Plot” means land."),
        ("TARROW — ", "The bridge is shut."),
        ("NEW YORK, Texas (AP) - ", "The bridge is shut."),
        ("", "1.5 million people saw it."),
        ("", "IBM sold it — and left."),
        ("", "Tarrow — a town — is shut."),
    ],
)
def test_numbers_of_clauses_and_datelines_are_no_content(mark: str, rest: str):
    text = f"{mark}{rest}"
    assert content_start(text, paragraphs(text)[0]) == len(mark)


def test_tables_need_no_blank_line():
    table = "| tea | 2 |\n|---|---|\n| cake | 3 |"
    assert parts(f"Prices:\n{table}\nWe take cash.") == [("p", "Prices:"), ("table", table), ("p", "We take cash.")]
    assert parts("|x, the\nabsolute value") == [("p", "|x, the\nabsolute value")]


E_MAIL = "From: Ann Lee\nTo: Bob\nSubject: Re: the boat"


@pytest.mark.parametrize("text", [E_MAIL, "Subject: the boat", "RE: the boat", "Date: today\nX-Spam: no\nFrom: Ann"])
def test_the_top_of_an_e_mail(text: str):
    expected = [("header", line) for line in text.split("\n")]
    assert parts(f"{text}\n\nHi Bob,\n\nit sank.")[:-2] == expected


@pytest.mark.parametrize("text", [E_MAIL.replace("\n", "\n\n"), f"Dear all\n{E_MAIL}", "Re: this is a sentence."])
def test_what_is_no_top_of_an_e_mail(text: str):
    assert "header" not in dict(parts(f"{text}\n\nHi Bob,"))


def test_an_e_mail_without_a_body():
    assert "header" not in dict(parts(E_MAIL))


@pytest.mark.parametrize(
    ("text", "ends"), [("a.", True), ('a?"', True), ("(a!)", True), ("a:", True), ("a,", False), ("", False)]
)
def test_ends_of_sentences(text: str, ends: bool):
    assert ends_sentence(text) is ends


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["a", " ", "\n", "\r\n", "- ", "#", "=", ". ", "1", "- a\n", "x\n\n", "x\u00a0", "* * -", "A: b.\n", "A a ", "(A)"],
)
def test_a_megabyte_takes_no_time(unit: str):
    """Twenty times as much as measured; what backtracks would take hours."""
    text = "x\n" + unit * (1_000_000 // len(unit)) + "\nx"
    start = time.process_time()
    paragraphs(text)
    assert time.process_time() - start < 40
