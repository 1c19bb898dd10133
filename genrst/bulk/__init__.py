"""Bulk parsing: reading a collection, parsing it with many workers, and writing finished parts, the only state."""
