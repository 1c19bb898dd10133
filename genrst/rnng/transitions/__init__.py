"""The transition system: actions, oracles, and structural features as plain integers."""
