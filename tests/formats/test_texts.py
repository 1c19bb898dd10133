"""Files as people have them become plain text with their layout, and trees from there."""

import random
from io import BytesIO
from pathlib import Path

import pytest

import genrst
from genrst.errors import CorpusFormatError, GenrstError, MissingDependencyError
from genrst.formats.files import RAW_SUFFIXES
from genrst.formats.texts import FORMATS, read_text, text_of
from genrst.text.layout import paragraphs
from tests.seed import SEED

HTML = """<!DOCTYPE html><html><head><title>Ferries | Bay News</title></head><body>
<nav><a href="/">Home</a> <a href="/sport">Sport</a></nav><article><h1>The ferry returns</h1>
<p>The ferry runs again from <a href="/m">Monday</a>, because the new pier is finished at last.<br>
It took three years.</p>
<h2>Fares</h2><ul><li>Adults: £4</li><li>Children: £2<ul><li>under five: free</li></ul></li></ul>
<ol><li>Buy a ticket.</li><li>Board.</li></ol>
<blockquote><p>We waited for three years.</p><p>It was worth it.</p></blockquote>
<pre><code>GET /ferries
Accept: json</code></pre>
<table><tr><th>Day</th><th>First</th></tr><tr><td>Mon</td><td>6|10</td></tr></table>
<p>Although the crossing takes longer than before, fares &amp; times have not changed.</p></article>
<footer>We use cookies.</footer></body></html>"""
HTML_TEXT = """# The ferry returns

The ferry runs again from Monday, because the new pier is finished at last.
It took three years.

## Fares

- Adults: £4
- Children: £2
  - under five: free
1. Buy a ticket.
2. Board.

> We waited for three years.

> It was worth it.

```
GET /ferries
Accept: json
```

| Day | First |
| Mon | 6¦10 |

Although the crossing takes longer than before, fares & times have not changed.
"""
MARKDOWN = """---
title: ignored
---
# The *ferry* guide

It runs **daily**, [because](https://example.org) the pier
is `open`. <!-- not shown --> ![A ferry](ferry.png)

3. Buy a ticket.
4. Board:
   - bring a coat

> We waited.

```python
x = ["``"]
```

| Day | First |
|-----|-------|
| Mon | 06:10 |

<details>Fish &amp; chips</details>
"""
MARKDOWN_TEXT = """# The ferry guide

It runs daily, because the pier
is open.

3. Buy a ticket.
4. Board:
  - bring a coat

> We waited.

```
x = ["``"]
```

| Day | First |
| Mon | 06:10 |

Fish & chips
"""
MAIL = """From: Anna Reed <anna@example.org>
To: tom@example.org
Subject: =?utf-8?q?Caf=C3=A9_on_Monday?=
X-Spam: no
MIME-Version: 1.0
Content-Type: {}; charset="utf-8"

{}
"""


def pdf(*pages: list[tuple[str, int, int]]) -> bytes:
    """A PDF with these lines of text on each page: the text, its height on the page and the size of its letters."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        drawn = "\n".join(f"BT /F1 {size} Tf 72 {y} Td ({text}) Tj ET" for text, y, size in lines)
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
        content = len(objects)
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {fonts} /Contents {content} 0 R >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}{trailer}".encode("latin-1")


PDF = pdf(
    [
        ("Bay Review 12", 770, 9),
        ("The ferry returns", 740, 20),
        ("The ferry runs again from Monday, because the pier is fin-", 700, 11),
        ("ished. It is a well-known fact that bridges, although they", 687, 11),
        ("are faster, cost more.", 674, 11),
        ("- 1 -", 30, 9),
    ],
    [
        ("Bay Review 13", 770, 9),
        ("Nobody minds, since the view is good and well-", 740, 11),
        ("known.", 727, 11),
        ("Fares", 690, 14),
        ("1. Adults pay four pounds.", 670, 11),
        ("2. Children pay half.", 657, 11),
        ("- 2 -", 30, 9),
    ],
)
PDF_TEXT = """# The ferry returns

The ferry runs again from Monday, because the pier is finished. It is a well-known fact that bridges, although they \
are faster, cost more.

Nobody minds, since the view is good and well-known.

## Fares

1. Adults pay four pounds.
2. Children pay half.
"""


def docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("The ferry", 0)
    document.add_heading("Fares", 1)
    document.add_paragraph("Adults pay four pounds, because the pier was dear.")
    for style in ("List Bullet", "List Bullet", "List Number", "List Number", "Quote"):
        document.add_paragraph(style, style)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Mon", "06:10"
    out = BytesIO()
    document.save(out)
    return out.getvalue()


DOCX_TEXT = """# The ferry

# Fares

Adults pay four pounds, because the pier was dear.

- List Bullet
- List Bullet
1. List Number
2. List Number

> Quote

| Mon | 06:10 |
"""


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("page.html", HTML.encode(), HTML_TEXT),
        ("page.HTM", HTML.encode("utf-16"), HTML_TEXT),
        ("note.md", MARKDOWN.encode(), MARKDOWN_TEXT),
        ("paper.pdf", PDF, PDF_TEXT),
        ("report.docx", docx(), DOCX_TEXT),
        ("download", HTML.encode(), HTML_TEXT),
        ("stdin", PDF, PDF_TEXT),
        ("plain.txt", b"1 < 2\r\n", "1 < 2\n"),
    ],
)
def test_layout_is_kept(tmp_path: Path, name: str, content: bytes, expected: str):
    (tmp_path / name).write_bytes(content)
    assert read_text(tmp_path / name) == expected


FAQ = """<html><head><title>Heat pumps</title></head><body><div><ul><li><a href="/">Shop</a></li></ul></div>
<div class="content"><h2>Heat pumps</h2><dl><dt>How loud is it?</dt>
<dd>It makes about as much noise as a fridge, and five metres away you will hardly hear it at all.</dd>
<dt>Who looks after it?</dt>
<dd>Any engineer can service the pump. Have it checked once a year, or the warranty ends before its time.</dd></dl>
<p>Was this page helpful?</p></div></body></html>"""


def test_the_terms_of_definition_lists_are_headings():
    text = text_of(FAQ.encode(), Path("faq.html"))
    assert text.startswith("## Heat pumps\n\n### How loud is it?\n\nIt makes about as much noise"), "one title only"
    assert "\n\n### Who looks after it?\n\nAny engineer can service the pump. Have it checked" in text


def test_a_large_heading_of_several_lines_is_one():
    """Its lines are further apart than those of the paragraphs, as their letters are larger."""
    title = [("Small ponds warm faster than large", 700, 18), ("lakes in the north", 678, 18)]
    body = [(f"The water of the pond number {n} is warm in", 640 - 12 * n, 10) for n in range(6)]
    assert text_of(pdf(title + body), Path("a.pdf")).startswith(
        "# Small ponds warm faster than large lakes in the north\n\nThe water"
    )


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("text/plain", "Hi Tom,\n\nit rains.\n-- \nAnna", "Hi Tom,\n\nit rains.\n-- \nAnna"),
        ("text/html", "<p>Hi Tom,</p><p>it rains &amp; pours.</p>", "Hi Tom,\n\nit rains & pours."),
    ],
)
def test_mail_has_the_headers_that_people_read(kind: str, body: str, expected: str):
    text = text_of(MAIL.format(kind, body).encode(), Path("mail.eml"))
    assert text == f"From: Anna Reed <anna@example.org>\nTo: tom@example.org\nSubject: Café on Monday\n\n{expected}\n"
    assert [paragraph.label for paragraph in paragraphs(text)[:3]] == ["header"] * 3


def test_what_a_file_says_of_its_layout_is_found_again():
    labels = [paragraph.label for paragraph in paragraphs(HTML_TEXT)]
    assert labels == [*("head", "p", "head", "item", "item", "item", "item", "item", "p", "p", "code", "table", "p")]


@pytest.mark.parametrize("name", ["a.html", "a.pdf", "a.docx", "a.eml"])
def test_damage_is_an_error_or_a_text(name: str):
    """Whatever the libraries make of damaged bytes, users see one line."""
    mail = MAIL.format("text/html", HTML).encode()
    whole = {"a.html": HTML.encode(), "a.pdf": PDF, "a.docx": docx(), "a.eml": mail}[name]
    draw = random.Random(SEED)
    for _ in range(30):
        content = bytearray(whole[: draw.randrange(len(whole))] if draw.random() < 0.3 else whole)
        for _ in range(draw.randrange(1, 20)):
            if content:
                content[draw.randrange(len(content))] = draw.randrange(256)
        try:
            found = text_of(bytes(content), Path(name))
        except GenrstError as error:
            found = str(error)
            is_right = len(found.splitlines()) == 1
        else:
            is_right = bool(found.strip())
        assert is_right, found


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", PDF[:300], r"a\.pdf: the PDF file is damaged"),
        ("a.pdf", pdf([]), r"a\.pdf: the PDF has page images but no text"),
        ("a.docx", b"PK\x03\x04" + bytes(40), r"a\.docx: the Word file is damaged"),
        ("a.html", b"<html><body><img src=x></body></html>", r"a\.html: the HTML file has no text"),
        ("a.txt", b"\xd0\xcf\x11\xe0\xa1\xb1", r"a\.txt: the file is an old Office file; save it as \.docx"),
        ("a.rtf", b"{\\rtf1 x}", r"a\.rtf: the file is rich text"),
        ("a.txt", b"\x89PNG\r\n", r"a\.txt: the file is a picture"),
        ("a.md", b"PK\x03\x04zip", r"a\.md: the file is an archive"),
    ],
)
def test_what_cannot_be_read_says_what_it_is(name: str, content: bytes, message: str):
    with pytest.raises(CorpusFormatError, match=message):
        text_of(content, Path(name))


def test_a_small_file_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.formats.readers.word.MOST_BYTES", 1000)
    with pytest.raises(CorpusFormatError, match="unpacks to more than 0 MiB"):
        text_of(docx(), Path("a.docx"))


@pytest.mark.parametrize("name", ["page.html", "paper.pdf", "report.docx"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr("genrst.formats.texts.find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError, match=rf"{name}: .* files need the .files. extra: pip install 'genrst\[files\]'"
    ):
        text_of(PDF, Path(name))


def test_markdown_is_plain_text_without_the_library(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.formats.texts.find_spec", lambda name: None)
    assert text_of(MARKDOWN.encode(), Path("a.md")) == MARKDOWN


def test_every_verb_takes_every_format(tiny: Path, tmp_path: Path):
    from genrst.cli.main import main

    assert FORMATS.keys() < set(RAW_SUFFIXES)
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    mail = MAIL.format("text/plain", "It rains. So we stay in.").encode()
    for name, content in {"a.html": HTML.encode(), "b.pdf": PDF, "c.docx": docx(), "d.eml": mail}.items():
        (folder / name).write_bytes(content)
    assert main(["segment", str(folder), "--model", str(tiny), "--format", "json", "--output", str(out)]) == 0
    assert sorted(path.name for path in out.glob("*.json")) == ["a.json", "b.json", "c.json", "d.json"]
    assert genrst.read(out / "b.json").text == PDF_TEXT
