"""Raw text: layout, speakers, EDU clean-up and annotation with spaCy."""
