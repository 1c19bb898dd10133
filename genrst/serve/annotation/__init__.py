"""Annotation of local files: drafts, saving, the state of a folder, and comparing two annotators."""
