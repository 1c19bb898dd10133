"""Fuzzing with damaged inputs of all kinds: `python -m fuzz.run`."""


class BrokenRuleError(AssertionError):
    """An invariant that must hold for every case was violated."""
