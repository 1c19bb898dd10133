"""The transition system: actions, states, the oracle, and structural features as plain integers."""
