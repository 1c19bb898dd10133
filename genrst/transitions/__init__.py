"""The transition system: actions, oracles, and structural features as plain integers."""

from genrst.transitions.actions import GEN, GENERATE, Action, ActionSet, Reduce
from genrst.transitions.boundaries import Boundary, Kind, boundaries
from genrst.transitions.feature_tables import dominance_tables, head_word_tables
from genrst.transitions.features import Features, Syntax
from genrst.transitions.oracle import DynamicOracle, actions_of, tree_of

__all__ = [
    "GEN",
    "GENERATE",
    "Action",
    "ActionSet",
    "Boundary",
    "DynamicOracle",
    "Features",
    "Kind",
    "Reduce",
    "Syntax",
    "actions_of",
    "boundaries",
    "dominance_tables",
    "head_word_tables",
    "tree_of",
]
