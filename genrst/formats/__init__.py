"""A file per RST format: bytes to documents and back."""
