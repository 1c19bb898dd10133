"""JSON text at any depth."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.formats import json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_the_loops_agree_with_the_json_module(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert "".join(json_text._pieces(value)) == text
    assert json_text._Reader(text).read() == value
    assert json_text._Reader(json.dumps(value, indent=1)).read() == value


@given(st.text(st.sampled_from('[[]]{}::,,""\\ \n0e1.-'), max_size=12) | VALUES.map(json.dumps), st.data())
def test_the_loops_refuse_what_the_json_module_refuses(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.sampled_from('[]{}:,"0 ')) + text[at + data.draw(st.integers(0, 1)) :]
    try:
        expected = json.loads(text, parse_constant=json_text._refuse)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            json_text._Reader(text).read()
    else:
        assert json_text._Reader(text).read() == expected


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_depth_has_a_bound(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_MAX_DEPTH", 4000)
    with pytest.raises(json.JSONDecodeError, match="Values nested more than 4000 deep"):
        json_text.loads(text)


@given(VALUES)
def test_deep_values(value: object) -> None:
    deep: object = value
    for _ in range(1200):
        deep = [deep]
    text = json_text.dumps(deep)
    assert text == "[" * 1200 + json_text.dumps(value) + "]" * 1200
    read_back = json_text.loads(text)
    for _ in range(1200):
        assert isinstance(read_back, list)
        (read_back,) = read_back
    assert read_back == value
