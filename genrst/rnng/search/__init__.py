"""Search for the best trees of a document under a scorer."""
