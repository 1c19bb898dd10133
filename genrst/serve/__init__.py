"""The HTTP service: parse, segment, evaluate, render and convert documents, and annotate local files."""
