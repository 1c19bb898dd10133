"""Rhetorical structure trees: read, convert, score, draw and parse them."""
