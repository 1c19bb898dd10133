"""Outputs made from trees: summaries, chunks for retrieval, tables, dependencies and features."""
