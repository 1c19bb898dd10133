"""Structure-aware mutations: random documents, and changes to data, texts, XML, tensors and folders.

All randomness comes from the given `random.Random`, so that a seed reproduces a case. What is checked for a case is
defined in `fuzz.targets`.
"""

import contextlib
import gzip
import json
import random
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from genrst.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.trees.node import SPAN, Leaf, Tree, Unit

WORDS = ["It", "rained", "(all", "day)", "_", "über", "“so”", "\\", '"', "<s>", "🙂", "{", "1", "<P>", "&amp;", "]]>"]
RELATIONS = ["elaboration", "Contrast", "same-unit", "attribution-positive", "span", "a b", "<&>", "(x)", ""]
ODD = [
    *["\0", "\ufeff", "\r", "\n", "\t", " ", "\u2028", "\x85", "\x1b[31m", "\x1b]0;x\x07", "\x9b", "\x7f"],
    *[
        "\ud800",
        "\udc00",
        "\U0010ffff",
        "\u202e",
        "\u0301",
        "\xff",
        "\ufffe",
        "_!",
        "<!--",
        "<![CDATA[",
        "&#0;",
        "\\u0000",
    ],
]
"""Characters and strings that some format cannot represent, or misinterprets."""

NUMBERS = [0, 1, -1, 2, 7, 255, 10**4, 2**31 - 1, 2**31, 2**63, 10**18, 10**30, 10**400, 0.5, 1.5, -0.0, 1e-320, 1e308]
VALUES: list[Any] = [
    *[None, True, False, "", "N", "NS", "0", "a/b", "..", "/dev/zero", "x" * 3000, [], {}, [None], ["a"], [[0, 1]]],
    *[{"edu": 0}, {"start": 0}, {"": None}, float("inf"), float("nan")],
]


def random_document(chance: random.Random) -> Document:
    """Make a document with all kinds of annotation, sometimes without a text or a tree."""
    n_edus = chance.choice([1, 2, 2, 3, 4, 5, 8])
    texts = [random_text(chance) for _ in range(n_edus)]
    tree = random_tree(chance, n_edus) if chance.random() < 0.9 else None
    document = Document.from_edus("case", texts, tree, {chance.randrange(n_edus)})
    if chance.random() < 0.1:
        return Document("case", None, document.edus, tree)
    tokens = tuple(Token(edu.start, edu.end, 0, "dep", "NN") for edu in document.edus)
    signals = (Signal((0, 1), "dm", "but", (1,)), Signal((0, 1), "dm", random_text(chance), (1, 2), "", (0, n_edus)))
    edges = (SecondaryEdge((0, 1), (0, n_edus), chance.choice(RELATIONS)),)
    is_rich = chance.random() < 0.5
    return Document(
        "case" if chance.random() < 0.8 else random_text(chance),
        document.text,
        document.edus,
        tree,
        paragraphs=document.paragraphs,
        tokens=tokens if is_rich else (),
        sentences=(Span(0, tokens[-1].end, random_text(chance)),) if is_rich else (),
        entities=(Span(0, 1, "ORG"),) if is_rich else (),
        signals=signals if is_rich and tree else (),
        secondary_edges=edges if is_rich and tree else (),
        log_probability=-1.5 if is_rich else None,
        metadata={"genre": random_text(chance)} if is_rich else {},
    )


def random_text(chance: random.Random) -> str:
    """Make a text of a few words, rarely none, some of them hostile."""
    words = [chance.choice(ODD if chance.random() < 0.05 else WORDS) for _ in range(chance.choice([1, 1, 2, 3, 4]))]
    return (" " if chance.random() < 0.95 else "").join(words) if chance.random() < 0.98 else ""


def random_tree(chance: random.Random, n_edus: int) -> Tree:
    """Make a tree with random nuclearity and relations."""
    nodes: list[Tree] = [Leaf(edu) for edu in range(n_edus)]
    while len(nodes) > 1:
        at = chance.randrange(len(nodes) - 1)
        children = nodes[at : at + chance.randint(2, 4)]
        letters = "".join(chance.choice("NS") for _ in children)
        letters = letters if "N" in letters else "N" * len(children)
        names = [SPAN if letters.count("N") == 1 and one == "N" else chance.choice(RELATIONS) for one in letters]
        nodes[at : at + len(children)] = [Unit.from_relations(names, letters, children)]
    return nodes[0]


def change_data(chance: random.Random, data: Any) -> Any:  # noqa: ANN401
    """Return JSON data changed in one to three places, without modifying the original."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        data = _changed(chance, data)
    return data


def _changed(chance: random.Random, data: Any) -> Any:  # noqa: ANN401
    """Return the data changed in one place, found by a random walk; only the path to it is copied."""
    if not (isinstance(data, dict | list) and data):
        return _other_value(chance, data)
    copied: Any = data.copy()
    keys = list(data) if isinstance(data, dict) else range(len(data))
    key = chance.choice(keys)
    kind = chance.random()
    if kind < 0.75:
        copied[key] = _changed(chance, data[key])
    elif kind < 0.80:
        del copied[key]
    elif kind < 0.85:
        copied[key] = data[chance.choice(keys)]
    elif kind < 0.90:
        return _other_value(chance, data)
    elif isinstance(data, dict):
        copied[chance.choice([*keys, "other", random_text(chance)])] = copied.pop(key)
    elif kind < 0.95:
        copied.insert(key, chance.choice(data))
    else:
        chance.shuffle(copied)
    return copied


def _other_value(chance: random.Random, value: Any) -> Any:  # noqa: ANN401
    """Return a similar value, or any other one."""
    kind = chance.random()
    if kind < 0.4 and isinstance(value, str):
        return change_text(chance, value)
    if kind < 0.4 and isinstance(value, int | float):
        return chance.choice([value + 1, value - 1, -value, 2 * value, *NUMBERS])
    if kind < 0.45:
        return nested(chance.choice([3, 30, 300]))
    return chance.choice([*VALUES, *NUMBERS])


def nested(depth: int) -> list[Any]:
    """Return nested lists."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def change_text(chance: random.Random, text: str, pieces: Sequence[str] = ()) -> str:
    """Remove, double, reverse or replace a part of a text, once or several times."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        start = chance.randint(0, len(text))
        stop = start + chance.choice([0, 0, 0, 1, 1, 5, 50, len(text)])
        new = chance.choice([*pieces, *ODD])
        match chance.randrange(6):
            case 0:
                new = ""
            case 1:
                new = text[start:stop] * 2
            case 2:
                new = text[start:stop][::-1]
            case 3 if chance.random() < 0.1:
                new *= 1 + 20_000 // len(new)
        text = text[:start] + new + text[stop:]
    return text


def change_bytes(chance: random.Random, content: bytes) -> bytes:
    """Reverse, cut, double or randomise a few bytes, or cut off the end of the content."""
    if chance.random() < 0.15:
        return content[: chance.randint(0, len(content))]
    for _ in range(chance.choice([1, 1, 2, 5])):
        start = chance.randint(0, len(content))
        piece = content[start : start + chance.randint(1, 8)]
        new = chance.choice([b"", piece * 2, piece[::-1], bytes(chance.randrange(256) for _ in piece)])
        content = content[:start] + new + content[start + len(piece) :]
    return content


def change_lines(chance: random.Random, content: bytes) -> bytes:
    """Remove, duplicate or swap lines."""
    lines = content.splitlines(keepends=True) or [b""]
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case _:
            del lines[first : first + 3]
    return b"".join(lines)


_ATTRIBUTE = re.compile(rb'\s(\w+)="([^"]*)"')
ENCODINGS = [b"utf-8", b"utf-16", b"utf-7", b"punycode", b"idna", b"hex", b"rot13", b"unicode_escape", b"x", b"ascii"]


def change_xml(chance: random.Random, content: bytes) -> bytes:
    """Remove, duplicate or change an attribute, or declare an encoding."""
    if chance.random() < 0.05:
        return b'<?xml version="1.0" encoding="%s"?>\n%s' % (chance.choice(ENCODINGS), content)
    attributes = list(_ATTRIBUTE.finditer(content))
    if not attributes:
        return change_bytes(chance, content)
    chosen = chance.choice(attributes)
    start, stop = chosen.span(2)
    match chance.randrange(5):
        case 0:
            (start, stop), new = chosen.span(), b""
        case 1:
            (start, stop), new = chosen.span(), chosen[0] * 2
        case 2:
            new = chance.choice(attributes)[2]
        case _:
            new = str(chance.choice([chance.randint(0, 12), *NUMBERS])).encode()
    return content[:start] + new + content[stop:]


def change_safetensors(chance: random.Random, content: bytes) -> bytes:
    """Change the header (names, shapes, types, offsets, metadata), its length, or the numbers."""
    length = int.from_bytes(content[:8], "little")
    named, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    if chance.random() < 0.8:
        named.pop("__metadata__", None)  # the checksum, which would detect almost all other changes
    # The library writes metadata in an order that differs from process to process.
    header = json.dumps(named, sort_keys=True).encode()
    length = len(header)
    match chance.randrange(4):
        case 0:
            return header_first(header, change_bytes(chance, numbers))
        case 1:
            wrong = chance.choice([0, 1, length - 1, length + 1, len(content), 2**31, 2**63, 2**64 - 1])
            return wrong.to_bytes(8, "little") + header + numbers
        case 2:
            return header_first(change_bytes(chance, header), numbers)
        case _:
            return header_first(as_json(change_data(chance, json.loads(header))), numbers)


def header_first(header: bytes, numbers: bytes) -> bytes:
    """Join the two parts of a safetensors file."""
    return len(header).to_bytes(8, "little") + header + numbers


def as_json(data: Any) -> bytes:  # noqa: ANN401
    """Encode as JSON, with Python's extensions for NaN and infinity."""
    return json.dumps(data).encode()


def change_json(chance: random.Random, content: bytes) -> bytes:
    """Change the data or, sometimes and if it is not valid JSON, the bytes."""
    if chance.random() > 0.2:
        with contextlib.suppress(ValueError, RecursionError):
            return as_json(change_data(chance, json.loads(content)))
    return change_bytes(chance, content)


def change_gzip(chance: random.Random, content: bytes, change: Callable[[random.Random, bytes], bytes]) -> bytes:
    """Change the content before compression, or the compressed bytes; rarely return a decompression bomb."""
    kind = chance.random()
    if kind < 0.01:
        return gzip.compress(b"0 " * 2**22, 1, mtime=0)
    if kind < 0.2:
        return change_bytes(chance, content)
    try:
        return gzip.compress(change(chance, gzip.decompress(content)), 1, mtime=0)
    except (OSError, EOFError, zlib.error):
        return content


ODD_FILES = ["missing", "folder", "fifo", "loop", "zero", "null", "empty"]
"""What can replace a file."""


def change_file(chance: random.Random, name: str, content: bytes) -> bytes | str:
    """Change a file of a model according to its format, or rarely replace it by an odd file."""
    if chance.random() < 0.03:
        return chance.choice(ODD_FILES)
    if name.endswith(".safetensors"):
        return change_safetensors(chance, content)
    if name.endswith(".json"):
        return change_json(chance, content)
    return change_bytes(chance, content)
