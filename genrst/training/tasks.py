"""The tasks that can be trained. Only this module of the package knows the networks and their losses."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from genrst.chart.config import ChartConfig
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import ConfigError
from genrst.task import TrainingTask
from genrst.training.kinds import AnyConfig
from genrst.training.prepared import Prepared
from genrst.training.run_config import TrainingConfig

if TYPE_CHECKING:
    from torch import nn


def make_network(config: AnyConfig, symbols: Any, pretrained: PretrainedEncoder | None) -> "nn.Module":  # noqa: ANN401
    """Return an untrained network; only the encoder may be pretrained."""
    if isinstance(config, ChartConfig):
        from genrst.chart.learning.network import make_network as make_chart

        return make_chart(config, symbols, pretrained)
    from genrst.rnng.finder import make_network as make_rnng

    return make_rnng(config, symbols, pretrained)


def start_from(network: Any, config: TrainingConfig) -> None:  # noqa: ANN401
    """Copy the weights of the start model to a chart."""
    from genrst.chart.learning.start import freeze_layers, start_from

    start_from(network, Path(config.start))
    freeze_layers(network, config.frozen_layers)


def make_task(prepared: Prepared, network: Any, config: TrainingConfig, seed: int) -> TrainingTask[Any, Any]:  # noqa: ANN401
    """Return the training task for prepared documents."""
    if config.silver_epochs and not prepared.silver:
        raise ConfigError("training.silver_epochs: needs silver documents (data.silver)")
    if prepared.kind == "chart":
        from genrst.chart.learning.task import ChartTask, NoiseRates

        assert prepared.tokenizer is not None
        return ChartTask(
            prepared.train,
            prepared.dev,
            prepared.symbols,
            PieceTokenizer(prepared.tokenizer),
            prepared.silver,
            silver_epochs=config.silver_epochs,
            noise=NoiseRates(config.piece_noise, config.layout_noise, config.punctuation_noise),
            segment_weight=config.segment_weight,
            balance=config.balance,
            batch_documents=config.batch_documents,
            seed=seed,
        )
    from genrst.rnng.learning import RnngLearning, RnngTask

    learning = RnngLearning(
        config.blank_noise, config.exploration, config.evaluate_search, config.evaluate_beam, config.batch_documents
    )
    return RnngTask(
        prepared.train,
        prepared.dev,
        prepared.symbols,
        network.has_kinds,
        prepared.silver,
        silver_epochs=config.silver_epochs,
        learning=learning,
        seed=seed,
    )
