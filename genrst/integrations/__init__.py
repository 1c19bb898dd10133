"""Adapters of genrst for other libraries."""
