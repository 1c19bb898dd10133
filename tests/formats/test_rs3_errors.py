"""Files that cannot be read: what the error says, with which line, and that it comes soon."""

import time

import pytest

from genrst.errors import CorpusFormatError
from genrst.formats.rs3_reader import read_rs3
from tests.formats.rs3_files import PATH, group, read, rs3, segment

STRUCTURE = {
    "several roots": (
        [segment(1, 4, "span"), segment(2, 1, "elaboration"), segment(3), group(4, "span")],
        7,
        "a tree must have one root, got 2 unattached units: nodes 3, 4; "
        '--roots join (in Python roots="join") joins them',
    ),
    "dangling parent": (
        [segment(1), segment(2, 7, "elaboration")],
        5,
        "the parent of node 2 does not exist: '7'",
    ),
    "cycle beside a root": (
        [segment(1), segment(2, 3, "list"), group(3, "span", 4, "span"), group(4, "span", 3, "span")],
        6,
        "parents must not form a cycle, got node 3 → 4 → 3",
    ),
    "cycle of segments": (
        [segment(1, 2, "elaboration"), segment(2, 1, "elaboration")],
        4,
        "parents must not form a cycle, got node 1 → 2 → 1",
    ),
    "segment that is its own parent": (
        [segment(1), segment(2, 2, "elaboration")],
        5,
        "parents must not form a cycle, got node 2 → 2",
    ),
    "interleaved units": (
        [
            *(segment(edu, 5 + edu % 2, "list") for edu in range(1, 5)),
            *(group(5, "multinuc", 7, "list"), group(6, "multinuc", 7, "list"), group(7, "multinuc")),
        ],
        7,
        "units must not interleave or leave gaps, got node 2 (EDUs 1–1) followed by node 4 (EDUs 3–3)",
    ),
    "satellite beyond another unit": (
        [
            *(segment(1, 4, "span"), segment(2, 5, "elaboration"), segment(3, 1, "elaboration")),
            *(group(4, "span", 5, "span"), group(5, "span")),
        ],
        6,
        "units must not interleave or leave gaps, got node 1 (EDUs 0–0) followed by node 3 (EDUs 2–2)",
    ),
    "same id, different content": (
        [segment(1), segment(2, 1, "elaboration"), segment(2, 1, "elaboration", "other")],
        6,
        "ids must be unique, but node 2 is also in line 5",
    ),
    "segment and group with the same id": (
        [segment(1, 2, "span"), segment(2, 1, "elaboration"), group(2, "span")],
        6,
        "ids must be unique, but node 2 is also in line 5",
    ),
    "span group without nucleus": (
        [segment(1, 3, "elaboration"), segment(2, 3, "elaboration"), group(3, "span")],
        6,
        "a span group must contain a nucleus, but node 3 has none",
    ),
    "nucleus of a segment": (
        [segment(1), segment(2, 1, "span")],
        5,
        "a segment must not contain a nucleus, got node 2 with relname span under node 1",
    ),
    "unknown type": ([segment(1), group(2, "tree")], 5, "the type of a group must be span or multinuc, got tree"),
    "no type": ([segment(1), '<group id="2"/>'], 5, "the type of a group must be span or multinuc, got None"),
    "no id": (["<segment>text</segment>"], 4, "this segment has no id"),
    "no segment": ([group(1, "span")], 3, "the <body> must have at least one <segment>"),
    "segment elsewhere": (
        [segment(1), "<part>", segment(2), "</part>"],
        6,
        "a segment must be in the <body>, got one in <part>",
    ),
    "element in a segment": ([segment(1, text="a <b>c</b>")], 4, "a segment may hold only text, got <b>"),
    "text outside segments": ([segment(1), "<part>lost</part>"], 5, "text must be inside a segment, got 'lost'"),
}


@pytest.mark.parametrize(("body", "line", "message"), STRUCTURE.values(), ids=STRUCTURE.keys())
def test_structure(body: list[str], line: int, message: str):
    with pytest.raises(CorpusFormatError) as error:
        read(*body)
    assert str(error.value) == f"{PATH}:{line}: {message}"


XML = {
    "no body": (b"<rst><header/></rst>", None, "the file has no <body>"),
    "empty": (b"", 1, "the XML is not well-formed: no element found"),
    "unclosed": (rs3("<segment id='1'>"), 5, "the XML is not well-formed: mismatched tag"),
    "cut off": (rs3(segment(1))[:-10], 5, "the XML is not well-formed: unclosed token"),
    "attribute twice": (rs3('<group id="1" id="2"/>'), 4, "the XML is not well-formed: duplicate attribute"),
    "text after the end": (b"<rst/>\nmore", 2, "the XML is not well-formed: junk after document element"),
    "control character": (
        rs3("<!-- -->", segment(1, text="a\x0bb")),
        5,
        "XML does not allow the character U+000B",
    ),
    "noncharacter": (rs3(segment(1, text="\uffff")), 4, "XML does not allow the character U+FFFF"),
    "reference to a control character": (
        rs3(segment(1, text="&#11;")),
        4,
        "the XML is not well-formed: reference to invalid character number",
    ),
    "document type": (
        b'<?xml version="1.0"?>\n<!DOCTYPE rst SYSTEM "http://localhost/rst.dtd">\n' + rs3(segment(1)),
        2,
        "the file must not declare a document type or entities (<!DOCTYPE)",
    ),
    "entities": (
        b'<!DOCTYPE rst [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n' + rs3(segment(1, text="&b;")),
        1,
        "the file must not declare a document type or entities (<!DOCTYPE)",
    ),
    "binary": (b"PK\0\0", None, "the file must be text, got binary data"),
}


@pytest.mark.parametrize(("content", "line", "message"), XML.values(), ids=XML.keys())
def test_xml(content: bytes, line: int | None, message: str):
    with pytest.raises(CorpusFormatError) as error:
        read_rs3(content, PATH)
    assert (error.value.line, error.value.message) == (line, message)
    assert error.value.path == PATH


def test_wrong_and_unknown_encodings():
    declared = '<?xml version="1.0" encoding="{}"?><rst><body><segment id="1">é</segment></body></rst>'
    rules = {
        "ascii": "the text is not valid ascii: ",
        "no-such-code": "the declared encoding is not",
        "x" * 41: "well-formed",
    }
    for encoding, rule in rules.items():
        with pytest.raises(CorpusFormatError, match=rule):
            read_rs3(declared.format(encoding).encode() + b"<", PATH)


@pytest.mark.parametrize("encoding", ["punycode", "idna", "rot13"])
def test_slow_and_odd_encodings_are_refused_at_once(encoding: str):
    # Half a minute if it were decoded.
    content = f'<?xml version="1.0" encoding="{encoding}"?><rst>'.encode() + b"a" * 300_000 + b"-" + b"b" * 300_000
    with pytest.raises(CorpusFormatError, match=f"the declared encoding is not supported: {encoding}; convert"):
        read_rs3(content, PATH)


def test_repairs_of_a_file_that_stays_unreadable_are_not_told():
    # A warning would be an error of another kind here.
    with pytest.raises(CorpusFormatError, match="one root"):
        read(segment(1, text="Q & A"), segment(2, 1, "elaboration"), segment(3, text=""), group(4, "span"))


JUNK = {
    "circle": [segment(1), *(group(node, "span", node % 100_000 + 2, "span") for node in range(2, 100_002))],
    "chain into a circle": [
        segment(1, 2, "span"),
        *(group(node, "span", node + 1 if node < 99_999 else 50_000, "span") for node in range(2, 100_000)),
    ],
    "bare &": [segment(1, text="&" * 300_000), segment(2), segment(2, text="other")],
    "open comments": [segment(1, text="& <!--" * 50_000)],
    "open sections": [segment(1, text="& <![CDATA[" * 50_000)],
    "nested elements": ["<a>" * 100_000],
    "long reference": [segment(1, text="&" + "a" * 1_000_000), "<"],
}


@pytest.mark.slow
@pytest.mark.parametrize("body", JUNK.values(), ids=JUNK.keys())
def test_junk_ends_soon(body: list[str]):
    start = time.process_time()
    with pytest.raises(CorpusFormatError):
        read(*body)
    assert time.process_time() - start < 10
