"""What search asks of a network, arranged so that what hypotheses share is computed once."""
