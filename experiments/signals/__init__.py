"""Training the signal head of a chart, which finds signals and secondary edges."""
