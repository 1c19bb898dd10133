"""What people do with trees: summaries, chunks for retrieval, tables, dependencies, features."""
