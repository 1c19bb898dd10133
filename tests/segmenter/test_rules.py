import subprocess
import sys

import pytest

from genrst.document import Document, Span, Token
from genrst.segmenter.rules import segment_by_rules


def parse(sentence: str) -> Document:
    """A document of one sentence, given as `word/TAG/relation/head` with heads counted from 1."""
    tokens: list[Token] = []
    text = ""
    for item in sentence.split():
        word, tag, relation, head = item.split("/")
        start = len(text) + bool(text)
        text = f"{text} {word}".strip()
        tokens.append(Token(start, start + len(word), int(head) - 1, relation, tag))
    return Document("one", text, (Span(0, len(text)),), tokens=tuple(tokens), sentences=(Span(0, len(text)),))


@pytest.mark.parametrize(
    ("sentence", "edus"),
    [
        (
            "We/PRP/nsubj/2 left/VBD/ROOT/2 because/IN/mark/5 it/PRP/nsubj/5 rained/VBD/advcl/2 ././punct/2",
            ["We left", "because it rained ."],
        ),
        (
            "Boats/NNS/nsubj/4 which/WDT/nsubj/3 leak/VBP/relcl/1 sink/VBP/ROOT/4 ././punct/4",
            ["Boats", "which leak", "sink ."],
        ),
        (
            "She/PRP/nsubj/2 sang/VBD/ROOT/2 and/CC/cc/2 danced/VBD/conj/2",
            ["She sang", "and danced"],
        ),
        (
            "Tom/NNP/nsubj/4 and/CC/cc/1 Ann/NNP/conj/1 left/VBD/ROOT/4",
            ["Tom and Ann left"],
        ),
        (
            "He/PRP/nsubj/2 said/VBD/ROOT/2 it/PRP/nsubj/4 rained/VBD/ccomp/2",
            ["He said", "it rained"],
        ),
        (
            "He/PRP/nsubj/2 made/VBD/ROOT/2 it/PRP/nsubj/4 rain/VB/ccomp/2",
            ["He made it rain"],
        ),
        (
            "It/PRP/nsubj/2 rained/VBD/ccomp/5 ,/,/punct/5 he/PRP/nsubj/5 said/VBD/ROOT/5",
            ["It rained ,", "he said"],
        ),
        (
            "She/PRP/nsubj/2 won/VBD/ROOT/2 by/IN/prep/2 running/VBG/pcomp/3 fast/RB/advmod/4",
            ["She won", "by running fast"],
        ),
    ],
)
def test_clauses(sentence: str, edus: list[str]):
    assert segment_by_rules(parse(sentence)).edu_texts == edus


def test_rules_need_neither_torch_nor_spacy():
    blocked = "import sys; sys.modules.update(dict.fromkeys(('torch', 'spacy', 'safetensors')))"
    subprocess.run([sys.executable, "-c", f"{blocked}; import genrst.segmenter.rules"], check=True, timeout=60)
