"""The network as a scorer for search, arranged so that shared computations are done once."""
