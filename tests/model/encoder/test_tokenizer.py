import builtins
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import ConfigError, MissingDependencyError
from genrst.model.encoder.files import PieceTokenizer, read_tokenizer
from tests.model.tiny_encoders import KINDS, make_tokenizer

BERT = make_tokenizer("bert")


def spell(text: str, kind: str = "bert") -> list[int]:
    (pieces,) = make_tokenizer(kind)([text])
    return pieces


def test_pieces_of_texts():
    a, inner_a = 4, 31
    assert BERT(["a", "ab.", "A  b"]) == [[a], [a, inner_a + 1, a + 26], [a, a + 1]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_around_a_text(kind: str):
    tokenizer = make_tokenizer(kind)
    assert (tokenizer.prefix, tokenizer.suffix) == (((2,), (3,)) if kind == "bert" else ((0,), (2,)))
    assert tokenizer.size == 57
    assert not {*tokenizer.prefix, *tokenizer.suffix} & set(spell("abc def.", kind))


def test_long_texts_are_not_cut_and_short_ones_not_filled():
    assert len(spell("a " * 3000)) == 3000
    assert len(spell("a")) == 1


@pytest.mark.parametrize("text", ["", "  ", "\u200b", "\ud800", "\x00", "[SEP]", "[PAD] [CLS]", "日本"])
@pytest.mark.parametrize("kind", KINDS)
def test_odd_texts(text: str, kind: str):
    """At least one piece, and none that means something else to the encoder."""
    tokenizer = make_tokenizer(kind)
    pieces = spell(text, kind)
    assert pieces
    assert not {*tokenizer.prefix, *tokenizer.suffix, 1 if kind == "mpnet" else 0} & set(pieces)


@given(st.lists(st.text(st.characters(codec=None))))
def test_any_text_has_pieces_of_its_own(texts: list[str]):
    found = BERT(texts)
    assert all(found)
    assert len(found) == len(texts)
    assert found == [BERT([text])[0] for text in texts]


def test_files(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    path.write_text(BERT.json)
    assert read_tokenizer(path)(["ab"]) == BERT(["ab"])
    for content in (b"{}", b"junk", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"tokenizer.json: ") as error:
            read_tokenizer(path)
        assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="nowhere: "):
        read_tokenizer(tmp_path / "nowhere")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch):
    normal = builtins.__import__

    def without(name: str, *parts: object, **others: object) -> object:
        if name.split(".")[0] == "tokenizers":
            raise ImportError(name)
        return normal(name, *parts, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[model\]'"):
        PieceTokenizer(BERT.json)
