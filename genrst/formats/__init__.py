"""RST file formats: each module converts bytes to documents and back."""
