"""Published corpora: their files, splits and annotation."""
