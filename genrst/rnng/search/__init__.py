"""Search for the best trees of documents under a scorer."""
