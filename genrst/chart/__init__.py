"""A chart over all binary trees of a document: exact probabilities, best trees, samples and constraints."""
