"""Damaged files: whatever happens to them, readers end, and raise nothing but their own errors."""

import random
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from genrst.document import Document
from genrst.errors import CorpusWarning, GenrstError
from genrst.formats.dis import read_dis, write_dis
from genrst.formats.json_format import (
    document_from_dict,
    document_to_dict,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from genrst.formats.plain import read_edus, write_edus
from genrst.trees.node import SPAN, Leaf, Tree, Unit

N_MUTATIONS = 2500
WORDS = ["It", "rained", "(all", "day)", "_", "über", "“so”", "\\", '"', "a<s>b", "🙂", "{", "1"]
RELATIONS = ["elaboration", "Contrast", "same-unit"]
PIECES = {
    ".dis": [
        "(",
        ")",
        "_!",
        "_",
        "( Root",
        "( Nucleus",
        "(leaf 1)",
        "(span 1 2)",
        "(rel2par x)",
        "(text _!x_!)",
        "<P>",
    ],
    ".json": [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "null",
        "true",
        "-1",
        "1e999",
        "NaN",
        "9" * 5000,
        '"edu"',
        '"N"',
        "\\ud800",
    ],
    ".edus": ["\n", "\n\n", "x"],
}
NOISE = ["\0", "\ufeff", "\r", " ", "\u2028", "\ud800", "\xff"]


def random_tree(chance: random.Random, n_edus: int) -> Tree:
    nodes: list[Tree] = [Leaf(edu) for edu in range(n_edus)]
    while len(nodes) > 1:
        at = chance.randrange(len(nodes) - 1)
        children = nodes[at : at + chance.randint(2, 4)]
        nuclei = chance.choice([range(len(children)), [chance.randrange(len(children))]])
        nuclearity = "".join("N" if position in nuclei else "S" for position in range(len(children)))
        relations = [SPAN if letter == "N" and "S" in nuclearity else chance.choice(RELATIONS) for letter in nuclearity]
        nodes[at : at + len(children)] = [Unit.from_relations(relations, nuclearity, children)]
    return nodes[0]


def random_document(chance: random.Random) -> Document:
    n_edus = chance.randint(1, 8)
    edus = [" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(n_edus)]
    return Document.from_edus("random", edus, random_tree(chance, n_edus), {chance.randrange(n_edus)})


def mutate(chance: random.Random, text: str, pieces: Sequence[str]) -> bytes:
    for _ in range(chance.randint(1, 3)):
        start, stop = sorted(chance.randint(0, len(text)) for _ in range(2))
        stop = min(stop, start + chance.choice([0, 1, 5, len(text)]))
        replacement = chance.choice(
            [
                "",
                chance.choice(pieces),
                chance.choice(NOISE),
                text[start:stop] * 2,
                text[start:stop][::-1],
                chance.choice(pieces)[:20] * chance.choice([2, 3000]),
            ]
        )
        text = text[:start] + replacement + text[stop:]
    content = text.encode(errors="surrogatepass")
    return content[: chance.randint(0, len(content))] if chance.random() < 0.1 else content


Reader = Callable[[bytes, Path, bool], list[Document]]
FORMATS: dict[str, tuple[Reader, Callable[[Document], str]]] = {
    ".dis": (lambda content, path, with_tree: [read_dis(content, path, with_tree=with_tree)], write_dis),
    ".json": (lambda content, path, with_tree: read_json(content, path, with_tree=with_tree), write_json),
    ".jsonl": (
        lambda content, path, with_tree: read_jsonl(content, path, with_tree=with_tree),
        lambda document: write_jsonl([document] * 2),
    ),
    ".edus": (lambda content, path, with_tree: [read_edus(content, path)], write_edus),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::genrst.errors.CorpusWarning")
@pytest.mark.parametrize("suffix", FORMATS)
def test_only_own_errors_escape(suffix: str) -> None:
    read, write = FORMATS[suffix]
    chance = random.Random(suffix)
    path = Path(f"damaged{suffix}")
    errors: list[GenrstError] = []
    documents: list[Document] = []
    for _ in range(N_MUTATIONS):
        content = mutate(chance, write(random_document(chance)), PIECES[suffix.removesuffix("l")])
        try:
            documents += read(content, path, chance.random() < 0.8)
        except GenrstError as error:
            errors.append(error)
    assert all(str(error).startswith(str(path)) for error in errors)
    assert all(document.edus for document in documents)
    # Both ways out are taken; nearly anything is a list of EDUs, and nearly nothing is JSON.
    assert len(errors) > (1 if suffix == ".edus" else N_MUTATIONS / 3)
    assert len(documents) > N_MUTATIONS / 20


VALUES: list[object] = [
    None,
    True,
    0,
    1,
    -1,
    10**30,
    0.5,
    "",
    "N",
    "NS",
    [],
    {},
    [None],
    ["a"],
    {"edu": 0},
    {"start": 0},
]


def replace_value(chance: random.Random, data: Any) -> None:
    """Put something else in a random place of JSON data."""
    while isinstance(data, dict | list) and data:
        key = chance.choice(list(data) if isinstance(data, dict) else range(len(data)))
        if chance.random() < 0.4 or not isinstance(data[key], dict | list):
            data[key] = chance.choice(VALUES)
            return
        data = data[key]


@pytest.mark.slow
def test_only_own_errors_escape_from_json_of_another_shape() -> None:
    chance = random.Random(1)
    errors: list[GenrstError] = []
    for _ in range(N_MUTATIONS):
        data = document_to_dict(random_document(chance))
        replace_value(chance, data)
        try:
            document_from_dict(data, Path("damaged.json"))
        except GenrstError as error:
            errors.append(error)
    assert all(str(error).startswith("damaged.json: ") for error in errors)
    assert N_MUTATIONS / 3 < len(errors) < N_MUTATIONS


def test_undamaged_files_are_read() -> None:
    chance = random.Random(0)
    for _ in range(50):
        document = random_document(chance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorpusWarning)
            for suffix, (read, write) in FORMATS.items():
                for read_back in read(write(document).encode(), Path(f"random{suffix}"), True):
                    assert len(read_back.edus) == len(document.edus)
                    assert read_back.tree == (None if suffix == ".edus" else document.tree)
