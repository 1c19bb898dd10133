"""Documents, the file formats they come in, and named corpora."""
