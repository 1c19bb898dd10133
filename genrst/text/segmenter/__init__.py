"""EDU segmentation: a small trained network over annotated tokens, and rules for where there is none. No spaCy here."""
