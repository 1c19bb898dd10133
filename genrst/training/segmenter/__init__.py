"""Training of the EDU segmenter. Runs without spaCy once features exist."""
