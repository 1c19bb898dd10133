"""Annotating local files: drafts, saving, the state of a folder, and two annotators side by side."""
