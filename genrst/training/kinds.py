"""The kinds of models that can be trained, identified by their configuration classes."""

from typing import Any, Literal, TypeAlias

from genrst.chart.config import ChartConfig
from genrst.rnng.config import RnngConfig

AnyConfig: TypeAlias = ChartConfig | RnngConfig
TaskKind: TypeAlias = Literal["chart", "rnng"]


def kind_of(config: AnyConfig) -> TaskKind:
    """Return the kind of a model."""
    return "chart" if isinstance(config, ChartConfig) else "rnng"


def types_of(kind: TaskKind) -> tuple[type[Any], type[Any]]:
    """Return the types of the symbols and of the examples of a kind of model."""
    if kind == "chart":
        from genrst.chart.examples import ChartExample
        from genrst.chart.labels import Labels

        return Labels, ChartExample
    from genrst.rnng.config import Symbols
    from genrst.rnng.examples import Example

    return Symbols, Example
