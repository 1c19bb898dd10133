"""The HTTP service: requests in, documents out, several clients' texts in one search."""
