"""Training: prepared features, the loop, checkpoints, several processes. Runs without spaCy once features exist."""
