"""The transition system: actions, oracles, and structural features as integers."""
