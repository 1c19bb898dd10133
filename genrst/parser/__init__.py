"""What users load: the parser, its stages from text to tree, its search, and packages of models.

Names are loaded when they are first used, so that the command line can look up models without numpy.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genrst.parser.parser import Parser, load
    from genrst.parser.stages import Failure

__all__ = ["Failure", "Parser", "load"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'genrst.parser' has no attribute {name!r}")
    from genrst.parser import parser

    return getattr(parser, name)
