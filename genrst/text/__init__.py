"""From raw text to annotated documents: spaCy behind one small door."""
