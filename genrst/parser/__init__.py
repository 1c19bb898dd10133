"""The parser, its options, the folders of models, and the protocol that models implement.

The names of options are defined here, so that they can be imported without the code that implements them.
"""

from typing import Literal, TypeAlias, get_args

DEFAULT_MODEL = "en"
PARTICLES = 500
"""The default number of particles for sampling."""

ModelKind: TypeAlias = Literal["chart", "rnng"]
"""`chart`: a chart over all trees; `rnng`: the model of the paper, which builds trees step by step."""
ChartSearch: TypeAlias = Literal["mbr", "best"]
RnngSearch: TypeAlias = Literal["bag", "word", "action", "greedy"]
Search: TypeAlias = Literal["bag", "word", "action", "greedy", "mbr", "best"]
Relations: TypeAlias = Literal["fine", "coarse"]
EncoderPrecision: TypeAlias = Literal["auto", "int8", "float32", "bfloat16"]

SEARCHES: dict[ModelKind, tuple[Search, ...]] = {"chart": get_args(ChartSearch), "rnng": get_args(RnngSearch)}
"""The searches that each kind of model supports, default first."""
