"""From raw text to annotated documents, by spaCy."""
