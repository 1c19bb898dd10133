"""Damaged input of every kind: `python -m fuzz.run`."""


class BrokenRuleError(AssertionError):
    """A rule that holds for every case did not hold."""
