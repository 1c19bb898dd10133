"""Build and run graphs for ONNX Runtime without the `onnx` package.

A graph is a list of operations on named values. Its file is a protocol buffer: nested fields with a number, a wire type
and a value. Only the kinds of fields that our graphs need are implemented.

Sessions compute only in the calling thread. So a result never depends on the number of threads, and a forked process
never waits for threads that it does not have. Parallel work uses Python threads instead.
"""

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from functools import cache, cached_property
from itertools import chain
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from genrst.allowance import checkpoint

Value: TypeAlias = str
"""The name of an input or output of an operation."""
Dtype: TypeAlias = Literal["float32", "uint8", "int8", "int32", "int64"]
Attribute: TypeAlias = float | int | tuple[int, ...]
Item = TypeVar("Item")
Result = TypeVar("Result")

MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's operations outside the standard."""
_OPSETS = {"": 18, MICROSOFT: 1}
_IR_VERSION = 10
_TYPES: dict[str, int] = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_VARINT, _LENGTH, _FIXED_32 = 0, 2, 5
_FLOAT, _INT, _INTS = 1, 2, 7


class Graph:
    """A graph under construction. Calling it adds an operation: `product = graph("MatMul", left, right)`."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._constants: list[list[bytes]] = []
        self._n_values = 0

    def input(self, name: str, n_dimensions: int, dtype: Dtype = "float32") -> Value:
        """Add an input to the graph."""
        self._inputs.append(_value(name, n_dimensions, dtype))
        return name

    def output(self, value: Value, n_dimensions: int, dtype: Dtype = "float32") -> None:
        """Add a value to the outputs of the graph."""
        self._outputs.append(_value(value, n_dimensions, dtype))

    def constant(self, array: NDArray[Any] | np.generic) -> Value:
        """Add a constant."""
        name, numbers = self._name(), array.tobytes()
        shape = b"".join(_number(1, size) for size in array.shape)
        # Large parts are only joined once, when the file is written.
        parts = [shape, _number(2, _TYPES[array.dtype.name]), _text(8, name), _head(9, len(numbers)), numbers]
        self._constants.append([_head(5, sum(map(len, parts))), *parts])
        return name

    def floats(self, *numbers: float) -> Value:
        """Add a float32 constant; a scalar if there is one number."""
        return self.constant(np.float32(numbers[0]) if len(numbers) == 1 else np.array(numbers, dtype=np.float32))

    def ints(self, *numbers: int) -> Value:
        """Add a constant list of int64, such as a shape."""
        return self.constant(np.array(numbers, dtype=np.int64))

    def __call__(self, operation: str, *inputs: Value, domain: str = "", **attributes: Attribute) -> Value:
        """Add an operation and return its result."""
        return self.several(1, operation, *inputs, domain=domain, **attributes)[0]

    def several(
        self, n_outputs: int, operation: str, *inputs: Value, domain: str = "", **attributes: Attribute
    ) -> list[Value]:
        """Add an operation with several results."""
        outputs = [self._name() for _ in range(n_outputs)]
        parts = [*(_text(1, name) for name in inputs), *(_text(2, name) for name in outputs), _text(4, operation)]
        parts += [_bytes(5, _attribute(*pair)) for pair in attributes.items()]
        self._nodes.append(b"".join([*parts, _text(7, domain)]))
        return outputs

    def _name(self) -> Value:
        self._n_values += 1
        return f"v{self._n_values}"

    def to_bytes(self) -> bytes:
        """Return the content of an ONNX file."""
        parts = {1: self._nodes, 11: self._inputs, 12: self._outputs}
        graph = [_text(2, "graph"), *(_bytes(field, one) for field, several in parts.items() for one in several)]
        graph += chain.from_iterable(self._constants)
        opsets = [_bytes(8, _text(1, domain) + _number(2, version)) for domain, version in _OPSETS.items()]
        return b"".join([_number(1, _IR_VERSION), _head(7, sum(map(len, graph))), *graph, *opsets])


class Session:
    """A graph that is ready to run."""

    def __init__(self, graph: Graph, keeps_memory: bool = False) -> None:
        """Prepare a graph. Sessions with `keeps_memory` share one memory arena per process; others free theirs.

        An arena is much faster for large temporary results. It grows to the largest memory in use at once.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Our graphs need no optimisation.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        if keeps_memory:
            _make_store()
            options.add_session_config_entry("session.use_env_allocators", "1")
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(graph.to_bytes(), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _inputs(self) -> list[str]:
        return [one.name for one in self._session.get_inputs()]

    def __call__(self, *inputs: NDArray[Any]) -> list[NDArray[Any]]:
        """Run the graph on its inputs, in their order."""
        found: list[NDArray[Any]] = self._session.run(None, dict(zip(self._inputs, inputs, strict=True)))
        return found


def in_threads(do: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply a function to items with `n_threads()` threads. Return the results in order, with a checkpoint per item."""

    def step(item: Item) -> Result:
        checkpoint()
        result = do(item)
        checkpoint()  # also after the last item, because this thread may not start another one
        return result

    def step_in(context: Context, item: Item) -> Result:
        return context.run(step, item)

    if len(items) == 1 or n_threads() == 1:
        return [step(item) for item in items]
    with ThreadPoolExecutor(n_threads()) as pool:
        return list(pool.map(step_in, [copy_context() for _ in items], items))


def n_threads() -> int:
    """Return the number of threads to use: OMP_NUM_THREADS, or else the number of cores."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _make_store() -> None:
    import onnxruntime as ort

    where = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    as_requested = ort.OrtArenaCfg(0, 1, -1, -1)  # grows only by the requested size, without a limit
    ort.create_and_register_allocator(where, as_requested)


# The fields of a protocol buffer.


def _varint(value: int) -> bytes:
    """Encode an integer with seven bits per byte, lowest first; negative ones in 64-bit two's complement."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _head(field: int, length: int) -> bytes:
    """Return the header of a field of this many bytes."""
    return _varint(field << 3 | _LENGTH) + _varint(length)


def _bytes(field: int, value: bytes) -> bytes:
    return _head(field, len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _value(name: str, n_dimensions: int, dtype: Dtype) -> bytes:
    """Describe an input or an output: its name, its type and its shape, with named dimensions."""
    sizes = b"".join(_bytes(1, _text(2, f"{name}.{number}")) for number in range(n_dimensions))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES[dtype]) + _bytes(2, sizes)))


def _attribute(name: str, value: Attribute) -> bytes:
    parts: Iterable[bytes]
    if isinstance(value, tuple):
        parts = *(_number(8, one) for one in value), _number(20, _INTS)
    elif isinstance(value, int):
        parts = _number(3, value), _number(20, _INT)
    else:
        parts = _varint(2 << 3 | _FIXED_32), struct.pack("<f", value), _number(20, _FLOAT)
    return b"".join([_text(1, name), *parts])
