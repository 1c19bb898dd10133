"""genrst inside other libraries."""
