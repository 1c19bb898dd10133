"""Training: prepared features, the loop, checkpoints and distributed runs. Once features exist, spaCy is not needed."""
