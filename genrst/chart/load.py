"""Loading a chart as a scorer: with ONNX Runtime on a CPU, with PyTorch on a GPU or for other encoders."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.scorer import OnnxScorer, Scorer
from genrst.encoder.files import CONFIG, TOKENIZER, EncoderConfig, read_encoder_config
from genrst.encoder.runtime import Encoder, Precision, is_supported, weight_shapes
from genrst.encoder.tokenizer import one_line, read_tokenizer
from genrst.encoder.windows import WindowShape
from genrst.errors import ConfigError, MissingDependencyError
from genrst.packing import ENCODER as ENCODER_PREFIX
from genrst.packing import unpack
from genrst.storage import ENCODER, WEIGHTS, check_shapes, read_network, read_weights
from genrst.text.layout import SIZES, Kind

EncoderPrecision = Literal["auto", "int8", "float32", "bfloat16"]


def load_scorer(
    folder: Path, device: str = "cpu", precision: EncoderPrecision = "auto", overlap: float | None = None
) -> Scorer:
    """Load a chart for parsing; `overlap` overrides the overlap of windows used in training."""
    config, labels = read_network(folder, ChartConfig, Labels.from_dict)
    if overlap is not None:
        config = replace(config, encoder_overlap=overlap)
    encoder_config = read_encoder_config(folder / ENCODER / CONFIG)
    if device == "cpu" and precision != "bfloat16" and is_supported(encoder_config):
        scorer = _onnx_scorer(folder, config, labels, encoder_config, "float32" if precision == "float32" else "int8")
        scorer.reload = partial(load_scorer, folder.absolute(), device, precision, overlap)
        return scorer
    try:
        return _torch_scorer(folder, config, device, precision)
    except MissingDependencyError:
        raise
    except ImportError as error:
        where = f"on {device}" if device != "cpu" else f"with an encoder of the type {encoder_config.model_type!r}"
        raise MissingDependencyError(f"{folder}: a chart {where} needs PyTorch: pip install 'genrst[torch]'") from error


def _onnx_scorer(
    folder: Path,
    config: ChartConfig,
    labels: Labels,
    encoder_config: EncoderConfig,
    precision: Precision,
) -> OnnxScorer:
    shapes = _shapes(config, labels, encoder_config.hidden_size or 0)
    with _naming(folder / ENCODER):
        stored = read_weights(folder)
        own = {name: array for name, array in stored.items() if not name.startswith(ENCODER_PREFIX)}
        of_encoder = {name.removeprefix(ENCODER_PREFIX): stored[name] for name in stored.keys() - own.keys()}
        shapes |= {ENCODER_PREFIX + name: one for name, one in weight_shapes(encoder_config, of_encoder).items()}
        tokenizer = read_tokenizer(folder / ENCODER / TOKENIZER)
    check_shapes(stored, shapes, folder)
    del stored
    with _naming(folder / WEIGHTS), one_line(f"{folder / ENCODER}: the encoder cannot be used"):
        weights, encoder = unpack(own), Encoder(encoder_config, of_encoder, precision)
    around = tokenizer.prefix, tokenizer.suffix
    shape = WindowShape(min(config.encoder_window, encoder.n_positions), config.encoder_overlap, False, *around, 0)
    if tokenizer.size > encoder.n_pieces:
        rule = f"{folder / ENCODER}: the encoder must know all {tokenizer.size} word pieces"
        raise ConfigError(f"{rule}, got {encoder.n_pieces}")
    if shape.size <= sum(map(len, around)):
        rule = f"{folder}: a window of the encoder must have room for text"
        raise ConfigError(f"{rule}, got {shape.size} word pieces")
    # An unusable encoder fails here rather than on the first text.
    with one_line(f"{folder / ENCODER}: the encoder cannot be used"):
        encoder(np.array([*tokenizer.prefix, 0, *tokenizer.suffix]))
    return OnnxScorer(config, labels, tokenizer, encoder, weights, shape)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in errors about its content."""
    try:
        yield
    except ConfigError as error:
        message = str(error)
        raise ConfigError(message if message.startswith(str(path.parent)) else f"{path}: {message}") from error


def _torch_scorer(folder: Path, config: ChartConfig, device: str, precision: EncoderPrecision) -> Scorer:
    import torch

    from genrst.chart.learning.network import TorchScorer, make_network
    from genrst.encoder.model import load_model

    if device == "mps":
        raise ConfigError("the device of a chart must be cpu or cuda, got mps, which lacks double precision")
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    model = load_model(folder, ChartConfig, Labels, make_network, device, dtype, config.encoder_overlap)
    assert model.tokenizer is not None
    return TorchScorer(model.network, model.symbols, model.tokenizer)


def _shapes(config: ChartConfig, labels: Labels, state_size: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights except the encoder's."""
    edu, span, split, label = 2 * config.edu_size, config.span_size, config.split_size, config.label_size
    segment, n_kinds, heads = config.segment_size, len(Kind), config.span_heads
    linear = {
        "edu_encoder.project": (edu, 3 * state_size),
        "segments.hidden": (segment, state_size),
        "segments.output": (2, segment),
        "spans.first": (span, edu),
        "spans.weights": (heads, edu),
        "spans.values": (span, edu),
        "left": (split, span),
        "right": (split, span),
        "whole": (1, span),
        "label_left": (label, span),
        "labels": (len(labels.groups), label),
    }
    if labels.fine:
        linear["fine"] = (len(labels.fine), label)
    tables = {
        "before": (n_kinds + 1, edu),
        "after": (n_kinds + 1, edu),
        "spans.last": (span, edu),
        "spans.pooled": (span, span),
        "spans.sizes": (len(SIZES) + 1, span),
        "spans.inside": (n_kinds, span),
        "spans.at_start": (n_kinds + 1, span),
        "spans.at_stop": (n_kinds + 1, span),
        "label_right": (label, span),
        "label_whole": (label, span),
        "label_layout": (4 * n_kinds, label),
    }
    norms = {"edu_encoder.norm": 3 * state_size, "spans.norm": span}
    return {
        "layout_scores": (n_kinds, 2, 2),
        **{f"{name}.weight": shape for name, shape in (linear | tables).items()},
        **{f"{name}.bias": shape[:1] for name, shape in linear.items()},
        **{f"{name}.{part}": (size,) for name, size in norms.items() for part in ("weight", "bias")},
    }
