"""Run BERT and MPNet with ONNX Runtime, without PyTorch (inference only).

A layer consists of attention and a hidden layer, each with a residual connection and layer normalisation. MPNet (Song
et al. 2020) is a BERT that adds a bias per head and distance class to the attention scores.

Matrix products take almost all of the time. With `int8`, matrices have 7 bits and a scale per column, and each row of
states is rounded to 8 bits with a scale of its own. A common scale for all rows would be much less precise, and would
make the rows depend on each other.

Windows are read one at a time, so that the states of a text do not depend on other texts.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from genrst.encoder.files import EncoderConfig
from genrst.encoder.onnx import MICROSOFT, Graph, Session, Value, in_threads
from genrst.encoder.tokenizer import IntArray
from genrst.encoder.windows import WindowShape, cut
from genrst.errors import ConfigError
from genrst.packing import LARGEST_OF_8, SCALE, FloatArray, Stored, requantise, unpack_one

Precision: TypeAlias = Literal["int8", "float32"]

FARTHEST = 128
"""All distances from this one on belong to the same class."""

_BERT = (
    "attention.output.LayerNorm",
    [
        *(f"attention.self.{name}" for name in ("query", "key", "value")),
        "attention.output.dense",
    ],
)
_MPNET = "attention.LayerNorm", [f"attention.attn.{name}" for name in "qkvo"]
_ATTENTION = {"mpnet": _MPNET, **dict.fromkeys(("bert", "camembert", "roberta", "xlm-roberta"), _BERT)}
"""The names of the attention weights in each kind of encoder."""


def is_supported(config: EncoderConfig) -> bool:
    """Whether this module can run an encoder. All others need PyTorch."""
    sizes = (config.hidden_size, config.num_hidden_layers, config.num_attention_heads, config.layer_norm_eps)
    # Encoders that count positions from the padding position on must declare it.
    has_positions = config.model_type == "bert" or config.pad_token_id is not None
    return config.model_type in _ATTENTION and config.hidden_act == "gelu" and None not in sizes and has_positions


class Encoder:
    """A pretrained encoder, ready for inference."""

    def __init__(self, config: EncoderConfig, weights: Stored, precision: Precision = "int8") -> None:
        """Build the graphs from weights as they are stored."""
        assert is_supported(config)
        self.size, self._epsilon = config.hidden_size or 0, config.layer_norm_eps or 0.0
        self.state_dtype: type[np.floating[Any]] = np.float16 if precision == "int8" else np.float32
        # Embeddings stay packed, because unpacking a few rows at a time is fast.
        self._embeddings = {name: array for name, array in weights.items() if name.startswith("embeddings.")}
        self._first_position = 0 if config.model_type == "bert" else 1 + (config.pad_token_id or 0)
        self.n_positions = len(self._embeddings["embeddings.position_embeddings.weight"]) - self._first_position
        self.n_pieces = len(self._embeddings["embeddings.word_embeddings.weight"])
        bias = "encoder.relative_attention_bias.weight"
        self._distances = unpack_one(weights, bias) if bias in weights else None

        def make(number: int) -> Session:
            return Session(_Layer(config, weights, f"encoder.layer.{number}.", precision).graph, keeps_memory=True)

        self._layers = in_threads(make, range(config.num_hidden_layers or 0))

    def read(self, texts: Sequence[IntArray], shape: WindowShape) -> list[NDArray[np.floating[Any]]]:
        """Return the states of the word pieces of texts, each from the window where it has the most context.

        Shape: (pieces) of each → (pieces, size) of each
        """
        found = [np.empty((len(text), self.size), dtype=self.state_dtype) for text in texts]
        limit = shape.size - len(shape.prefix) - len(shape.suffix)
        windows = [
            (number, window)
            for number, text in enumerate(texts)
            for window in cut([1] * len(text), limit, shape.overlap, is_causal=False)
        ]

        def read_one(place: int) -> None:
            number, window = windows[place]
            part = texts[number][window.start : window.stop]
            states = self(np.concatenate([shape.prefix, part, shape.suffix]).astype(np.int64))
            before = len(shape.prefix) - window.start
            found[number][window.first : window.last] = states[before + window.first : before + window.last]

        # The longest windows first, so that all threads finish at about the same time.
        order = sorted(range(len(windows)), key=lambda place: windows[place][1].start - windows[place][1].stop)
        in_threads(read_one, order)
        return found

    def __call__(self, pieces: IntArray) -> FloatArray:
        """Return the states of a window. Shape: (pieces) → (pieces, size)"""
        positions = np.arange(len(pieces)) + self._first_position
        states = self._rows("word", pieces) + self._rows("position", positions)
        if "embeddings.token_type_embeddings.weight" in self._embeddings:
            states += self._rows("token_type", np.zeros(1, dtype=np.int64))
        states = self._normalise(states)
        scores = () if self._distances is None else (_distance_scores(self._distances, len(pieces)),)
        for layer in self._layers:
            (states,) = layer(states, *scores)
        return states

    def _rows(self, table: str, numbers: IntArray) -> FloatArray:
        name = f"embeddings.{table}_embeddings.weight"
        names = [name, *({name + SCALE} & self._embeddings.keys())]
        return unpack_one({one: self._embeddings[one][numbers] for one in names}, name)

    def _normalise(self, states: FloatArray) -> FloatArray:
        weight, bias = (unpack_one(self._embeddings, f"embeddings.LayerNorm.{name}") for name in ("weight", "bias"))
        centred = states - states.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(self._epsilon))
        normalised: FloatArray = centred / deviation * weight + bias
        return normalised


def weight_shapes(config: EncoderConfig, weights: Stored) -> dict[str, tuple[int, ...]]:
    """Return the required shapes of an encoder's weights. Sizes missing in its settings are taken from the weights."""
    assert is_supported(config)
    size, n_heads = config.hidden_size or 0, config.num_attention_heads or 1
    if size % n_heads:
        raise ConfigError(f"hidden_size must be a multiple of num_attention_heads, {n_heads}, got {size}")
    norm, maps = _ATTENTION[config.model_type]
    first = weights.get("encoder.layer.0.intermediate.dense.bias")
    inner = config.intermediate_size or (first.size if first is not None else 0)
    of_layer = {
        **{f"{name}.weight": (size, size) for name in maps},
        **{f"{name}.bias": (size,) for name in maps},
        **{f"{name}.{part}": (size,) for name in (norm, "output.LayerNorm") for part in ("weight", "bias")},
        **{"intermediate.dense.weight": (inner, size), "intermediate.dense.bias": (inner,)},
        **{"output.dense.weight": (size, inner), "output.dense.bias": (size,)},
    }
    tables = {
        "embeddings.word_embeddings.weight": (config.vocab_size, size),
        "embeddings.position_embeddings.weight": (config.max_position_embeddings, size),
    }
    if config.model_type == "mpnet":
        tables["encoder.relative_attention_bias.weight"] = (config.relative_attention_num_buckets, n_heads)
    else:
        tables["embeddings.token_type_embeddings.weight"] = (config.type_vocab_size, size)
    return {
        **{name: (rows or len(weights.get(name, ())), columns) for name, (rows, columns) in tables.items()},
        **{f"embeddings.LayerNorm.{part}": (size,) for part in ("weight", "bias")},
        **{
            f"encoder.layer.{number}.{name}": shape
            for number in range(config.num_hidden_layers or 0)
            for name, shape in of_layer.items()
        },
    }


class _Layer:
    """The graph of a layer: (pieces, size), and the distance scores if there are any → (pieces, size)."""

    def __init__(self, config: EncoderConfig, weights: Stored, prefix: str, precision: Precision) -> None:
        self.graph = Graph()
        self._weights, self._prefix, self._precision = weights, prefix, precision
        self._n_heads, self._size = config.num_attention_heads or 1, config.hidden_size or 0
        self._epsilon = config.layer_norm_eps or 0.0
        norm, maps = _ATTENTION[config.model_type]
        states = self.graph.input("states", 2)
        read, bias = self._attend(states, maps, has_distances=config.model_type == "mpnet")
        states = self._add(self._multiply(read, maps[3]), states, norm, bias)
        hidden = self._multiply(states, "intermediate.dense")
        constant = self.graph.constant(self._get("intermediate.dense.bias"))
        hidden = self.graph("BiasGelu", hidden, constant, domain=MICROSOFT)
        joined = self._multiply(hidden, "output.dense")
        self.graph.output(self._add(joined, states, "output.LayerNorm", self._get("output.dense.bias")), 2)

    def _get(self, name: str) -> FloatArray:
        return unpack_one(self._weights, self._prefix + name)

    def _attend(self, states: Value, maps: Sequence[str], has_distances: bool) -> tuple[Value, FloatArray]:
        """Return the result of attention before the output projection, and the bias to add after it.

        Two of the four biases are not needed here. The bias of the keys adds the same number to all scores of a piece,
        which softmax cancels. The bias of the values is added in full, because the attention weights sum to one, so it
        is merged into the output bias.
        """
        graph, size = self.graph, self._size // self._n_heads
        parts = self._multiply(states, *maps[:3])
        heads = graph("Reshape", parts, graph.ints(-1, 3, self._n_heads, size))
        heads = graph("Transpose", heads, perm=(1, 2, 0, 3))
        query, key, value = graph.several(3, "Split", heads, axis=0, num_outputs=3)
        of_query = graph.constant(self._get(f"{maps[0]}.bias").reshape(1, self._n_heads, 1, size))
        query = graph("Mul", graph("Add", query, of_query), graph.floats(size**-0.5))
        scores = graph("MatMul", query, graph("Transpose", key, perm=(0, 1, 3, 2)))
        if has_distances:
            scores = graph("Add", scores, graph.input("distances", 4))
        read = graph("MatMul", graph("Softmax", scores, axis=-1), value)
        joined = graph("Reshape", graph("Transpose", read, perm=(0, 2, 1, 3)), graph.ints(-1, self._size))
        return joined, self._get(f"{maps[3]}.bias") + self._get(f"{maps[3]}.weight") @ self._get(f"{maps[2]}.bias")

    def _multiply(self, states: Value, *names: str) -> Value:
        """Multiply states with one or more matrices, and join the products side by side."""
        graph, places = self.graph, [f"{self._prefix}{name}.weight" for name in names]
        if self._precision == "float32":
            whole = np.concatenate([unpack_one(self._weights, place) for place in places])
            return graph("MatMul", states, graph.constant(whole.T))
        numbers, scales = zip(*(requantise(self._weights, place) for place in places), strict=True)
        matrix, scale = graph.constant(np.concatenate(numbers).T), graph.constant(np.concatenate(scales))
        # Rows are quantised to numbers from 1 to 255; 128 stands for 0.
        largest = graph("ReduceMax", graph("Abs", states), graph.ints(1), keepdims=0)
        steps = graph("Max", graph("Mul", largest, graph.floats(1 / LARGEST_OF_8)), graph.floats(1e-30))
        zero = graph.constant(np.uint8(128))
        rounded = graph("QuantizeLinear", states, steps, graph("Expand", zero, graph("Shape", steps)), axis=0)
        product = graph("MatMulIntegerToFloat", rounded, matrix, graph.floats(1.0), scale, zero, domain=MICROSOFT)
        return graph("Mul", product, graph("Unsqueeze", steps, graph.ints(1)))

    def _add(self, values: Value, states: Value, norm: str, bias: FloatArray) -> Value:
        """Add values and a bias to states, and normalise the sum."""
        graph = self.graph
        total = graph("Add", graph("Add", values, graph.constant(bias)), states)
        parts = [graph.constant(self._get(f"{norm}.{part}")) for part in ("weight", "bias")]
        return graph("LayerNormalization", total, *parts, epsilon=self._epsilon)


def _distance_scores(table: FloatArray, length: int) -> FloatArray:
    """Return the attention bias of all pairs of pieces. Shape: (classes, heads) → (1, heads, length, length)"""
    of_distances = table[distance_classes(np.arange(1 - length, length), len(table))].T
    # Row i holds the distances from −i on.
    return np.ascontiguousarray(sliding_window_view(of_distances, length, axis=1)[None, :, ::-1])


def distance_classes(distances: IntArray, n_classes: int) -> IntArray:
    """Return the class of each distance. Half of the classes are for the left, half for the right.

    In each half, the first half of the classes are single distances; the others are ranges of increasing size, up to
    `FARTHEST`.
    """
    half, single = n_classes // 2, n_classes // 4
    size = np.abs(distances)
    growth = math.log(FARTHEST / single)
    far = (np.log(np.maximum(size, 1) / single) / growth * (half - single)).astype(np.int64)
    far = single + np.clip(far, 0, half - 1 - single)
    return half * (distances > 0) + np.where(size < single, size, far)
