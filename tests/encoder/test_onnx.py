"""Graphs that are written without the `onnx` package: ONNX Runtime reads them as they are meant."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from genrst.encoder.onnx import _TYPES, MICROSOFT, Dtype, Graph, Session, _varint

TASKS = Path("/proc/self/task")
"""The threads of this process."""


def run(graph: Graph, *inputs: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return Session(graph)(*inputs)


@given(
    st.sampled_from([*_TYPES]).flatmap(
        lambda name: arrays(name, array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    )
)
def test_constants_come_back(array: np.ndarray[Any, Any]):
    """Of every type and shape, also empty ones and scalars."""
    graph = Graph()
    dtype: Any = array.dtype.name
    graph.output(graph("Identity", graph.constant(array)), array.ndim, dtype)
    (found,) = run(graph)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


def test_what_is_not_in_order_in_memory_is_read_in_order():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3).T
    graph = Graph()
    graph.output(graph("Identity", graph.constant(matrix)), 2)
    assert run(graph)[0].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_numbers_as_constants():
    graph = Graph()
    for value, n_dimensions, dtype in (
        (graph.floats(0.1), 0, "float32"),
        (graph.floats(-1.5, 2.0), 1, "float32"),
        (graph.ints(-(2**63), -1, 0, 127, 128, 2**63 - 1), 1, "int64"),
        (graph.ints(7), 1, "int64"),
    ):
        graph.output(graph("Identity", value), n_dimensions, dtype)  # type: ignore[arg-type]
    one, several, whole, single = run(graph)
    assert one == np.float32(0.1)
    assert several.tolist() == [-1.5, 2.0]
    assert whole.tolist() == [-(2**63), -1, 0, 127, 128, 2**63 - 1]
    assert single.tolist() == [7]


@pytest.mark.parametrize("dtype", _TYPES)
def test_inputs_of_every_type_keep_their_order(dtype: Dtype):
    graph = Graph()
    first, second = graph.input("b", 1, dtype), graph.input("a", 2, dtype)
    graph.output(graph("Identity", second), 2, dtype)
    graph.output(graph("Identity", first), 1, dtype)
    arrays = np.arange(3, dtype=dtype), np.ones((2, 2), dtype=dtype)
    found = run(graph, *arrays)
    assert [one.tolist() for one in found] == [arrays[1].tolist(), arrays[0].tolist()]
    assert {one.dtype for one in found} == {np.dtype(dtype)}


def test_sizes_are_free():
    """Of inputs, from call to call."""
    graph = Graph()
    graph.output(graph("Add", graph.input("x", 2), graph.floats(1.0)), 2)
    session = Session(graph)
    for shape in ((1, 5), (4, 2), (0, 3)):
        (found,) = session(np.zeros(shape, dtype=np.float32))
        assert found.shape == shape
        assert (found == 1).all()


def test_attributes_of_every_type():
    """Whole numbers, also negative ones; lists of them; fractions."""
    x = np.array([[-2.0, 1.0, 4.0], [0.5, -1.0, 3.0]], dtype=np.float32)
    graph = Graph()
    value = graph.input("x", 2)
    graph.output(graph("LeakyRelu", value, alpha=0.25), 2)
    graph.output(graph("Softmax", value, axis=-1), 2)
    graph.output(graph("Softmax", value, axis=0), 2)
    graph.output(graph("Transpose", value, perm=(1, 0)), 2)
    graph.output(graph("Concat", value, value, axis=1), 2)
    leaky, rows, columns, turned, joined = run(graph, x)
    np.testing.assert_allclose(leaky, np.where(x < 0, x / 4, x))
    np.testing.assert_allclose(rows.sum(1), [1, 1], rtol=1e-6)
    np.testing.assert_allclose(columns.sum(0), [1, 1, 1], rtol=1e-6)
    assert np.array_equal(turned, x.T)
    assert np.array_equal(joined, np.concatenate([x, x], axis=1))


def test_several_results_of_an_operation():
    graph = Graph()
    parts = graph.several(3, "Split", graph.input("x", 2), axis=1, num_outputs=3)
    for part in reversed(parts):
        graph.output(part, 2)
    found = run(graph, np.arange(6, dtype=np.float32).reshape(1, 6))
    assert [part.tolist() for part in found] == [[[4, 5]], [[2, 3]], [[0, 1]]]


def test_operations_beyond_the_standard():
    graph = Graph()
    graph.output(graph("Gelu", graph.input("x", 1), domain=MICROSOFT), 1)
    (found,) = run(graph, np.array([0.0, 1.0], dtype=np.float32))
    assert found.tolist() == pytest.approx([0, 0.8413447], abs=1e-6)


def test_a_result_may_be_used_more_than_once():
    graph = Graph()
    x = graph.input("x", 1)
    twice = graph("Add", x, x)
    graph.output(twice, 1)
    graph.output(graph("Mul", twice, twice), 1)
    assert [one.tolist() for one in run(graph, np.array([3.0], dtype=np.float32))] == [[6], [36]]


@pytest.mark.parametrize("arrays", [[], [np.zeros(1, dtype=np.float32)] * 2])
def test_the_number_of_inputs_must_fit(arrays: list[np.ndarray[Any, Any]]):
    graph = Graph()
    graph.output(graph("Identity", graph.input("x", 1)), 1)
    with pytest.raises(ValueError, match="zip"):
        run(graph, *arrays)


def test_an_unknown_operation_is_an_error_of_onnx_runtime():
    graph = Graph()
    graph.output(graph("Frobnicate", graph.input("x", 1)), 1)
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph):
        Session(graph)


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_are_seven_bits_a_byte(value: int):
    found, read = _varint(value), 0
    assert all(byte > 127 for byte in found[:-1])
    assert found[-1] < 128
    for place, byte in enumerate(found):
        read |= (byte & 127) << 7 * place
    assert read == value % 2**64
    assert len(found) <= 10


@pytest.mark.skipif(not TASKS.is_dir(), reason="needs Linux")
@pytest.mark.parametrize("keeps_memory", [False, True])
def test_sessions_start_no_threads(keeps_memory: bool):
    """A forked process would wait for them."""
    graph = Graph()
    x = graph.input("x", 2)
    graph.output(graph("MatMul", x, x), 2)
    before = set(TASKS.iterdir())
    session = Session(graph, keeps_memory)
    session(np.ones((600, 600), dtype=np.float32))
    assert set(TASKS.iterdir()) <= before
