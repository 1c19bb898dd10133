"""Broken files: whatever happens to a valid file, only errors of this package escape, and no EDU is lost."""

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fuzz import mutate
from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import GenrstError
from genrst.formats.rs3_reader import read_rs3
from genrst.formats.rs3_writer import write_rs4
from genrst.trees.node import SPAN, Leaf, Tree, Unit
from tests.seed import SEED

N_MUTATIONS = 2000
PATH = Path("fuzz.rs4")


def random_tree(chance: random.Random, n_edus: int) -> Tree:
    nodes: list[Tree] = [Leaf(edu) for edu in range(n_edus)]
    while len(nodes) > 1:
        at = chance.randrange(len(nodes) - 1)
        children = nodes[at : at + chance.randint(2, 4)]
        nucleus = chance.randrange(len(children))
        letters = "".join("N" if position == nucleus else "S" for position in range(len(children)))
        relations = [SPAN if letter == "N" else chance.choice(["cause", "joint"]) for letter in letters]
        spanned = Unit.from_relations(relations, letters, children)
        nodes[at : at + len(children)] = [chance.choice([spanned, Unit("joint", "N" * len(children), tuple(children))])]
    return nodes[0]


def random_file(chance: random.Random) -> bytes:
    tree = random_tree(chance, chance.randint(1, 12))
    texts = [f"edu {edu} é & <{chance.random()}>" for edu in range(tree.stop)]
    document = Document.from_edus("fuzz", texts, tree)
    edges = (SecondaryEdge((0, 1), (0, tree.stop), "cause"),)
    signals = (Signal((0, 1), "dm", "but", (1, 2)), Signal((0, 1), "dm", "but", (3,), "", (0, tree.stop)))
    return write_rs4(replace(document, secondary_edges=edges, signals=signals)).encode()


def change_bytes(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content))
    stop = start + chance.randint(1, 8)
    piece = content[start:stop]
    new = chance.choice([b"", piece * 2, piece[::-1], bytes(chance.randrange(256) for _ in piece)])
    return content[:start] + new + content[stop:]


def change_lines(content: bytes, chance: random.Random) -> bytes:
    return mutate.change_lines(chance, content)


def change_attribute(content: bytes, chance: random.Random) -> bytes:
    """Delete or repeat an attribute, or give it the value of another."""
    attributes = list(re.finditer(rb' \w+="([^"]*)"', content))
    chosen, other = chance.choice(attributes), chance.choice(attributes)
    start, stop = chosen.span() if chance.random() < 0.4 else chosen.span(1)
    new = chance.choice([b"", chosen[0] * 2]) if start == chosen.start() else other[1]
    return content[:start] + new + content[stop:]


def change_id(content: bytes, chance: random.Random) -> bytes:
    """Let an id or parent name another node, or none."""
    ids = list(re.finditer(rb'(?:id|parent)="(\d+)"', content))
    start, stop = chance.choice(ids).span(1)
    return content[:start] + str(chance.randint(0, 20)).encode() + content[stop:]


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [change_bytes, change_lines, change_attribute, change_id]


def n_segments(content: bytes) -> int | None:
    """The segments of a file, identical copies once; None if its XML is broken, so that it was mended."""
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    return len({ElementTree.tostring(element).strip() for element in root.iter("segment")})


@pytest.mark.slow
def test_only_errors_of_this_package_escape():
    chance = random.Random(SEED)
    files = [random_file(chance) for _ in range(100)]
    outcomes = {"read": 0, "segments read": 0, "refused": 0}
    for number in range(N_MUTATIONS):
        content = chance.choice(files)
        # Three steps never empty a file.
        for _ in range(chance.randint(1, 3)):
            content = MUTATIONS[number % len(MUTATIONS)](content, chance)
        outcomes[outcome(content)] += 1
    assert min(outcomes.values()) > N_MUTATIONS // 100


def outcome(content: bytes) -> str:
    """What reading gave, after a look at the EDUs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for with_tree in (True, False):
            try:
                document = read_rs3(content, PATH, roots="join", with_tree=with_tree)
            except GenrstError:
                continue
            expected = n_segments(content)
            assert expected is None or len(document.edus) == expected
            if not with_tree:
                return "segments read"
            assert read_rs3(write_rs4(document).encode(), PATH).edu_texts == document.edu_texts
            return "read"
    return "refused"
