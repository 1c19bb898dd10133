"""Signals: the words that mark the relations of a tree, and secondary edges."""
