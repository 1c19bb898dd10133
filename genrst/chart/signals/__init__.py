"""Signals: the words that mark the relations of a tree, and the secondary edges."""
