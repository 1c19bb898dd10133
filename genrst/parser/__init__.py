"""What users load: the parser, its options, the folders of models, and the protocol that models implement.

Here are the words for what can be chosen, which need no import of what does it.
"""

from typing import Literal, TypeAlias, get_args

DEFAULT_MODEL = "en"
PARTICLES = 500
"""How many hypotheses are followed at once to draw samples, if no other number is asked for."""

ModelKind: TypeAlias = Literal["chart", "rnng"]
"""A chart over all trees, or the paper's model, which builds trees step by step."""
ChartSearch: TypeAlias = Literal["mbr", "best"]
RnngSearch: TypeAlias = Literal["bag", "word", "action", "greedy"]
Search: TypeAlias = Literal["bag", "word", "action", "greedy", "mbr", "best"]
Relations: TypeAlias = Literal["fine", "coarse"]
EncoderPrecision: TypeAlias = Literal["auto", "int8", "float32", "bfloat16"]

SEARCHES: dict[ModelKind, tuple[Search, ...]] = {"chart": get_args(ChartSearch), "rnng": get_args(RnngSearch)}
"""The searches of each kind of model, the default first."""
